"""The port of the metrics, and scrapers that are slow or hostile."""

import contextlib
import http.client
import socket
from collections.abc import Iterator

import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.cmd import metrics_server
from tacker_cnf.metrics import CONDUCTOR_METRICS, Registry
from tacker_cnf.services.readiness import Readiness
from tests.fixtures import waiting


class TestMetricsServer(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        conf = configuration.load([])
        self.is_broken = False
        listener = metrics_server.listen(conf, 0)
        self.port = listener.getsockname()[1]
        metrics_server.start(
            conf,
            listener,
            Registry(CONDUCTOR_METRICS, "1.2.3"),
            metrics_server.health_pages(Readiness([{"part": self.check}])),
        )

    def check(self) -> None:
        if self.is_broken:
            raise errors.Unavailable("at 10.0.0.1")

    def test_a_missing_library_is_an_error_at_the_start(self) -> None:
        self.patch(metrics_server, "LIBRARY", "prometheus_missing")
        error = self.assertRaises(
            errors.VnfmError, metrics_server.listen, configuration.load([]), 0
        )
        self.assertIn("prometheus_missing is not installed", str(error))

    @contextlib.contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), 30) as found:
            yield found

    def get(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, 30)
        with contextlib.closing(connection):
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read()

    def test_the_metrics_of_this_process(self) -> None:
        status, text = self.get("/metrics")
        self.assertEqual(200, status)
        self.assertIn(b'version="1.2.3"', text)
        self.assertIn(b"process_cpu_seconds_total", text)

    def test_only_known_paths_and_reads_are_answered(self) -> None:
        self.assertEqual(404, self.get("/metrics/x")[0])
        self.assertEqual(405, self.get("/metrics", "POST")[0])

    def test_health_of_the_process(self) -> None:
        self.assertEqual((200, b'{"status":"ok"}'), self.get("/healthz"))
        self.assertEqual((200, b'{"status":"ready"}'), self.get("/readyz"))

    def test_what_is_not_ready_is_named_without_its_address(self) -> None:
        self.is_broken = True
        status, body = self.get("/readyz")
        self.assertEqual(503, status)
        self.assertIn(b"Not ready: part.", body)
        self.assertNotIn(b"10.0.0.1", body)

    def test_silent_clients_do_not_delay_a_scrape(self) -> None:
        with contextlib.ExitStack() as silent:
            for _ in range(metrics_server.LIMITS.max_connections - 1):
                client = silent.enter_context(self.connected())
                client.sendall(b"GET /metrics HTTP/1.1\r\n")
            self.assertEqual(200, self.get("/metrics")[0])

    def test_more_connections_than_are_allowed_close_idle_ones(self) -> None:
        with contextlib.ExitStack() as silent:
            for _ in range(3 * metrics_server.LIMITS.max_connections):
                silent.enter_context(self.connected())
            waiting.until(self.is_scraped, "a scrape")

    def is_scraped(self) -> bool:
        try:
            return self.get("/metrics")[0] == 200
        except OSError:
            return False

    def test_a_large_body_is_refused(self) -> None:
        with self.connected() as client:
            client.sendall(
                b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
                b"Content-Length: 1000000000\r\n\r\n"
            )
            self.assertIn(b" 413 ", client.recv(100))
