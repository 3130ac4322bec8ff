"""VIMs that answer slowly or without end hold no thread for long."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from tests.fixtures import keystone, waiting
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.raw_server import RawServer
from tests.fixtures.vnfm import ApiCase, Response, Vnfm
from tests.functional.test_vim_addresses import KINDS, VIMS, a_vim

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
#: beginnings of answers that a server goes on with byte by byte
BEGINNINGS: Final = {
    "status": b"",
    "headers": HEAD + b"X-Long: ",
    "body": HEAD + b"\r\n",
    "length": HEAD + b"Content-Length: 900000\r\n\r\n",
    "chunks": CHUNKED,
}


class StallingServer(RawServer):
    """Sends one byte after another, until the client closes the connection.

    :param begin: sent at once
    """

    def __init__(self, begin: bytes, byte: bytes = b" ") -> None:
        super().__init__(self._drip)
        self._begin = begin
        self._byte = byte
        #: released for each connection that a client closed
        self.closed = threading.Semaphore(0)

    def _drip(self, _: str, connection: socket.socket) -> None:
        pause = threading.Event()
        try:
            connection.sendall(self._begin)
            while not pause.wait(0.01):
                connection.sendall(self._byte)
        except OSError:
            self.closed.release()


def send_forever(
    begin: bytes, part: bytes, _: str, connection: socket.socket
) -> None:
    """Answer with a body that has no end."""
    with contextlib.suppress(OSError):
        connection.sendall(begin)
        while True:
            connection.sendall(part)


class StallCase(ApiCase):
    def service(self, **options: Any) -> Vnfm:
        return self.useFixture(Vnfm(**options))

    def register(self, vnfm: Vnfm, kind: str, url: str) -> Response:
        return vnfm.call("POST", VIMS, a_vim(kind, url))

    def register_all(
        self, vnfm: Vnfm, create: Callable[[], RawServer]
    ) -> list[Response]:
        """Register a cluster, a Keystone and a Heat, each at a new server."""
        servers = [self.useFixture(create()) for _ in KINDS]
        responses = [
            self.register(vnfm, kind, server.url)
            for kind, server in zip(KINDS, servers, strict=True)
        ]
        receiver = self.useFixture(HttpReceiver())
        heat = self.useFixture(create())
        receiver.responder = keystone.with_heat(heat.url)
        responses.append(self.register(vnfm, "openstack", receiver.url))
        return responses


class TestRegistration(StallCase):
    def test_an_answer_byte_by_byte(self) -> None:
        vnfm = self.service(vims={"check_timeout": 0.3})
        for begin in BEGINNINGS.values():
            for response in self.register_all(
                vnfm,
                lambda begin=begin: StallingServer(begin),  # type: ignore[misc]
            ):
                self.assert_problem(422, response, "within 0.3 s")

    def test_no_answer(self) -> None:
        """Neither to a TLS handshake nor to a connection request."""
        vnfm = self.service(vims={"check_timeout": 0.3})
        server = self.enterContext(
            socket.create_server(("127.0.0.1", 0), backlog=0)
        )
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        for _ in range(3):  # the kernel completes the first connections
            for kind in KINDS:
                response = self.register(vnfm, kind, url)
                self.assert_problem(422, response, "within 0.3 s")
            held = self.enterContext(socket.socket())
            held.settimeout(0.0)
            held.connect_ex(server.getsockname())

    def test_few_threads_check_vims(self) -> None:
        """Other requests find a thread."""
        vnfm = self.service(
            vims={"check_timeout": 60.0},
            api={"max_peer_requests": 2, "project_share": 100},
        )
        server = self.useFixture(StallingServer(b""))
        threads = [
            threading.Thread(
                target=self.register, args=(vnfm, "kubernetes", server.url)
            )
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        waiting.until(lambda: len(server.requests) == 2, "two checks")
        response = self.register(vnfm, "kubernetes", server.url)
        self.assert_problem(503, response, "[api] max_peer_requests")
        self.assertIn("Retry-After", response.headers)
        server.stop()
        for thread in threads:
            thread.join(60.0)
        response = self.register(vnfm, "kubernetes", server.url)
        self.assert_problem(422, response)


class TestSize(StallCase):
    def test_an_answer_without_end(self) -> None:
        vnfm = self.service(outgoing={"max_response_bytes": 65536})
        part = b"[" * 1000
        for begin, body in (
            (HEAD + b"\r\n", part),
            (CHUNKED, b"3e8\r\n" + part + b"\r\n"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ):

            def respond(
                request: str,
                connection: socket.socket,
                begin: bytes = begin,
                body: bytes = body,
            ) -> None:
                send_forever(begin, body, request, connection)

            for response in self.register_all(
                vnfm,
                lambda respond=respond: RawServer(respond),  # type: ignore[misc]
            ):
                self.assert_problem(422, response, "larger than 65536 bytes")

    def test_a_compressed_answer(self) -> None:
        """It could be a thousand times larger."""
        vnfm = self.service()
        for name in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
            answer = f"Content-Encoding: {name}\r\n\r\n".encode() + b"\x1f\x8b"
            for response in self.register_all(
                vnfm,
                lambda answer=answer: RawServer.sending(HEAD + answer),  # type: ignore[misc]
            ):
                self.assert_problem(422, response, "Content-Encoding")


class TestOperation(StallCase):
    def test_a_forceful_cancel(self) -> None:
        vnfm = self.service()
        for begin in (BEGINNINGS["headers"], BEGINNINGS["chunks"]):
            cluster = self.useFixture(StallingServer(begin))
            response = vnfm.task(
                vnfm.create(),
                "instantiate",
                {
                    "flavourId": "small",
                    "vimConnectionInfo": {
                        "vim1": {
                            "vimType": "ETSINFV.KUBERNETES.V_1",
                            "interfaceInfo": {"endpoint": cluster.url},
                            "accessInfo": {"bearer_token": "hunter2"},
                        }
                    },
                    "additionalParams": {
                        "lcm-kubernetes-def-files": [
                            f"Files/kubernetes/{name}.yaml"
                            for name in ("configmap", "secret", "deployment")
                        ]
                    },
                },
            )
            self.assertEqual(202, response.status, str(response.content))
            waiting.until(lambda c=cluster: c.requests, "a request")  # type: ignore[misc]
            path = response.headers["Location"]
            cancelled = vnfm.call(
                "POST", f"{path}/cancel", {"cancelMode": "FORCEFUL"}
            )
            self.assertEqual(202, cancelled.status, str(cancelled.content))

            end = vnfm.wait_operation(path)
            self.assertEqual("FAILED_TEMP", end["operationState"])
            self.assertTrue(cluster.closed.acquire(timeout=60.0))
