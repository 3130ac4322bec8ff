"""The examples of proxies in front of the API."""

import http.client
import os
import shutil
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Final

import fixtures
import testtools
import trustme

from tests.fixtures import waiting
from tests.fixtures.api_server import Answer, ApiServer
from tests.fixtures.ports import ReservedPort
from tests.functional.test_slow_clients import large_csar
from tests.services.backends import skip_or_fail
from tests.services.installed_program import InstalledProgram

SAMPLES: Final = Path(__file__).parents[2] / "etc" / "tacker_cnf"
PATH: Final = os.environ["PATH"] + ":/usr/sbin:/sbin"
ATTACKERS: Final = 64


class Proxy(fixtures.Fixture):
    """A proxy with the configuration of an example, except for addresses,
    files and what a test changes.
    """

    def __init__(
        self,
        case: testtools.TestCase,
        sample: str,
        command: list[str],
        changes: dict[str, str],
    ) -> None:
        super().__init__()
        self._case = case
        self._sample = sample
        self._command = command
        self._changes = changes

    def _setUp(self) -> None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        text = (SAMPLES / self._sample).read_text()
        for old, new in self._changes.items():
            assert old in text, old
            text = text.replace(old, new)
        path = folder / self._sample
        path.write_text(text)
        command = [
            one.format(path=path, folder=folder) for one in self._command
        ]
        self.useFixture(InstalledProgram(self._case, command, folder))


class ProxyTests:
    """What holds for each proxy; unittest collects the classes below."""

    program: ClassVar[str]
    sample: ClassVar[str]
    command: ClassVar[list[str]]

    def setUp(self: Any) -> None:
        super().setUp()  # type: ignore[misc]
        program = shutil.which(self.program, path=PATH)
        if program is None:
            skip_or_fail(self, f"{self.program} is not installed")
        self.api = self.useFixture(ApiServer(self))
        self.port = self.useFixture(ReservedPort()).port
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.authority = trustme.CA()
        self.write_certificate(self.authority.issue_cert("127.0.0.1"))

    def start(self: Any, changes: Mapping[str, str] = {}) -> None:
        program = shutil.which(self.program, path=PATH)
        self.useFixture(
            Proxy(
                self,
                self.sample,
                [program, *self.command],
                {**self.addresses(), **changes},
            )
        )
        waiting.until(self.answers, "the proxy")

    def answers(self: Any) -> bool:
        try:
            return bool(self.call("GET", "/healthcheck").status == 200)
        except ConnectionError:
            return False

    def call(
        self: Any, method: str, path: str, body: Any = None, **headers: str
    ) -> Answer:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=context, timeout=120
        )
        common = {"Version": "2.0.0", "Content-Type": "application/json"}
        try:
            connection.request(method, path, body, {**common, **headers})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def test_links_have_the_address_of_the_proxy(self: Any) -> None:
        self.start()
        created = self.call("POST", "/vnfpkgm/v1/vnf_packages", b"{}")
        self.assertEqual(201, created.status)
        url = f"https://127.0.0.1:{self.port}/vnfpkgm/"
        self.assertEqual(url, created.headers["Location"][: len(url)])
        link = created.json["_links"]["self"]["href"]
        self.assertEqual(url, link[: len(url)])

    def test_large_packages(self: Any) -> None:
        self.start()
        csar = large_csar(self)
        self.assertLess(2_000_000, len(csar))
        path = self.api.create_package()
        headers = {"Content-Type": "application/zip"}
        response = self.call("PUT", path, csar, **headers)
        self.assertEqual(202, response.status, response.content)
        response = self.call("GET", path)
        self.assertEqual(csar, response.content)

    def test_too_many_requests_of_a_client(self: Any) -> None:
        self.start(self.low_rate)

        def get(_: int) -> Answer:
            response: Answer = self.call("GET", "/vnflcm/api_versions")
            return response

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(get, range(100)))
        refused = [answer for answer in answers if answer.status != 200]
        self.assertTrue(refused)
        self.assertLess(len(refused), 100)
        for answer in refused:
            self.assertEqual(429, answer.status)
            self.assertEqual("10", answer.headers["Retry-After"])
            kind = answer.headers["Content-Type"]
            self.assertEqual("application/problem+json", kind)
            self.assertEqual(429, answer.json["status"])

    def test_slow_clients_do_not_reach_the_api(self: Any) -> None:
        self.start(self.short_timeout)
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        attackers = []
        for _ in range(ATTACKERS):
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=context, timeout=120
            )
            self.addCleanup(connection.close)
            connection.connect()
            connection.sock.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            attackers.append(connection.sock)
        self.assertEqual(200, self.call("GET", "/healthcheck").status)
        # that of the proxy for the request, and of its health check
        self.assertLess(self.api.connections(), 8)
        for attacker in attackers:
            received = attacker.recv(4096)
            self.assertIn(received[9:12], {b"", b"408"})


class TestHaproxy(ProxyTests, testtools.TestCase):
    program = "haproxy"
    sample = "haproxy.cfg.sample"
    command: ClassVar[list[str]] = ["-db", "-f", "{path}"]
    low_rate: ClassVar[dict[str, str]] = {"gt 200": "gt 20"}
    short_timeout: ClassVar[dict[str, str]] = {
        "http-request 10s": "http-request 2s"
    }

    def write_certificate(self, certificate: trustme.LeafCert) -> None:
        certificate.private_key_and_cert_chain_pem.write_to_path(
            str(self.folder / "vnfm.pem")
        )

    def addresses(self) -> dict[str, str]:
        return {
            "bind :443": f"bind 127.0.0.1:{self.port}",
            "/etc/haproxy/vnfm.pem": str(self.folder / "vnfm.pem"),
            "127.0.0.1:9890": f"127.0.0.1:{self.api.port}",
        }


class TestNginx(ProxyTests, testtools.TestCase):
    program = "nginx"
    sample = "nginx.conf.sample"
    command: ClassVar[list[str]] = [
        "-c",
        "{path}",
        "-p",
        "{folder}",
        "-g",
        "daemon off; pid {folder}/pid; error_log stderr;",
    ]
    low_rate: ClassVar[dict[str, str]] = {
        "rate=20r/s": "rate=2r/s",
        "burst=100": "burst=10",
    }
    short_timeout: ClassVar[dict[str, str]] = {
        "client_header_timeout 10s": "client_header_timeout 2s"
    }

    def write_certificate(self, certificate: trustme.LeafCert) -> None:
        certificate.cert_chain_pems[0].write_to_path(
            str(self.folder / "vnfm.pem")
        )
        certificate.private_key_pem.write_to_path(
            str(self.folder / "vnfm.key")
        )

    def addresses(self) -> dict[str, str]:
        return {
            "listen 443": f"listen 127.0.0.1:{self.port}",
            "/etc/nginx/vnfm.pem": str(self.folder / "vnfm.pem"),
            "/etc/nginx/vnfm.key": str(self.folder / "vnfm.key"),
            "127.0.0.1:9890": f"127.0.0.1:{self.api.port}",
        }
