"""Connections that are shut down when the task is cancelled, and that send no
change after the end of its lease.
"""

import socket
import ssl
from collections.abc import Callable

import requests
import testtools
from trustme import CA
from urllib3.connection import HTTPConnection

from tacker_cnf import errors
from tacker_cnf.drivers import interruptible
from tacker_cnf.drivers.openstack import library
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import Lease
from tests.fixtures.http_receiver import HttpReceiver


class VanishingConnection(HTTPConnection):
    """A connection whose socket is closed once another thread has read it."""

    _sock: socket.socket | None = None

    @property
    def sock(self) -> socket.socket | None:
        seen, self._sock = self._sock, None
        return seen

    @sock.setter
    def sock(self, sock: socket.socket | None) -> None:
        self._sock = sock


class TestShutDown(testtools.TestCase):
    def test_a_socket_that_is_closed_meanwhile(self) -> None:
        near_socket, far_socket = socket.socketpair()
        self.addCleanup(near_socket.close)
        self.addCleanup(far_socket.close)
        connection = VanishingConnection("localhost")
        connection.sock = near_socket
        interruptible._shut_down(connection)
        self.assertEqual(b"", far_socket.recv(1))

    def test_a_connection_without_a_socket(self) -> None:
        interruptible._shut_down(HTTPConnection("localhost"))


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
        pools = interruptible.InterruptiblePoolManager(
            ssl_context=context, retries=False
        )
        self.addCleanup(pools.clear)
        session = self.enterContext(requests.Session())
        for scheme in ("http://", "https://"):
            session.mount(scheme, library._Adapter(context))
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
