"""Bursts of changes that come to rest."""

import queue
import time

import testtools

from tacker_cnf.conductor.settling import LATEST, QUIET, Settling


class TestSettling(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.settling = Settling(self.told.put)
        self.settling.start()
        self.addCleanup(self.settling.stop)

    def test_a_burst_is_told_once(self) -> None:
        begun = time.monotonic()
        for _ in range(100):
            self.settling.note(["one"])
        self.assertEqual("one", self.told.get(timeout=60))
        self.assertGreaterEqual(time.monotonic() - begun, QUIET)
        self.assertRaises(queue.Empty, self.told.get, timeout=2 * QUIET)

    def test_what_never_rests_is_told_in_the_end(self) -> None:
        begun = time.monotonic()
        while self.told.empty():
            self.settling.note(["one"])
            time.sleep(QUIET / 3)
            self.assertLess(time.monotonic() - begun, LATEST + 60)
        self.assertGreaterEqual(time.monotonic() - begun, LATEST)

    def test_each_rests_by_itself(self) -> None:
        self.settling.note(["late"], 2 * QUIET)
        self.settling.note(["one", "two"])
        told = [self.told.get(timeout=60) for _ in range(3)]
        self.assertEqual({"one", "two"}, set(told[:2]))
        self.assertEqual("late", told[2])

    def test_nothing_is_told_after_the_end(self) -> None:
        self.settling.note(["one"])
        self.settling.stop()
        self.settling.note(["two"])
        self.assertRaises(queue.Empty, self.told.get, timeout=2 * QUIET)
