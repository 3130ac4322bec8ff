"""Work that is called off, whoever does it and wherever it waits."""

import threading

import testtools

from tacker_cnf import errors
from tacker_cnf.halting import Halt
from tacker_cnf.lease import Lease, boottime
from tests.fixtures import waiting

CANCELLED = errors.Cancelled("enough")
LONG = 60.0


class TestHalt(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.halt = Halt()

    def test_work_goes_on_until_it_is_called_off(self) -> None:
        self.halt.check()
        self.halt.check_wait()
        self.halt.wait(0.0)
        self.halt.rest(0.0)

    def test_gracefully_nothing_new_begins_and_waits_go_on(self) -> None:
        self.halt.call_off(CANCELLED, at_once=False)
        self.assertIs(CANCELLED, self.refused(self.halt.check))
        self.halt.check_wait()
        self.halt.wait(0.0)

    def test_at_once_no_wait_begins(self) -> None:
        self.halt.call_off(CANCELLED, at_once=True)
        for ask in (self.halt.check, self.halt.check_wait, self.wait):
            self.assertIs(CANCELLED, self.refused(ask))

    def test_the_more_urgent_reason_counts(self) -> None:
        lost = errors.LostClaim()
        self.halt.call_off(CANCELLED, at_once=False)
        self.halt.call_off(lost, at_once=True)
        self.assertIs(lost, self.refused(self.wait))
        for at_once in (False, True):
            self.halt.call_off(CANCELLED, at_once=at_once)
            self.assertIs(lost, self.refused(self.wait))

    def test_who_waits_is_woken(self) -> None:
        begun = threading.Event()

        def call_off() -> None:
            begun.wait(LONG)
            self.halt.call_off(CANCELLED, at_once=True)

        def wait() -> None:
            woken = threading.Event()
            with self.halt.wakes(woken.set):
                begun.set()
                self.assertTrue(woken.wait(LONG))

        caller = threading.Thread(target=call_off)
        caller.start()
        self.addCleanup(caller.join)
        self.assertIs(CANCELLED, self.refused(wait))

    def test_who_rests_is_woken_whichever_way(self) -> None:
        for at_once in (False, True):
            self.halt = Halt()
            caller = threading.Thread(
                target=self.call_off_rest, args=(at_once,)
            )
            caller.start()
            self.addCleanup(caller.join)
            self.assertIs(CANCELLED, self.refused(self.rest))
            # nor does another rest begin
            self.assertIs(CANCELLED, self.refused(self.rest))

    def call_off_rest(self, at_once: bool) -> None:
        waiting.until(lambda: self.halt._resting, "somebody who rests")
        self.halt.call_off(CANCELLED, at_once=at_once)

    def rest(self) -> None:
        self.halt.rest(LONG)

    def test_what_breaks_by_being_woken_tells_the_reason(self) -> None:
        def broken() -> None:
            with self.halt.wakes(lambda: None):
                self.halt.call_off(CANCELLED, at_once=True)
                raise OSError("the socket was closed")

        self.assertIs(CANCELLED, self.refused(broken))

    def test_what_breaks_by_itself_says_so(self) -> None:
        def broken() -> None:
            with self.halt.wakes(lambda: None):
                raise OSError("the socket was closed")

        self.assertRaises(OSError, broken)

    def test_one_that_cannot_be_woken_holds_up_nobody(self) -> None:
        def fail() -> None:
            raise AttributeError("the socket has gone")

        woken = threading.Event()

        def wait() -> None:
            with self.halt.wakes(fail), self.halt.wakes(woken.set):
                self.halt.call_off(CANCELLED, at_once=True)

        self.assertIs(CANCELLED, self.refused(wait))
        self.assertTrue(woken.is_set())

    def test_who_has_left_is_not_woken(self) -> None:
        calls: list[None] = []
        with self.halt.wakes(lambda: calls.append(None)):
            pass
        self.halt.call_off(CANCELLED, at_once=True)
        self.assertEqual([], calls)

    def wait(self) -> None:
        self.halt.wait(LONG)

    def refused(self, ask: object) -> Exception:
        assert callable(ask)
        return self.assertRaises(errors.VnfmError, ask)


class TestLease(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lease = Lease.new(margin=LONG)
        self.halt = Halt(self.lease)

    def test_no_change_after_its_end(self) -> None:
        for check in (self.halt.check, self.halt.check_lease):
            self.assertRaises(errors.LostClaim, check)
        self.halt.check_wait()

    def test_a_change_is_made_in_time(self) -> None:
        self.lease.renew(boottime() + 2 * LONG)
        self.halt.check()
        self.halt.check_lease()

    def test_near_its_end_a_change_waits_for_the_renewal(self) -> None:
        self.lease.renew(boottime() + LONG)
        renewal = threading.Timer(
            0.1, self.lease.renew, (boottime() + 3 * LONG,)
        )
        renewal.start()
        self.addCleanup(renewal.join)
        self.halt.check()
        self.assertTrue(self.lease.allows_request)

    def test_near_its_end_a_change_waits_no_longer_than_that(self) -> None:
        self.lease.renew(boottime() + 0.1)
        self.assertRaises(errors.LostClaim, self.halt.check)

    def test_near_its_end_the_work_can_be_called_off(self) -> None:
        self.lease.renew(boottime() + LONG)
        threading.Timer(
            0.1, self.halt.call_off, (CANCELLED,), {"at_once": True}
        ).start()
        self.assertRaises(errors.Cancelled, self.halt.check)
