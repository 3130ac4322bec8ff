"""Bursts of changes that come to rest."""

import queue
import time

import testtools

from tacker_cnf.conductor.debouncer import (
    MAX_DELAY_S,
    QUIET_PERIOD_S,
    Debouncer,
)


class TestSettling(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.calls: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.settling = Debouncer(self.calls.put)
        self.settling.start()
        self.addCleanup(self.settling.stop)

    def test_a_burst_is_reported_once(self) -> None:
        start = time.monotonic()
        for _ in range(100):
            self.settling.schedule(["one"])
        self.assertEqual("one", self.calls.get(timeout=60))
        self.assertGreaterEqual(time.monotonic() - start, QUIET_PERIOD_S)
        self.assertRaises(
            queue.Empty, self.calls.get, timeout=2 * QUIET_PERIOD_S
        )

    def test_an_endless_burst_is_reported_in_the_end(self) -> None:
        start = time.monotonic()
        while self.calls.empty():
            self.settling.schedule(["one"])
            time.sleep(QUIET_PERIOD_S / 3)
            self.assertLess(time.monotonic() - start, MAX_DELAY_S + 60)
        self.assertGreaterEqual(time.monotonic() - start, MAX_DELAY_S)

    def test_each_rests_by_itself(self) -> None:
        self.settling.schedule(["late"], 2 * QUIET_PERIOD_S)
        self.settling.schedule(["one", "two"])
        keys = [self.calls.get(timeout=60) for _ in range(3)]
        self.assertEqual({"one", "two"}, set(keys[:2]))
        self.assertEqual("late", keys[2])

    def test_nothing_is_reported_after_the_end(self) -> None:
        self.settling.schedule(["one"])
        self.settling.stop()
        self.settling.schedule(["two"])
        self.assertRaises(
            queue.Empty, self.calls.get, timeout=2 * QUIET_PERIOD_S
        )
