"""Clients without a token that occupy the API server."""

import random
import socket
from typing import Any, ClassVar, Final

import testtools

from tests.fixtures import waiting
from tests.fixtures.api_server import ApiServer
from tests.fixtures.vnfm import Csar

ATTACKERS: Final = 64
#: seconds that no test lasts
LONG: Final = 3600
HEAD: Final = b"Host: 127.0.0.1\r\nVersion: 2.0.0\r\n"
PACKAGES: Final = "/vnfpkgm/v1/vnf_packages"


def large_csar(case: testtools.TestCase) -> bytes:
    """Return a package that no buffer of the kernel holds."""
    noise = random.Random(0).randbytes(8_000_000).hex()  # noqa: S311
    return case.useFixture(Csar(files={"Files/noise.txt": noise})).read()


class Attack(testtools.TestCase):
    #: [api]
    patient: ClassVar[dict[str, Any]] = {
        "threads": 4,
        "max_uploads": 2,
        "header_timeout": LONG,
        "body_timeout": LONG,
        "keepalive_timeout": LONG,
    }
    impatient: ClassVar[dict[str, Any]] = {
        "threads": 4,
        "max_uploads": 2,
        "header_timeout": 1,
        "body_timeout": 1,
        "keepalive_timeout": 1,
    }

    def start(self, options: dict[str, Any]) -> ApiServer:
        return self.useFixture(ApiServer(self, api=options))

    def attack(
        self, server: ApiServer, request: bytes, receive_buffer: int = 0
    ) -> list[socket.socket]:
        """Send the same from many connections."""
        attackers = []
        for _ in range(ATTACKERS):
            attacker = server.connect(receive_buffer=receive_buffer)
            attacker.sendall(request)
            attackers.append(attacker)
        return attackers

    def check_served(self, server: ApiServer) -> None:
        """Check that other clients are served during the attack."""
        for _ in range(3):
            response = server.get("/vnflcm/v2/vnf_instances")
            self.assertEqual(200, response.status)
            response = server.call("POST", PACKAGES, b"{}")
            self.assertEqual(201, response.status)
            self.assertEqual(200, server.get("/healthcheck").status)
        self.assertLessEqual(ATTACKERS, server.connections())

    def check_disconnected(self, server: ApiServer) -> None:
        waiting.until(
            lambda: server.connections() == 0,
            "the attackers to be disconnected",
        )

    def check(self, request: bytes, receive_buffer: int = 0) -> None:
        """Check a request that waits for the client, who does nothing."""
        server = self.start(self.patient)
        self.attack(server, request, receive_buffer)
        self.check_served(server)
        server = self.start(self.impatient)
        self.attack(server, request, receive_buffer)
        self.check_disconnected(server)
        self.assertEqual(200, server.get("/healthcheck").status)


class TestRequests(Attack):
    def test_idle_connections(self) -> None:
        self.check(b"")

    def test_half_of_the_headers(self) -> None:
        self.check(b"GET /vnflcm/v2/vnf_instances HTTP/1.1\r\n" + HEAD)

    def test_half_of_a_second_request(self) -> None:
        request = b"GET /vnflcm/api_versions HTTP/1.1\r\n" + HEAD
        self.check(request + b"\r\n" + request)

    def test_half_of_a_body(self) -> None:
        head = f"POST {PACKAGES} HTTP/1.1\r\n".encode() + HEAD
        self.check(head + b"Content-Length: 100\r\n\r\n{")

    def test_half_of_a_chunked_body(self) -> None:
        head = f"POST {PACKAGES} HTTP/1.1\r\n".encode() + HEAD
        self.check(head + b"Transfer-Encoding: chunked\r\n\r\n64\r\n{")

    def test_the_response_to_a_slow_client(self) -> None:
        server = self.start(self.impatient)
        for request in (
            b"GET / HTTP/1.1\r\n",
            b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 9\r\n\r\n{",
        ):
            (attacker, *_) = self.attack(server, request)
            response = attacker.makefile("rb").read()
            self.assertStartsWith(response, b"HTTP/1.1 408 ")
            self.assertIn(b"application/problem+json", response)
            self.assertIn(b'"status":408', response)

    def assertStartsWith(self, text: bytes, start: bytes) -> None:
        self.assertEqual(start, text[: len(start)])


class TestUploads(Attack):
    def half(self, server: ApiServer) -> bytes:
        path = server.create_package()
        return (
            f"PUT {path} HTTP/1.1\r\n".encode()
            + HEAD
            + b"Content-Type: application/zip\r\n"
            + b"Content-Length: 1000000\r\n\r\n"
            + b"x" * 1000
        )

    def test_half_of_an_upload(self) -> None:
        server = self.start(self.patient)
        self.attack(server, self.half(server))
        self.check_served(server)

    def test_slow_uploads_end(self) -> None:
        server = self.start(self.impatient)
        attackers = self.attack(server, self.half(server))
        self.check_disconnected(server)
        answers = [one.makefile("rb").read() for one in attackers]
        statuses = {answer.split()[1] for answer in answers}
        self.assertLessEqual(statuses, {b"408", b"503"})
        self.assertTrue(all(b'"status":' in answer for answer in answers))
        # the next one is received
        csar = self.useFixture(Csar()).read()
        response = server.upload(server.create_package(), csar)
        self.assertEqual(202, response.status, str(response.content))

    def test_a_trickle_is_too_slow(self) -> None:
        """It never pauses for long, but has too low a rate."""
        server = self.start(
            self.impatient | {"body_timeout": 2, "min_transfer_rate": 100_000}
        )
        attacker = server.connect()
        attacker.sendall(self.half(server))
        attacker.settimeout(0.2)
        received = b""
        for _ in range(300):
            try:
                attacker.sendall(b"x" * 100)
                received = attacker.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                break
            break
        self.assertIn(b"408", received[:20])


class TestReaders(Attack):
    """Clients that do not read their responses."""

    #: bytes of a response that the kernel of an attacker receives
    buffer = 4096

    def download(self, server: ApiServer) -> bytes:
        path = server.create_package()
        response = server.upload(path, large_csar(self))
        self.assertEqual(202, response.status, str(response.content))
        return f"GET {path} HTTP/1.1\r\n".encode() + HEAD + b"\r\n"

    def test_a_download(self) -> None:
        server = self.start(self.patient)
        self.attack(server, self.download(server), self.buffer)
        self.check_served(server)

    def test_a_download_ends(self) -> None:
        server = self.start(self.impatient)
        self.attack(server, self.download(server), self.buffer)
        self.check_disconnected(server)

    def test_many_responses(self) -> None:
        """Requests are sent without reading a response."""
        request = b"GET /openapi.json HTTP/1.1\r\n" + HEAD + b"\r\n"
        self.check(request * 40, self.buffer)


class TestConnections(Attack):
    def test_further_connections_replace_the_oldest(self) -> None:
        server = self.start(self.patient | {"max_connections": 20})
        attackers = self.attack(server, b"")
        for _ in range(3):
            response = server.get("/vnflcm/v2/vnf_instances")
            self.assertEqual(200, response.status)
        self.assertLessEqual(server.connections(), 20)
        self.assertEqual(b"", attackers[0].recv(1))

    def test_a_running_request_is_not_replaced(self) -> None:
        server = self.start(self.patient | {"max_connections": 20})
        with server.locked_database():
            client = server.connect()
            body = b"{}"
            client.sendall(
                f"POST {PACKAGES} HTTP/1.1\r\n".encode()
                + HEAD
                + b"Content-Type: application/json\r\nConnection: close\r\n"
                + b"Content-Length: 2\r\n\r\n"
                + body
            )
            # it is processed when another one is answered after it
            server.get("/vnflcm/v2/vnf_instances")
            self.attack(server, b"")
            server.get("/vnflcm/v2/vnf_instances")
        response = client.makefile("rb").read()
        self.assertEqual(b"201", response.split()[1], str(response))
