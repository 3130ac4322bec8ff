"""The claims of a conductor: leases, cancellation, progress, and a database
that responds with errors.
"""

import os
import shutil
import socket
import threading

import sqlalchemy as sa
import testtools

from tacker_cnf import errors
from tacker_cnf.conductor.claims import DATABASE_RETRY_DELAY_S, Claim, Claims
from tacker_cnf.db import op_occs
from tacker_cnf.db.op_occs import Row
from tacker_cnf.db.session import DatabaseUnreachable, RowsLocked, epoch
from tacker_cnf.sol.vnf_lcm_op_occ import CancelModeType
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tests.fixtures.clock import ManualClock, SteppingClock
from tests.unit.db.base import StoreTest
from tests.unit.db.test_op_occs import OpOccTest

LEASE_S = 30.0
GRACEFUL, FORCEFUL = CancelModeType.GRACEFUL, CancelModeType.FORCEFUL


class TestClaim(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.claim = Claim(LEASE_S, self.clock)
        self.token = self.claim.cancel_token

    def test_a_new_claim_allows_nothing_before_its_renewal(self) -> None:
        self.assertFalse(self.claim.is_claimed)
        self.assertRaises(errors.LeaseLost, self.token.check_lease)
        self.claim.check_lease()  # it is not lost, though
        self.claim.renew(self.clock.boottime())
        self.assertTrue(self.claim.is_claimed)
        self.token.check()

    def test_a_request_needs_a_third_of_the_lease(self) -> None:
        self.claim.renew(self.clock.boottime() - 5)
        lease = self.token.lease
        assert lease
        # seconds that pass; whether a request is allowed, and the rest
        for passed, allowed, remaining in (
            (0, True, 25),
            (14, True, 11),
            (2, False, 9),
            (8, False, 1),
            (1, False, 0),
            (1, False, 0),
        ):
            self.clock.advance(passed)
            self.assertEqual(allowed, lease.allows_request)
            self.assertEqual(remaining, lease.remaining)

    def test_a_claim_is_lost_when_its_lease_expires(self) -> None:
        self.claim.renew(self.clock.boottime())
        self.clock.advance(LEASE_S - 1)
        self.claim.check_lease()
        self.token.raise_if_cancelled()
        self.clock.advance(1)
        self.token.raise_if_cancelled()
        self.claim.check_lease()
        self.assertRaises(errors.LeaseLost, self.token.raise_if_cancelled)

    def test_a_lost_claim_is_not_renewed(self) -> None:
        self.claim.renew(self.clock.boottime())
        self.claim.mark_lost()
        self.assertRaises(errors.LeaseLost, self.token.check_lease)
        self.claim.renew(self.clock.boottime())
        self.assertRaises(errors.LeaseLost, self.token.check_lease)
        new = Claim(LEASE_S, self.clock)
        new.mark_lost()
        new.renew(self.clock.boottime())
        self.assertFalse(new.is_claimed)

    def test_a_cancelled_claim_raises_the_cancel_mode(self) -> None:
        self.claim.renew(self.clock.boottime())
        self.claim.cancel(GRACEFUL)
        self.token.raise_if_cancelled()
        error = self.assertRaises(errors.Cancelled, self.token.check)
        self.assertEqual("The operation was cancelled (GRACEFUL).", str(error))
        self.claim.cancel(FORCEFUL)
        error = self.assertRaises(
            errors.Cancelled, self.token.raise_if_cancelled
        )
        self.assertEqual("The operation was cancelled (FORCEFUL).", str(error))


class TestPersist(StoreTest):
    def test_a_database_error_that_stays_is_raised(self) -> None:
        """The disk stays full while the lease is renewed."""
        clock = ManualClock()
        claim = Claim(LEASE_S, clock)
        self.addCleanup(claim.mark_lost)
        claim.renew(clock.boottime())
        errors: list[Exception] = []

        def persist() -> None:
            try:
                claim.persist(self.fill)
            except Exception as error:  # noqa: BLE001
                errors.append(error)

        thread = threading.Thread(target=persist, daemon=True)
        thread.start()
        passed = 0.0
        while passed <= LEASE_S:
            clock.wait_until_waiting()
            claim.renew(clock.boottime())
            clock.advance(DATABASE_RETRY_DELAY_S)
            passed += DATABASE_RETRY_DELAY_S
        thread.join()
        (error,) = errors
        self.assertIsInstance(error, sa.exc.OperationalError)
        self.assertIn("disk is full", str(error))

    def persist(self, error: Exception, times: int) -> SteppingClock:
        """Run a transaction that fails some times; return the clock."""
        clock = SteppingClock()
        claim = Claim(LEASE_S, clock)
        self.addCleanup(claim.mark_lost)
        claim.renew(clock.boottime())
        failures = [error] * times

        def run() -> str:
            if failures:
                raise failures.pop()
            return "done"

        self.assertEqual("done", claim.persist(run))
        return clock

    def test_a_database_error_is_retried(self) -> None:
        for error in (
            DatabaseUnreachable(),
            sa.exc.OperationalError("x", {}, Exception()),
        ):
            for times in (0, 1, 5, 59):
                clock = self.persist(error, times)
                self.assertEqual([DATABASE_RETRY_DELAY_S] * times, clock.waits)

    def test_retries_end_when_the_lease_expires(self) -> None:
        for error in (
            DatabaseUnreachable(),
            sa.exc.OperationalError("x", {}, Exception()),
        ):
            self.assertRaises(errors.LeaseLost, self.persist, error, 61)

    def test_other_errors_are_raised_at_once(self) -> None:
        error = sa.exc.IntegrityError("x", {}, Exception())
        self.assertRaises(sa.exc.IntegrityError, self.persist, error, 1)

    def test_time_without_a_database_does_not_count(self) -> None:
        clock = SteppingClock()
        claim = Claim(LEASE_S, clock)
        self.addCleanup(claim.mark_lost)
        error = sa.exc.OperationalError("x", {}, Exception())
        failures = [*[error] * 5, *[DatabaseUnreachable()] * 100]

        def run() -> str:
            claim.renew(clock.boottime())
            if failures:
                raise failures.pop()
            return "done"

        self.assertEqual("done", claim.persist(run))
        self.assertEqual(105, len(clock.waits))

    def fill(self) -> None:
        with self.store.writer() as session:
            session.execute(sa.text("PRAGMA max_page_count = 1"))
            session.execute(
                sa.text("CREATE TABLE full AS SELECT zeroblob(100000)")
            )


class TestCancel(StoreTest):
    def test_a_cancel_message_without_a_database_is_no_error(self) -> None:
        claims = Claims(self.store, LEASE_S)
        claims.acquire("an operation")
        self.store.close()
        shutil.rmtree(self.folder)
        self.assertRaises(DatabaseUnreachable, claims.acquire, "another")
        claims.check_cancel("an operation")


class TestClaims(OpOccTest):
    def setUp(self) -> None:
        super().setUp()
        self.clock = SteppingClock()
        self.claims = Claims(self.store, LEASE_S, self.clock)

    def acquire(self, claims: Claims | None = None) -> Claim:
        claimed = (claims or self.claims).acquire("an-op-occ")
        assert claimed
        self.addCleanup(claimed[1].mark_lost)
        return claimed[1]

    def is_lost(self, claim: Claim) -> bool:
        try:
            claim.cancel_token.raise_if_cancelled()
        except errors.LeaseLost:
            return True
        return False

    def remaining(self, claim: Claim) -> float:
        lease = claim.cancel_token.lease
        assert lease
        return lease.remaining

    def seconds_left(self) -> float:
        """Return the rest of the lease by the clock of the database."""
        with self.store.reader() as session:
            until, now = session.execute(
                sa.select(Row.lease_until, epoch())
            ).one()
            return float(until - now)

    def request_cancel(self, mode: CancelModeType) -> None:
        with self.store.writer() as session:
            op_occs.cancel(session, "an-op-occ", mode)

    def test_the_owner_is_unique_and_names_its_process(self) -> None:
        other = Claims(self.store, LEASE_S)
        self.assertNotEqual(other.owner, self.claims.owner)
        process = f"{socket.gethostname()}:{os.getpid()}:"
        self.assertIn(process, self.claims.owner)

    def test_an_operation_is_claimed_once(self) -> None:
        claimed = self.claims.acquire("an-op-occ")
        assert claimed
        self.addCleanup(claimed[1].mark_lost)
        self.assertEqual("an-op-occ", claimed[0].op_occ.id)
        self.assertTrue(claimed[1].is_claimed)
        self.assertEqual(LEASE_S, self.remaining(claimed[1]))
        self.assertEqual((self.claims.owner,), self.row("owner"))
        self.assertTrue(LEASE_S / 2 < self.seconds_left() <= LEASE_S)
        other = Claims(self.store, LEASE_S, self.clock)
        self.assertIsNone(other.acquire("an-op-occ"))
        self.assertIsNone(self.claims.acquire("none"))
        self.assertEqual([], self.clock.waits)

    def test_a_locked_row_is_tried_again(self) -> None:
        self.lock_rows(2)
        # sums with tenths of seconds are not exact
        self.assertAlmostEqual(LEASE_S, self.remaining(self.acquire()), 6)
        self.assertEqual([0.1, 0.1], self.clock.waits)

    def test_a_row_that_stays_locked_is_not_claimed(self) -> None:
        self.lock_rows(3)
        error = self.assertRaises(RowsLocked, self.claims.acquire, "an-op-occ")
        self.assertEqual("an-op-occ", str(error))
        self.assertEqual((None,), self.row("owner"))
        self.acquire()

    def test_leases_are_renewed(self) -> None:
        claim = self.acquire()
        self.clock.advance(LEASE_S - 1)
        self.set(lease_until=1.0)
        self.claims.report()
        self.assertEqual(LEASE_S, self.remaining(claim))
        self.assertTrue(LEASE_S / 2 < self.seconds_left() <= LEASE_S)

    def test_a_lost_operation_is_stopped(self) -> None:
        claim = self.acquire()
        self.set(owner="other", lease_until=1.0)
        self.claims.report()
        self.assertTrue(self.is_lost(claim))
        self.assertEqual(("other", 1.0), self.row("owner", "lease_until"))

    def test_a_locked_lease_is_not_lost(self) -> None:
        claim = self.acquire()
        self.clock.advance(1)
        self.lock_rows()
        error = self.assertRaises(RowsLocked, self.claims.report)
        self.assertEqual("an-op-occ", str(error))
        self.assertFalse(self.is_lost(claim))
        self.assertEqual(LEASE_S - 1, self.remaining(claim))

    def test_only_claimed_operations_are_renewed(self) -> None:
        self.claims.report()
        claim = self.acquire()
        self.claims.release("an-op-occ")
        self.clock.advance(1)
        self.set(lease_until=1.0)
        self.claims.report()
        self.assertEqual(LEASE_S - 1, self.remaining(claim))
        self.assertEqual((1.0,), self.row("lease_until"))
        self.claims.release("an-op-occ")

    def test_an_operation_of_another_conductor_is_not_claimed(self) -> None:
        self.claimed("other")
        self.assertIsNone(self.claims.acquire("an-op-occ"))
        self.set(lease_until=1.0)
        self.claims.report()
        self.assertEqual(("other", 1.0), self.row("owner", "lease_until"))

    def test_a_renewal_reads_cancellations(self) -> None:
        for mode in (GRACEFUL, FORCEFUL):
            claim = self.acquire()
            self.claims.report()
            claim.cancel_token.check()
            self.request_cancel(mode)
            self.claims.report()
            error = self.assertRaises(
                errors.Cancelled, claim.cancel_token.check
            )
            self.assertIn(mode, str(error))
            self.set(owner=None, cancel_mode=None, is_cancel_pending=False)

    def test_a_cancellation_is_read_at_once(self) -> None:
        claim = self.acquire()
        self.claims.check_cancel("an-op-occ")
        claim.cancel_token.check()
        self.request_cancel(GRACEFUL)
        self.claims.check_cancel("another")
        claim.cancel_token.check()
        self.claims.check_cancel("an-op-occ")
        self.assertRaises(errors.Cancelled, claim.cancel_token.check)

    def test_operations_with_expired_leases_are_stopped(self) -> None:
        claim = self.acquire()
        self.clock.advance(LEASE_S - 1)
        self.claims.check_leases()
        self.assertFalse(self.is_lost(claim))
        self.clock.advance(1)
        self.claims.check_leases()
        self.assertTrue(self.is_lost(claim))

    def test_progress_is_published(self) -> None:
        claim = self.acquire()
        self.claims.publish()
        self.assertEqual((None,), self.row("progress"))
        claim.progress.enter_step("INFRA")
        claim.progress.report("1 of 2")
        self.lock_rows()
        self.claims.publish()
        self.assertEqual((None,), self.row("progress"))
        self.claims.publish()
        self.assertEqual(("INFRA: 1 of 2",), self.row("progress"))
        self.assertEqual((1,), self.row("progress_version"))
        ((step,),) = self.row("timeline")
        self.assertEqual("1 of 2", step.message)
        self.assertIsNone(claim.progress.unpublished())
        self.assertTrue(claim.progress.is_published)
        self.set(progress="another")
        self.claims.publish()
        self.assertEqual(("another",), self.row("progress"))

    def test_starting_operations_are_requeued(self) -> None:
        claim = self.acquire()
        self.claims.requeue()
        self.assertTrue(self.is_lost(claim))
        self.assertEqual((None, 0.0), self.row("owner", "lease_until"))

    def test_processing_operations_are_not_requeued(self) -> None:
        self.set(operation_state=S.PROCESSING)
        claim = self.acquire()
        self.claims.requeue()
        self.assertFalse(self.is_lost(claim))
        self.assertEqual((self.claims.owner,), self.row("owner"))

    def test_all_operations_are_released(self) -> None:
        self.assertFalse(self.claims.release_all())
        claim = self.acquire()
        self.assertTrue(self.claims.release_all())
        self.assertTrue(self.is_lost(claim))
        self.assertEqual(
            (self.claims.owner, 0.0), self.row("owner", "lease_until")
        )

    def test_a_deadlock_is_retried(self) -> None:
        self.let_next_transaction_fail()
        claim = self.acquire()
        self.clock.advance(1)
        self.let_next_transaction_fail()
        self.claims.report()
        self.assertEqual(LEASE_S, self.remaining(claim))
        claim.progress.enter_step("INFRA")
        self.let_next_transaction_fail()
        self.claims.publish()
        self.assertEqual(("INFRA",), self.row("progress"))
        self.request_cancel(GRACEFUL)
        self.let_next_transaction_fail()
        self.claims.check_cancel("an-op-occ")
        self.assertRaises(errors.Cancelled, claim.cancel_token.check)
        self.let_next_transaction_fail()
        self.claims.requeue()
        self.assertEqual((None,), self.row("owner"))
        self.acquire()
        self.let_next_transaction_fail()
        self.claims.release_all()
        self.assertEqual((0.0,), self.row("lease_until"))
