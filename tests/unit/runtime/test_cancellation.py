"""Cancellation tokens, and the leases that limit them."""

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import testtools

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import (
    RENEWAL_POLL_S,
    CancelToken,
    cancelled_after,
)
from tacker_cnf.runtime.lease import Lease
from tests.fixtures.clock import ManualClock

CANCELLED = errors.Cancelled("enough")
WAIT_TIMEOUT_S = 60.0


class CancelTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.cancel_token = CancelToken(clock=self.clock)

    def call_when_waiting(self, call: Callable[[], None]) -> None:
        """Call from another thread, when this one waits on the clock."""

        def run() -> None:
            self.clock.wait_until_waiting()
            call()

        caller = self.enterContext(ThreadPoolExecutor(1)).submit(run)
        self.addCleanup(caller.result)


class TestCancelledAfter(testtools.TestCase):
    def test_work_that_takes_longer_is_cancelled(self) -> None:
        with cancelled_after(0.01, CANCELLED, CancelToken()) as cancel_token:
            error = self.assertRaises(
                errors.Cancelled, cancel_token.wait, WAIT_TIMEOUT_S
            )
        self.assertIs(CANCELLED, error)

    def test_work_in_time_leaves_no_timer(self) -> None:
        before = threading.active_count()
        with cancelled_after(
            WAIT_TIMEOUT_S, CANCELLED, CancelToken()
        ) as cancel_token:
            cancel_token.check()
            timers = [
                thread
                for thread in threading.enumerate()
                if isinstance(thread, threading.Timer)
            ]
        for timer in timers:
            timer.join(WAIT_TIMEOUT_S)
        self.assertEqual(before, threading.active_count())
        self.assertIsNone(cancel_token.reason)


class TestCancelToken(CancelTest):
    def test_nothing_is_raised_before_the_cancellation(self) -> None:
        self.cancel_token.check()
        self.cancel_token.raise_if_cancelled()
        self.cancel_token.wait(0.0)
        self.cancel_token.wait_idle(0.0)

    def test_graceful_cancellation_stops_changes_and_no_waits(self) -> None:
        self.cancel_token.cancel(CANCELLED, forceful=False)
        self.assertIs(CANCELLED, self.refused(self.cancel_token.check))
        self.cancel_token.raise_if_cancelled()
        self.cancel_token.wait(0.0)

    def test_forceful_cancellation_stops_changes_and_waits(self) -> None:
        self.cancel_token.cancel(CANCELLED, forceful=True)
        for check in (
            self.cancel_token.check,
            self.cancel_token.raise_if_cancelled,
            self.wait,
        ):
            self.assertIs(CANCELLED, self.refused(check))

    def test_the_reason_of_a_forceful_cancellation_wins(self) -> None:
        lost = errors.LeaseLost()
        self.cancel_token.cancel(CANCELLED, forceful=False)
        self.cancel_token.cancel(lost, forceful=True)
        self.assertIs(lost, self.refused(self.wait))
        for forceful in (False, True):
            self.cancel_token.cancel(CANCELLED, forceful=forceful)
            self.assertIs(lost, self.refused(self.wait))

    def test_a_forceful_cancellation_runs_the_callback(self) -> None:
        waiting_started = threading.Event()

        def cancel() -> None:
            waiting_started.wait(WAIT_TIMEOUT_S)
            self.cancel_token.cancel(CANCELLED, forceful=True)

        def wait() -> None:
            woken = threading.Event()
            with self.cancel_token.on_cancel(woken.set):
                waiting_started.set()
                self.assertTrue(woken.wait(WAIT_TIMEOUT_S))

        caller = threading.Thread(target=cancel)
        caller.start()
        self.addCleanup(caller.join)
        self.assertIs(CANCELLED, self.refused(wait))

    def test_an_idle_wait_ends_on_either_cancellation(self) -> None:
        for forceful in (False, True):
            self.cancel_token = CancelToken(clock=self.clock)
            self.call_when_waiting(
                functools.partial(
                    self.cancel_token.cancel, CANCELLED, forceful=forceful
                )
            )
            self.assertIs(CANCELLED, self.refused(self.wait_idle))
            # nor does another wait begin
            self.assertIs(CANCELLED, self.refused(self.wait_idle))

    def wait_idle(self) -> None:
        self.cancel_token.wait_idle(WAIT_TIMEOUT_S)

    def test_an_error_after_the_cancellation_is_replaced_by_its_reason(
        self,
    ) -> None:
        def broken() -> None:
            with self.cancel_token.on_cancel(lambda: None):
                self.cancel_token.cancel(CANCELLED, forceful=True)
                raise OSError("the socket was closed")

        self.assertIs(CANCELLED, self.refused(broken))

    def test_an_error_without_a_cancellation_is_kept(self) -> None:
        def broken() -> None:
            with self.cancel_token.on_cancel(lambda: None):
                raise OSError("the socket was closed")

        self.assertRaises(OSError, broken)

    def test_one_failing_callback_blocks_no_other(self) -> None:
        def fail() -> None:
            raise AttributeError("the socket is closed")

        woken = threading.Event()

        def wait() -> None:
            with (
                self.cancel_token.on_cancel(fail),
                self.cancel_token.on_cancel(woken.set),
            ):
                self.cancel_token.cancel(CANCELLED, forceful=True)

        self.assertIs(CANCELLED, self.refused(wait))
        self.assertTrue(woken.is_set())

    def test_a_removed_callback_is_not_called(self) -> None:
        calls: list[None] = []
        with self.cancel_token.on_cancel(lambda: calls.append(None)):
            pass
        self.cancel_token.cancel(CANCELLED, forceful=True)
        self.assertEqual([], calls)

    def wait(self) -> None:
        self.cancel_token.wait(WAIT_TIMEOUT_S)

    def refused(self, check: object) -> Exception:
        assert callable(check)
        return self.assertRaises(errors.VnfmError, check)


class TestLease(CancelTest):
    def setUp(self) -> None:
        super().setUp()
        self.lease = Lease.new(margin=WAIT_TIMEOUT_S, clock=self.clock)
        self.cancel_token = CancelToken(self.lease, self.clock)

    def test_no_change_after_the_end(self) -> None:
        for check in (self.cancel_token.check, self.cancel_token.check_lease):
            self.assertRaises(errors.LeaseLost, check)
        self.cancel_token.raise_if_cancelled()

    def test_a_change_is_allowed_before_the_end(self) -> None:
        self.lease.renew(self.clock.boottime() + 2 * WAIT_TIMEOUT_S)
        self.cancel_token.check()
        self.cancel_token.check_lease()

    def test_near_the_end_a_change_waits_for_the_renewal(self) -> None:
        self.lease.renew(self.clock.boottime() + WAIT_TIMEOUT_S / 2)

        def renew() -> None:
            self.lease.renew(self.clock.boottime() + 3 * WAIT_TIMEOUT_S)
            self.clock.advance(RENEWAL_POLL_S)

        self.call_when_waiting(renew)
        self.cancel_token.check()
        self.assertTrue(self.lease.allows_request)

    def test_a_change_waits_for_the_renewal_until_the_end(self) -> None:
        self.lease.renew(self.clock.boottime() + WAIT_TIMEOUT_S / 2)
        self.call_when_waiting(lambda: self.clock.advance(WAIT_TIMEOUT_S))
        self.assertRaises(errors.LeaseLost, self.cancel_token.check)

    def test_the_wait_for_the_renewal_can_be_cancelled(self) -> None:
        self.lease.renew(self.clock.boottime() + WAIT_TIMEOUT_S / 2)
        self.call_when_waiting(
            lambda: self.cancel_token.cancel(CANCELLED, forceful=True)
        )
        self.assertRaises(errors.Cancelled, self.cancel_token.check)
