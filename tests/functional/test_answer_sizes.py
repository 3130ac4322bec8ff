"""Answers of 400 MB need little memory, whichever client receives them."""

import contextlib
import functools
import gzip
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.http_client import clients
from tacker_cnf.http_client.clients import HttpClientOptions
from tests.fixtures.raw_server import RawServer
from tests.fixtures.vnfm import Response
from tests.functional.test_vim_stalling import CHUNKED, HEAD, StallCase

MIB: Final = 1024**2
SIZE: Final = 400 * MIB
#: peak of memory: the limit of 64 MiB, joined, and decoded to text
MAX_MEMORY: Final = 200 * MIB
#: 400 MiB of zeros, as a member of a gzip file
BOMB: Final = gzip.compress(b"0" * MIB) * 400
SUBSCRIPTIONS: Final = "/vnflcm/v2/subscriptions"


def send_body(head: bytes, _: str, connection: socket.socket) -> None:
    """Answer with 400 MB, chunked or until the connection is closed."""
    part = b"[" * MIB
    if head == CHUNKED:
        part = b"100000\r\n" + part + b"\r\n"
    with contextlib.suppress(OSError):
        connection.sendall(head)
        for _number in range(SIZE // MIB):
            connection.sendall(part)


def bomb() -> RawServer:
    length = f"Content-Length: {len(BOMB)}\r\n".encode()
    return RawServer.sending(
        HEAD + length + b"Content-Encoding: gzip\r\n\r\n" + BOMB
    )


@contextlib.contextmanager
def memory() -> Iterator[Callable[[], int]]:
    """Return what reads the peak of the memory of the block, in bytes."""
    tracemalloc.start(1)
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class TestAnswers(StallCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.service()
        #: answers that are too large
        self.servers: list[Callable[[], RawServer]] = [
            functools.partial(RawServer, functools.partial(send_body, head))
            for head in (HEAD + b"\r\n", CHUNKED)
        ]

    def test_vims(self) -> None:
        """Those of the Kubernetes, Keystone and Heat clients."""
        for create in self.servers:
            with memory() as peak:
                responses = self.register_all(self.vnfm, create)
                self.assertLess(peak(), MAX_MEMORY)
            for response in responses:
                self.assert_problem(422, response, "larger than 67108864")

    def test_compressed_answers_of_vims(self) -> None:
        with memory() as peak:
            responses = self.register_all(self.vnfm, bomb)
            self.assertLess(peak(), 20 * MIB)
        for response in responses:
            self.assert_problem(422, response, "Content-Encoding")

    def test_the_client_of_the_nfvo(self) -> None:
        for create in (*self.servers, bomb):
            server = self.useFixture(create())
            with (
                memory() as peak,
                clients.client(HttpClientOptions()) as client,
            ):
                error = self.assertRaises(
                    errors.PeerFailed, client.get, server.url
                )
                self.assertLess(peak(), MAX_MEMORY)
            reason = (
                "Content-Encoding"
                if create is bomb
                else "larger than 67108864"
            )
            self.assertIn(reason, str(error))

    def test_subscribers_and_their_token_endpoints(self) -> None:
        for create in (*self.servers, bomb):
            for subscription in (self.subscriber, self.token_endpoint):
                server = self.useFixture(create())
                with memory() as peak:
                    response = subscription(server.url)
                    self.assertLess(peak(), 20 * MIB)
                self.assertEqual(422, response.status, str(response.content))

    def subscribe(self, uri: str, authentication: Any) -> Response:
        body = {"callbackUri": uri, "authentication": authentication}
        return self.vnfm.call(
            "POST",
            SUBSCRIPTIONS,
            {name: value for name, value in body.items() if value},
        )

    def subscriber(self, url: str) -> Response:
        return self.subscribe(f"{url}/callback", None)

    def token_endpoint(self, url: str) -> Response:
        parameters = {
            "clientId": "a",
            "clientPassword": "b",
            "tokenEndpoint": f"{url}/token",
        }
        return self.subscribe(
            "http://127.0.0.1:1/callback",
            {
                "authType": ["OAUTH2_CLIENT_CREDENTIALS"],
                "paramsOauth2ClientCredentials": parameters,
            },
        )
