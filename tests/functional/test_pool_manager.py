"""Exchanges end when the task is cancelled and at their limits, and no change
is sent after the end of a lease.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Final

import fixtures
import msgspec
import requests
import testtools
import urllib3
from trustme import CA

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.client import ClusterPool
from tacker_cnf.drivers.openstack import library
from tacker_cnf.http_client import clients, exchange
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.exchange import DEFAULT_LIMITS, ExchangeLimits
from tacker_cnf.http_client.pool_manager import PoolManager
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import Lease
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures.clock import ManualClock
from tests.fixtures.cluster import Cluster
from tests.fixtures.http_receiver import HttpReceiver

LOOPBACK_ALLOWED: Final = SsrfPolicy(allow_loopback=True)


class TestShutDown(testtools.TestCase):
    def test_a_reader_wakes(self) -> None:
        near_socket, far_socket = socket.socketpair()
        self.addCleanup(near_socket.close)
        self.addCleanup(far_socket.close)
        exchange.shut_down(near_socket)
        self.assertEqual(b"", far_socket.recv(1))

    def test_a_socket_that_is_closed_meanwhile(self) -> None:
        near_socket, far_socket = socket.socketpair()
        self.addCleanup(far_socket.close)
        near_socket.close()
        exchange.shut_down(near_socket)


class TestLease(testtools.TestCase):
    """Leases apply to the clients of both types of VIM."""

    def setUp(self) -> None:
        super().setUp()
        self.lease = Lease.new(margin=0.0)
        authority = CA()
        self.servers = [
            self.useFixture(HttpReceiver()),
            self.useFixture(HttpReceiver(authority=authority)),
        ]
        context = ssl.create_default_context()
        authority.configure_trust(context)
        pools = PoolManager(
            LOOPBACK_ALLOWED,
            DEFAULT_LIMITS,
            ssl_context=context,
            retries=False,
        )
        self.addCleanup(pools.clear)
        session = self.enterContext(requests.Session())
        for scheme in ("http://", "https://"):
            session.mount(
                scheme,
                library._Adapter(context, LOOPBACK_ALLOWED, DEFAULT_LIMITS),
            )
        self.clients: list[Callable[[str, str], object]] = [
            pools.request,
            session.request,
        ]

    def send(self, *methods: str) -> None:
        for server in self.servers:
            for client in self.clients:
                for method in methods:
                    with CancelToken(self.lease).scope():
                        client(method, server.url)

    def test_no_change_is_sent_after_the_end(self) -> None:
        self.send("GET")
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            self.assertRaises(errors.LeaseLost, self.send, method)
        for server in self.servers:
            sent = {request.method for request in server.requests}
            self.assertEqual({"GET"}, sent)

    def test_a_change_is_sent_before_the_end(self) -> None:
        self.lease.renew(SYSTEM_CLOCK.boottime() + 600.0)
        self.send("POST", "DELETE")
        for server in self.servers:
            self.assertEqual(4, len(server.requests))


#: errors of a response that is not complete in time
TOO_LATE: Final = (TimeoutError, urllib3.exceptions.ReadTimeoutError)
HEAD: Final = b"HTTP/1.1 200 OK\r\n\r\n"


class StreamingServer(fixtures.Fixture):
    """A server that sends a response in parts, as a test advances it."""

    def _setUp(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self._server.close)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/"

    def send(
        self, *parts: bytes | Callable[[socket.socket], None]
    ) -> threading.Thread:
        """Accept a connection in a thread, send parts of a response, and call
        functions between them.
        """
        thread = threading.Thread(target=self._send, args=parts, daemon=True)
        thread.start()
        return thread

    def _send(self, *parts: bytes | Callable[[socket.socket], None]) -> None:
        connection, _ = self._server.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(9999)
            for part in parts:
                if callable(part):
                    part(connection)
                else:
                    connection.sendall(part)
            connection.recv(1)  # until the client closes the connection


class TestLimits(testtools.TestCase):
    """Limits of the clients on urllib3 and of those on httpx."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(StreamingServer())
        self.pause = threading.Event()
        self.restart()

    def restart(self) -> None:
        """Begin with another clock and token."""
        self.clock = ManualClock()
        self.token = CancelToken(clock=self.clock)
        self.limits = ExchangeLimits(
            timeout=30.0, max_bytes=1000, clock=self.clock
        )

    def get_by_urllib3(self) -> bytes:
        pools = PoolManager(LOOPBACK_ALLOWED, self.limits, retries=False)
        self.addCleanup(pools.clear)
        return pools.request("GET", self.server.url, timeout=60.0).data

    def get_by_httpx(self) -> bytes:
        options = HttpClientOptions(timeout=60.0)
        with clients.client(options) as client:
            request = client.build_request(
                "GET", self.server.url, extensions={"limits": self.limits}
            )
            return client.send(request).content

    def check(
        self,
        error: type[BaseException] | tuple[type[BaseException], ...],
        *parts: bytes | Callable[[socket.socket], None],
    ) -> None:
        """Check that each client ends with an error."""
        for get in (self.get_by_urllib3, self.get_by_httpx):
            self.restart()
            thread = self.server.send(*parts)
            with self.token.scope():
                self.assertRaises(error, get)
            thread.join(60.0)

    def send_bytewise(self, connection: socket.socket) -> None:
        """Send bytes, each in time, until the client closes the connection."""
        while not self.pause.wait(0.001):
            self.clock.advance(1.0)
            connection.sendall(b"x")

    def cancel(self, _: socket.socket) -> None:
        self.token.cancel(errors.Cancelled("by a test"), forceful=True)

    def test_the_size_is_limited(self) -> None:
        self.check(errors.PeerFailed, HEAD, b"x" * 1001)

    def test_the_time_is_limited(self) -> None:
        for begin in (HEAD, HEAD[:9]):
            self.check(TOO_LATE, begin, self.send_bytewise)

    def test_a_cancellation_interrupts(self) -> None:
        for begin in (HEAD + b"x", HEAD[:9]):
            self.check(errors.Cancelled, begin, self.cancel)

    def test_a_cancellation_interrupts_the_negotiation_of_tls(self) -> None:
        self.server.url = self.server.url.replace("http", "https")
        self.check(errors.Cancelled, self.cancel)

    def test_compressed_responses_are_rejected(self) -> None:
        coded = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nx"
        self.check(errors.PeerFailed, coded)

    def test_addresses_are_checked(self) -> None:
        for host in ("169.254.169.254", "[fe80::1]", "0.0.0.0"):  # noqa: S104
            self.server.url = f"http://{host}:9/"
            self.assertRaises(errors.Forbidden, self.get_by_urllib3)


class TestWatch(testtools.TestCase):
    def test_a_watch_ends_at_the_size_of_a_response(self) -> None:
        """Its caller opens it again."""
        cluster = self.useFixture(Cluster())
        namespace = cluster.namespace()
        vim = msgspec.convert(cluster.vim()["vim1"], VimConnectionInfo)
        pool = ClusterPool(
            5.0, LOOPBACK_ALLOWED, ExchangeLimits(max_bytes=250_000)
        )
        client = pool.connect(vim, RetryPolicy(Deadline.within(60.0)))
        kind = client.kind("v1", "ConfigMap")
        listed = client.list(kind, namespace)
        for number in range(4):
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"config-{number}"},
                "data": {"text": "x" * 100_000},
            }
            client.create(kind, body, namespace)
        since = listed["metadata"]["resourceVersion"]
        events = list(client.watch(kind, namespace, since, 60))
        names = [body["metadata"]["name"] for _, body in events]
        self.assertEqual(["config-0", "config-1"][: len(names)], names)
        self.assertNotEqual([], names)
