"""Bursts of changes, merged into one callback."""

import testtools

from tacker_cnf.runtime.debouncer import (
    MAX_DELAY_S,
    QUIET_PERIOD_S,
    Debouncer,
)
from tests.fixtures.clock import ManualClock


class TestDebouncer(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.calls: list[str] = []
        self.debouncer = Debouncer(self.calls.append, self.clock)
        self.debouncer.start()
        self.addCleanup(self.debouncer.stop)

    def advance(self, seconds: float) -> None:
        """Let time pass, and wait until the debouncer has done its work."""
        self.clock.wait_until_waiting()
        self.clock.advance(seconds)
        self.clock.wait_until_waiting()

    def test_a_burst_is_reported_once(self) -> None:
        for _ in range(100):
            self.debouncer.schedule(["one"])
        self.advance(QUIET_PERIOD_S / 2)
        self.assertEqual([], self.calls)
        for _ in range(3):
            self.advance(QUIET_PERIOD_S)
            self.assertEqual(["one"], self.calls)

    def test_an_endless_burst_is_reported_in_the_end(self) -> None:
        start = self.clock.monotonic()
        while not self.calls:
            self.debouncer.schedule(["one"])
            self.advance(QUIET_PERIOD_S / 3)
        passed = self.clock.monotonic() - start
        self.assertTrue(0 <= passed - MAX_DELAY_S < QUIET_PERIOD_S)

    def test_each_name_has_its_own_delay(self) -> None:
        self.debouncer.schedule(["late"], 2 * QUIET_PERIOD_S)
        self.debouncer.schedule(["one", "two"])
        self.advance(QUIET_PERIOD_S)
        self.assertEqual(["one", "two"], self.calls)
        self.advance(2 * QUIET_PERIOD_S)
        self.assertEqual(["one", "two", "late"], self.calls)

    def test_a_held_name_is_reported_after_its_release(self) -> None:
        self.debouncer.hold("held")
        self.debouncer.schedule(["held", "other"])
        self.advance(2 * MAX_DELAY_S)
        self.assertEqual(["other"], self.calls)
        self.debouncer.release("held")
        self.clock.wait_until_waiting()
        self.assertEqual(["other", "held"], self.calls)

    def test_a_name_is_held_until_its_last_release(self) -> None:
        self.debouncer.hold("one")
        self.debouncer.hold("one")
        self.debouncer.release("one")
        self.debouncer.schedule(["one"])
        self.advance(2 * QUIET_PERIOD_S)
        self.assertEqual([], self.calls)
        self.debouncer.release("one")
        self.clock.wait_until_waiting()
        self.assertEqual(["one"], self.calls)

    def test_nothing_is_reported_after_the_end(self) -> None:
        self.debouncer.schedule(["one"])
        self.debouncer.stop()
        self.debouncer.schedule(["two"])
        self.clock.advance(2 * QUIET_PERIOD_S)
        self.debouncer._thread.join()
        self.assertEqual([], self.calls)
