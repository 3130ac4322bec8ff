"""What a unit test must not do."""

import os
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import testtools


class TestIsolation(testtools.TestCase):
    def test_no_connection(self) -> None:
        with socket.socket() as client:
            self.assertRaises(AssertionError, client.connect, ("127.0.0.1", 9))
            self.assertRaises(AssertionError, client.bind, ("127.0.0.1", 0))
        with socket.socket(type=socket.SOCK_DGRAM) as client:
            address = ("127.0.0.1", 9)
            self.assertRaises(AssertionError, client.sendto, b"", address)
        self.assertRaises(AssertionError, socket.getaddrinfo, "localhost", 80)

    def test_no_process(self) -> None:
        self.assertRaises(AssertionError, subprocess.Popen, ["/bin/true"])
        self.assertRaises(AssertionError, os.system, "true")
        self.assertRaises(AssertionError, os.fork)

    def test_no_process_of_a_thread(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            started = pool.submit(subprocess.Popen, ["/bin/true"])
            self.assertIsInstance(started.exception(), AssertionError)
