"""Leases, and their sharing with child processes."""

import os
import subprocess
import sys

import fixtures
import testtools

from tacker_cnf.runtime.lease import LEASE_FD, Lease, boottime

LONG_LEASE_S = 600.0
PROBE = (
    "from tacker_cnf.runtime.lease import Lease; input();"
    " print(Lease.inherited().allows_request)"
)


class TestLease(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lease = Lease.new(margin=LONG_LEASE_S)

    def test_a_new_lease_has_expired(self) -> None:
        self.assertEqual(0.0, self.lease.remaining)
        self.assertFalse(self.lease.allows_request)

    def test_a_request_needs_the_margin(self) -> None:
        self.lease.renew(boottime() + LONG_LEASE_S)
        self.assertTrue(self.lease.remaining)
        self.assertFalse(self.lease.allows_request)
        self.lease.renew(boottime() + 2 * LONG_LEASE_S)
        self.assertTrue(self.lease.allows_request)

    def test_a_lease_that_is_not_renewed_expires(self) -> None:
        self.lease.renew(boottime() - 0.001)
        self.assertEqual(0.0, self.lease.remaining)

    def test_a_child_process_reads_the_renewal(self) -> None:
        with self.lease.shared() as fd:
            child = subprocess.Popen(
                [sys.executable, "-c", PROBE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, LEASE_FD: str(fd)},
                pass_fds=(fd,),
            )
        self.lease.renew(boottime() + 2 * LONG_LEASE_S)
        output, _ = child.communicate(b"\n")
        self.assertEqual(b"True\n", output)

    def test_a_child_process_cannot_renew_the_lease(self) -> None:
        with self.lease.shared() as fd:
            self.useFixture(fixtures.EnvironmentVariable(LEASE_FD, str(fd)))
            inherited = Lease.inherited()
            assert inherited is not None
            self.assertRaises(
                OSError, inherited.renew, boottime() + LONG_LEASE_S
            )
            # not even if it opens the file again
            again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
            self.addCleanup(os.close, again)
            self.assertRaises(OSError, os.pwrite, again, bytes(8), 0)
            for size in (0, 4096):
                self.assertRaises(OSError, os.ftruncate, again, size)

    def test_no_lease_is_inherited_without_the_variable(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable(LEASE_FD))
        self.assertIsNone(Lease.inherited())
