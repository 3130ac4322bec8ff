"""Leases, and their sharing with child processes."""

import os

import fixtures
import testtools

from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import LEASE_FD, Lease

LONG_LEASE_S = 600.0


class TestLease(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lease = Lease.new(margin=LONG_LEASE_S)

    def test_a_new_lease_has_expired(self) -> None:
        self.assertEqual(0.0, self.lease.remaining)
        self.assertFalse(self.lease.allows_request)

    def test_a_request_needs_the_margin(self) -> None:
        self.lease.renew(SYSTEM_CLOCK.boottime() + LONG_LEASE_S)
        self.assertTrue(self.lease.remaining)
        self.assertFalse(self.lease.allows_request)
        self.lease.renew(SYSTEM_CLOCK.boottime() + 2 * LONG_LEASE_S)
        self.assertTrue(self.lease.allows_request)

    def test_a_lease_that_is_not_renewed_expires(self) -> None:
        self.lease.renew(SYSTEM_CLOCK.boottime() - 0.001)
        self.assertEqual(0.0, self.lease.remaining)

    def test_a_child_process_cannot_renew_the_lease(self) -> None:
        with self.lease.shared() as fd:
            self.useFixture(fixtures.EnvironmentVariable(LEASE_FD, str(fd)))
            inherited = Lease.inherited()
            assert inherited is not None
            self.assertRaises(
                OSError,
                inherited.renew,
                SYSTEM_CLOCK.boottime() + LONG_LEASE_S,
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
