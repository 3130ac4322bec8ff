"""Exchanges end when the task is cancelled and at their limits, and no change
is sent after the end of a lease.
"""

import socket
import ssl
import threading
from collections.abc import Callable

import fixtures
import requests
import testtools
import urllib3
from trustme import CA

from tacker_cnf import errors
from tacker_cnf.drivers import vim_connection
from tacker_cnf.drivers.openstack import library
from tacker_cnf.http_client import clients, exchange
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.exchange import DEFAULT_LIMITS, ExchangeLimits
from tacker_cnf.http_client.pool_manager import PoolManager
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import Lease
from tests.fixtures.clock import ManualClock
from tests.fixtures.http_receiver import HttpReceiver


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
            vim_connection.SSRF_POLICY,
            DEFAULT_LIMITS,
            ssl_context=context,
            retries=False,
        )
        self.addCleanup(pools.clear)
        session = self.enterContext(requests.Session())
        for scheme in ("http://", "https://"):
            session.mount(scheme, library._Adapter(context, DEFAULT_LIMITS))
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


class StreamingServer(fixtures.Fixture):
    """A server that sends a response in parts, as a test advances it."""

    def _setUp(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self._server.close)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/"

    def send(self, *parts: bytes | Callable[[], None]) -> threading.Thread:
        """Accept a connection in a thread, send parts of a body, and call
        functions between them.
        """
        thread = threading.Thread(target=self._send, args=parts, daemon=True)
        thread.start()
        return thread

    def _send(self, *parts: bytes | Callable[[], None]) -> None:
        connection, _ = self._server.accept()
        with connection:
            connection.recv(9999)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for part in parts:
                if callable(part):
                    part()
                else:
                    connection.sendall(part)
            connection.recv(1)  # until the client closes the connection


class TestLimits(testtools.TestCase):
    """Limits of the clients on urllib3 and of those on httpx."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(StreamingServer())
        self.clock = ManualClock()
        self.token = CancelToken(clock=self.clock)
        self.limits = ExchangeLimits(
            timeout=30.0, max_bytes=1000, clock=self.clock
        )

    def get_by_urllib3(self) -> bytes:
        pools = PoolManager(
            vim_connection.SSRF_POLICY, self.limits, retries=False
        )
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
        *parts: bytes | Callable[[], None],
    ) -> None:
        """Check that each client ends with an error."""
        for get in (self.get_by_urllib3, self.get_by_httpx):
            thread = self.server.send(*parts)
            with self.token.scope():
                self.assertRaises(error, get)
            thread.join(60.0)

    def test_the_size_is_limited(self) -> None:
        self.check(errors.PeerFailed, b"x" * 1001)

    def test_the_time_is_limited(self) -> None:
        """Each byte arrives in time."""

        def wait() -> None:
            self.clock.advance(11.0)

        late = (TimeoutError, urllib3.exceptions.ReadTimeoutError)
        self.check(late, b"x", wait, b"x", wait, b"x", wait, b"x")

    def test_a_cancellation_interrupts_the_body(self) -> None:
        def cancel() -> None:
            self.token.cancel(errors.Cancelled("by a test"), forceful=True)

        self.check(errors.Cancelled, b"x", cancel)

    def test_addresses_are_checked(self) -> None:
        for host in ("169.254.169.254", "[fe80::1]", "0.0.0.0"):  # noqa: S104
            self.server.url = f"http://{host}:9/"
            self.assertRaises(errors.Forbidden, self.get_by_urllib3)
