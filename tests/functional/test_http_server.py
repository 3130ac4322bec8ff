"""HTTP and TLS of the API server."""

import json
import os
import re
import signal
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools
import trustme

from tests.fixtures import waiting
from tests.fixtures.api_server import ApiServer
from tests.fixtures.vnfm import Csar

HEAD: Final = b"Host: 127.0.0.1\r\nVersion: 2.0.0\r\n"
JSON: Final = b"Content-Type: application/json\r\n"
CHUNKED: Final = b"Transfer-Encoding: chunked\r\n"
POST: Final = b"POST /vnfpkgm/v1/vnf_packages HTTP/1.1\r\n" + HEAD + JSON
GET: Final = b"GET /vnflcm/api_versions HTTP/1.1\r\n" + HEAD
LAST: Final = b"Connection: close\r\n\r\n"
KEYSTONE: Final = {
    "auth_type": "password",
    "auth_url": "http://127.0.0.1:1",
    "username": "vnfm",
    "password": "secret",
}


class ServerTest(testtools.TestCase):
    #: [api]
    options: dict[str, Any] = {}  # noqa: RUF012

    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(ApiServer(self, api=self.options))

    def exchange(self, request: bytes) -> bytes:
        """Send bytes; return all until the server closes the connection."""
        connection = self.server.connect()
        connection.sendall(request)
        with connection.makefile("rb") as file:
            return file.read()

    def check_problem(self, status: int, response: bytes) -> None:
        head, _, body = response.partition(b"\r\n\r\n")
        self.assertIn(f" {status} ".encode(), head.split(b"\r\n")[0])
        self.assertIn(b"content-type: application/problem+json", head.lower())
        self.assertEqual(status, json.loads(body)["status"])


class TestHttp(ServerTest):
    def test_connections_are_kept(self) -> None:
        connection = self.server.connect()
        with connection.makefile("rb") as file:
            for _ in range(3):
                connection.sendall(GET + b"\r\n")
                self.assertIn(b" 200 ", file.readline())
                while (line := file.readline()) != b"\r\n":
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                self.assertIn(b"uriPrefix", file.read(length))

    def test_pipelined_requests(self) -> None:
        other = GET.replace(b"api_versions", b"nothing")
        received = self.exchange(GET + b"\r\n" + other + b"\r\n" + GET + LAST)
        self.assertEqual(
            [b"200", b"404", b"200"],
            re.findall(rb"HTTP/1\.1 (\d+)", received),
        )

    def test_chunked_bodies(self) -> None:
        body = b"1\r\n{\r\n1;name=value\r\n}\r\n0\r\n\r\n"
        received = self.exchange(POST + CHUNKED + LAST + body)
        self.assertIn(b" 201 ", received.splitlines()[0])

    def test_a_chunked_upload(self) -> None:
        csar = self.useFixture(Csar()).read()
        half = len(csar) // 2
        response = self.server.call(
            "PUT",
            self.server.create_package(),
            iter([csar[:half], csar[half:]]),
            {"Content-Type": "application/zip"},
        )
        self.assertEqual(202, response.status, str(response.content))

    def test_a_large_body_of_json(self) -> None:
        body = {"userDefinedData": {"a": "b" * 900_000}}
        response = self.server.call(
            "POST", "/vnfpkgm/v1/vnf_packages", json.dumps(body)
        )
        self.assertEqual(201, response.status)
        self.assertEqual(
            body["userDefinedData"], response.json["userDefinedData"]
        )

    def test_an_expected_continue(self) -> None:
        csar = self.useFixture(Csar()).read()
        connection = self.server.connect()
        with connection.makefile("rb") as file:
            connection.sendall(self.put(self.server.create_package(), csar))
            self.assertIn(b" 100 ", file.readline())
            self.assertEqual(b"\r\n", file.readline())
            connection.sendall(csar)
            self.assertIn(b" 202 ", file.readline())

    def test_a_body_that_is_not_wanted_is_not_continued(self) -> None:
        path = "/vnfpkgm/v1/vnf_packages/x/package_content"
        received = self.exchange(self.put(path, b"content"))
        self.assertIn(b" 404 ", received.splitlines()[0])

    def put(self, path: str, csar: bytes) -> bytes:
        """Return the head of an upload that waits for a 100."""
        return (
            f"PUT {path} HTTP/1.1\r\n".encode()
            + HEAD
            + b"Content-Type: application/zip\r\n"
            + f"Content-Length: {len(csar)}\r\n".encode()
            + b"Expect: 100-continue\r\n"
            + LAST
        )

    def test_a_target_with_scheme_and_host(self) -> None:
        request = GET.replace(b"GET /", b"GET http://127.0.0.1/") + LAST
        self.assertIn(b" 200 ", self.exchange(request).splitlines()[0])

    def test_a_response_to_head_has_no_body(self) -> None:
        path = self.server.create_package()
        self.server.upload(path, self.useFixture(Csar()).read())
        request = f"HEAD {path} HTTP/1.1\r\n".encode() + HEAD + LAST
        head, _, body = self.exchange(request).partition(b"\r\n\r\n")
        self.assertIn(b" 200 ", head.splitlines()[0])
        self.assertNotIn(b"Content-Length: 0", head)
        self.assertEqual(b"", body)

    def test_websockets_are_refused(self) -> None:
        request = (
            GET
            + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
            + b"Sec-WebSocket-Version: 13\r\n"
            + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        self.assertIn(b" 403 ", self.exchange(request).splitlines()[0])


class TestInvalidRequests(ServerTest):
    def test_requests_with_two_ends(self) -> None:
        """Two servers would see different requests (request smuggling)."""
        hidden = b"GET /vnflcm/api_versions HTTP/1.1\r\nHost: a\r\n\r\n"
        length = f"Content-Length: {len(hidden)}\r\n".encode()
        for headers in (
            length + CHUNKED,
            CHUNKED + length,
            length + b"Content-Length: 2\r\n",
            length + length,
            b"Content-Length: 2, 2\r\n",
            b"Content-Length: +2\r\n",
            b"Content-Length : 2\r\n",
            b"Content-Length: 2\n",
            b"Content-Length: 0x2\r\n",
            CHUNKED + CHUNKED,
            b"Transfer-Encoding: chunked, identity\r\n",
            b"Transfer-Encoding: identity\r\n",
            b"Transfer-Encoding : chunked\r\n",
            b"Transfer-Encoding: \x0bchunked\r\n",
            b"X: a\rTransfer-Encoding: chunked\r\n",
            b" folded: 1\r\n",
        ):
            received = self.exchange(POST + headers + b"\r\n" + hidden)
            statuses = re.findall(rb"HTTP/1\.1 (\d+)", received)
            self.assertEqual(1, len(statuses), f"{headers!r} {received!r}")
            status = int(statuses[0])
            self.assertIn(status, {400, 501}, str(headers))
            self.check_problem(status, received)

    def test_invalid_chunks(self) -> None:
        for body in (
            b"-1\r\n",
            b"0x2\r\n{}\r\n",
            b"2\r\n{}0\r\n\r\n",
            b"2\n{}\r\n0\r\n\r\n",
            b"2;\rname\r\n{}\r\n0\r\n\r\n",
            b"\r\n",
        ):
            received = self.exchange(POST + CHUNKED + b"\r\n" + body)
            self.check_problem(400, received)

    def test_invalid_request_lines(self) -> None:
        for line in (
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET / HTTP/1.1 x\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        ):
            self.check_problem(400, self.exchange(line))

    def test_what_is_too_large(self) -> None:
        many = b"".join(b"X-%d: %s\r\n" % (i, b"a" * 8000) for i in range(20))
        for status, request in (
            (414, b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n"),
            (414, b"GET /" + b"a" * 9000),
            (431, GET + b"X: " + b"a" * 9000),
            (431, GET + many),
            (431, GET + b"X: a\r\n" * 101 + b"\r\n"),
            (413, POST + b"Content-Length: 1000001\r\n\r\n"),
            (
                413,
                POST
                + CHUNKED
                + b"\r\n"
                + b"f4240\r\n"
                + b"a" * 1_000_000
                + b"\r\n1\r\na\r\n",
            ),
        ):
            self.check_problem(status, self.exchange(request))

    def test_an_upload_that_is_too_large(self) -> None:
        request = (
            f"PUT {self.server.create_package()} HTTP/1.1\r\n".encode()
            + HEAD
            + b"Content-Type: application/zip\r\n"
            + b"Content-Length: 99999999999\r\n\r\n"
            + b"a" * 100_000
        )
        self.check_problem(413, self.exchange(request))

    def test_a_body_that_ends_early(self) -> None:
        connection = self.server.connect()
        connection.sendall(POST + b"Content-Length: 3\r\n\r\n{")
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as file:
            self.assertNotIn(b" 20", file.read()[:20])
        self.assertEqual(200, self.server.get("/healthcheck").status)


class TestBusyServer(ServerTest):
    options = {"threads": 2}  # noqa: RUF012

    def post(self, pool: ThreadPoolExecutor) -> Any:
        """Send a request that changes something."""
        return pool.submit(
            self.server.call, "POST", "/vnfpkgm/v1/vnf_packages", b"{}"
        )

    def test_the_health_check_needs_no_thread_of_requests(self) -> None:
        with ThreadPoolExecutor(4) as pool:
            with self.server.locked_database():
                posts = [self.post(pool) for _ in range(4)]
                other = pool.submit(self.server.get, "/vnflcm/api_versions")
                for _ in range(5):
                    health = self.server.get("/healthcheck")
                    self.assertEqual(200, health.status, str(health.content))
                self.assertFalse(any(post.done() for post in posts))
            self.assertEqual([201] * 4, [p.result().status for p in posts])
            self.assertEqual(200, other.result().status)

    def test_a_running_request_completes_at_sigterm(self) -> None:
        idle = self.server.connect()
        idle.sendall(GET + b"\r\n")
        self.assertIn(b" 200 ", idle.recv(65536))
        with ThreadPoolExecutor(1) as pool:
            with self.server.locked_database():
                post = self.post(pool)
                # it is processed when another one is answered after it
                self.server.get("/vnflcm/api_versions")
                waiting.until(
                    lambda: self.server.connections() == 2,
                    "both connections",
                )
                self.server.program.signal(signal.SIGTERM)
                self.assertEqual(b"", idle.recv(1))
                self.assertRaises(OSError, self.server.connect)
            self.assertEqual(201, post.result().status)
        self.assertEqual(0, self.server.program.stop())

    def test_idle_connections_do_not_delay_the_end(self) -> None:
        for request in (b"", GET, GET + b"\r\n"):
            self.server.connect().sendall(request)
        self.server.get("/vnflcm/api_versions")
        # gunicorn would kill it after 11 s
        self.assertEqual(0, self.server.program.stop(timeout=8.0))


class TestUnauthenticatedUpload(testtools.TestCase):
    def test_the_token_is_checked_before_the_body_is_read(self) -> None:
        server = self.useFixture(
            ApiServer(
                self,
                api={"auth_strategy": "keystone"},
                keystone_authtoken=KEYSTONE,
            )
        )
        connection = server.connect()
        connection.sendall(
            b"PUT /vnfpkgm/v1/vnf_packages/x/package_content HTTP/1.1\r\n"
            + HEAD
            + b"Content-Type: application/zip\r\n"
            + b"Content-Length: 8000000000\r\nExpect: 100-continue\r\n\r\n"
        )
        with connection.makefile("rb") as file:
            received = file.read()
        self.assertIn(b" 401 ", received.splitlines()[0])


class TestUploadSlots(ServerTest):
    options = {  # noqa: RUF012
        "max_uploads": 1,
        "body_timeout": 3,
        "min_transfer_rate": 1,
    }

    def test_an_upload_does_not_wait_without_end(self) -> None:
        csar = self.useFixture(Csar()).read()
        path = self.server.create_package()
        with ThreadPoolExecutor(1) as pool, self.server.connect() as other:
            other.sendall(
                f"PUT {self.server.create_package()} HTTP/1.1\r\n".encode()
                + HEAD
                + b"Content-Type: application/zip\r\n"
                + b"Content-Length: 1000000\r\n\r\n"
            )
            upload = pool.submit(self.server.upload, path, csar)
            while not upload.done():
                other.sendall(b"x" * 100)
                time.sleep(0.1)
            refused = upload.result()
            self.assertEqual(503, refused.status, str(refused.content))
            self.assertEqual("30", refused.headers["Retry-After"])
            self.assertIn("1 other uploads", refused.json["detail"])
        response = self.server.upload(path, csar)
        self.assertEqual(202, response.status, str(response.content))


class TestIpv6(ServerTest):
    options = {"host": "::1"}  # noqa: RUF012

    def test_it_listens_on_an_address_of_ipv6(self) -> None:
        self.assertIn("://[::1]:", self.server.url)
        self.assertEqual(200, self.server.get("/healthcheck").status)


class TestWorkers(ServerTest):
    options = {"workers": 3}  # noqa: RUF012

    def test_several_processes(self) -> None:
        waiting.until(lambda: len(self.server.worker_pids()) == 3, "workers")
        for _ in range(20):
            self.assertEqual(200, self.server.get("/healthcheck").status)
        self.assertEqual(0, self.server.program.stop())


class TestCpuAffinity(ServerTest):
    options = {"workers": 3, "cpu_affinity": True}  # noqa: RUF012

    def cpus(self) -> list[int]:
        """Return the CPUs to which the processes are bound."""
        sets = map(os.sched_getaffinity, self.server.worker_pids())
        return sorted(cpu for cpus in sets if len(cpus) == 1 for cpu in cpus)

    def wait_for(self, expected: list[int]) -> None:
        waiting.until(lambda: self.cpus() == expected, f"CPUs {expected}")

    def test_the_processes_are_distributed_over_the_cpus(self) -> None:
        allowed = sorted(os.sched_getaffinity(0))
        expected = sorted((allowed * 3)[:3])
        self.wait_for(expected)
        killed = self.server.worker_pids()[0]
        os.kill(killed, signal.SIGKILL)
        waiting.until(
            lambda: killed not in self.server.worker_pids(), "another process"
        )
        self.wait_for(expected)


class TestPlainHttp(testtools.TestCase):
    def output(self, **options: Any) -> str:
        server = self.useFixture(ApiServer(self, api=options))
        return server.program.output

    def test_tokens_on_a_network_are_warned_of(self) -> None:
        warning = "API served without TLS"
        self.assertIn(warning, self.output(host="0.0.0.0"))  # noqa: S104
        self.assertNotIn(warning, self.output())
        proxy = {"host": "0.0.0.0", "endpoint": "https://vnfm.example"}  # noqa: S104
        self.assertNotIn(warning, self.output(**proxy))


class TestTls(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.authority = trustme.CA()
        certificate = self.authority.issue_cert("127.0.0.1")
        self.certificate = self.folder / "server.pem"
        certificate.private_key_and_cert_chain_pem.write_to_path(
            str(self.certificate)
        )

    def client_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def start(self, **options: Any) -> ApiServer:
        return self.useFixture(
            ApiServer(
                self,
                self.client_context(),
                api={"tls_certificate": self.certificate, **options},
            )
        )

    def test_requests(self) -> None:
        server = self.start()
        response = server.get("/vnflcm/v2/vnf_instances")
        self.assertEqual(200, response.status)
        created = server.call("POST", "/vnfpkgm/v1/vnf_packages", b"{}")
        self.assertEqual(201, created.status)
        self.assertEqual("https", created.headers["Location"][:5])
        csar = self.useFixture(Csar()).read()
        path = server.create_package()
        self.assertEqual(202, server.upload(path, csar).status)
        self.assertEqual(csar, server.get(path).content)

    def test_stalled_handshakes(self) -> None:
        server = self.start(header_timeout=3600, threads=4)
        attackers = [server.connect() for _ in range(64)]
        for attacker in attackers[32:]:
            attacker.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        self.assertEqual(200, server.get("/healthcheck").status)
        self.assertLessEqual(64, server.connections())
        server = self.start(header_timeout=1, threads=4)
        attackers = [server.connect() for _ in range(64)]
        for attacker in attackers[32:]:
            attacker.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        waiting.until(
            lambda: server.connections() == 0,
            "the attackers to be disconnected",
        )

    def test_stalled_handshakes_are_limited(self) -> None:
        server = self.start(header_timeout=3600, max_connections=20)
        for _ in range(64):
            server.connect()
        self.assertEqual(200, server.get("/healthcheck").status)
        self.assertLessEqual(server.connections(), 20)

    def test_the_lowest_version(self) -> None:
        server = self.start(tls_min_version="TLSv1.3")
        server.ssl_context = self.client_context()
        server.ssl_context.maximum_version = ssl.TLSVersion.TLSv1_2
        self.assertRaises(ssl.SSLError, server.get, "/healthcheck")

    def test_certificates_of_clients(self) -> None:
        authority = self.folder / "authority.pem"
        self.authority.cert_pem.write_to_path(str(authority))
        context = self.client_context()
        self.authority.issue_cert("a-client").configure_cert(context)
        server = self.useFixture(
            ApiServer(
                self,
                context,
                api={
                    "tls_certificate": self.certificate,
                    "tls_client_ca": authority,
                },
            )
        )
        self.assertEqual(200, server.get("/healthcheck").status)
        server.ssl_context = self.client_context()
        self.assertRaises(OSError, server.get, "/healthcheck")

    def test_a_renewed_certificate(self) -> None:
        server = self.start()
        old = server.worker_pids()
        self.authority = trustme.CA()
        self.authority.issue_cert(
            "127.0.0.1"
        ).private_key_and_cert_chain_pem.write_to_path(str(self.certificate))
        server.program.signal(signal.SIGHUP)
        waiting.until(
            lambda: not set(old) & set(server.worker_pids()), "a new worker"
        )
        server.ssl_context = self.client_context()
        self.assertEqual(200, server.get("/healthcheck").status)
