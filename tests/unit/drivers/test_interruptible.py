"""Connections that are cut when the work is called off."""

import socket

import testtools
from urllib3.connection import HTTPConnection

from tacker_cnf.drivers import interruptible


class Fleeting(HTTPConnection):
    """A connection whose socket is taken away once somebody has seen it."""

    _sock: socket.socket | None = None

    @property
    def sock(self) -> socket.socket | None:
        seen, self._sock = self._sock, None
        return seen

    @sock.setter
    def sock(self, sock: socket.socket | None) -> None:
        self._sock = sock


class TestCut(testtools.TestCase):
    def test_a_socket_that_is_closed_meanwhile(self) -> None:
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        connection = Fleeting("localhost")
        connection.sock = ours
        interruptible._cut(connection)
        self.assertEqual(b"", theirs.recv(1))

    def test_a_connection_without_a_socket(self) -> None:
        interruptible._cut(HTTPConnection("localhost"))
