"""Work that is called off, whoever does it and wherever it waits."""

import threading

import testtools

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.lease import Lease, boottime
from tests.fixtures import waiting

CANCELLED = errors.Cancelled("enough")
WAIT_TIMEOUT_S = 60.0


class TestHalt(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cancel_token = CancelToken()

    def test_work_goes_on_until_it_is_cancelled(self) -> None:
        self.cancel_token.check()
        self.cancel_token.raise_if_cancelled()
        self.cancel_token.wait(0.0)
        self.cancel_token.wait_idle(0.0)

    def test_gracefully_nothing_new_begins_and_waits_go_on(self) -> None:
        self.cancel_token.cancel(CANCELLED, forceful=False)
        self.assertIs(CANCELLED, self.refused(self.cancel_token.check))
        self.cancel_token.raise_if_cancelled()
        self.cancel_token.wait(0.0)

    def test_at_once_no_wait_begins(self) -> None:
        self.cancel_token.cancel(CANCELLED, forceful=True)
        for ask in (
            self.cancel_token.check,
            self.cancel_token.raise_if_cancelled,
            self.wait,
        ):
            self.assertIs(CANCELLED, self.refused(ask))

    def test_the_more_urgent_reason_counts(self) -> None:
        lost = errors.LostClaim()
        self.cancel_token.cancel(CANCELLED, forceful=False)
        self.cancel_token.cancel(lost, forceful=True)
        self.assertIs(lost, self.refused(self.wait))
        for forceful in (False, True):
            self.cancel_token.cancel(CANCELLED, forceful=forceful)
            self.assertIs(lost, self.refused(self.wait))

    def test_a_wait_ends_on_cancel(self) -> None:
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

    def test_a_wait_ends_on_either_event(self) -> None:
        for forceful in (False, True):
            self.cancel_token = CancelToken()
            caller = threading.Thread(
                target=self.cancel_rest, args=(forceful,)
            )
            caller.start()
            self.addCleanup(caller.join)
            self.assertIs(CANCELLED, self.refused(self.wait_idle))
            # nor does another rest begin
            self.assertIs(CANCELLED, self.refused(self.wait_idle))

    def cancel_rest(self, forceful: bool) -> None:
        waiting.until(
            lambda: self.cancel_token._idle_events, "somebody who rests"
        )
        self.cancel_token.cancel(CANCELLED, forceful=forceful)

    def wait_idle(self) -> None:
        self.cancel_token.wait_idle(WAIT_TIMEOUT_S)

    def test_a_failing_callback_reports_the_reason(self) -> None:
        def broken() -> None:
            with self.cancel_token.on_cancel(lambda: None):
                self.cancel_token.cancel(CANCELLED, forceful=True)
                raise OSError("the socket was closed")

        self.assertIs(CANCELLED, self.refused(broken))

    def test_what_breaks_by_itself_says_so(self) -> None:
        def broken() -> None:
            with self.cancel_token.on_cancel(lambda: None):
                raise OSError("the socket was closed")

        self.assertRaises(OSError, broken)

    def test_one_failing_callback_blocks_no_other(self) -> None:
        def fail() -> None:
            raise AttributeError("the socket has gone")

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

    def refused(self, ask: object) -> Exception:
        assert callable(ask)
        return self.assertRaises(errors.VnfmError, ask)


class TestLease(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lease = Lease.new(margin=WAIT_TIMEOUT_S)
        self.cancel_token = CancelToken(self.lease)

    def test_no_change_after_its_end(self) -> None:
        for check in (self.cancel_token.check, self.cancel_token.check_lease):
            self.assertRaises(errors.LostClaim, check)
        self.cancel_token.raise_if_cancelled()

    def test_a_change_is_made_in_time(self) -> None:
        self.lease.renew(boottime() + 2 * WAIT_TIMEOUT_S)
        self.cancel_token.check()
        self.cancel_token.check_lease()

    def test_near_its_end_a_change_waits_for_the_renewal(self) -> None:
        self.lease.renew(boottime() + WAIT_TIMEOUT_S)
        renewal = threading.Timer(
            0.1, self.lease.renew, (boottime() + 3 * WAIT_TIMEOUT_S,)
        )
        renewal.start()
        self.addCleanup(renewal.join)
        self.cancel_token.check()
        self.assertTrue(self.lease.allows_request)

    def test_near_its_end_a_change_waits_no_longer_than_that(self) -> None:
        self.lease.renew(boottime() + 0.1)
        self.assertRaises(errors.LostClaim, self.cancel_token.check)

    def test_near_its_end_the_work_can_be_cancelled(self) -> None:
        self.lease.renew(boottime() + WAIT_TIMEOUT_S)
        threading.Timer(
            0.1, self.cancel_token.cancel, (CANCELLED,), {"forceful": True}
        ).start()
        self.assertRaises(errors.Cancelled, self.cancel_token.check)
