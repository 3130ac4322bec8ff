"""What stands in line to be worked on."""

import threading

import testtools

from tacker_cnf.runtime.work_queue import WorkQueue
from tests.fixtures import waiting

WAIT_TIMEOUT_S = 60.0


class TestLine(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.done: list[str] = []
        self.started = threading.Semaphore(0)
        self.goes_on = threading.Semaphore(0)
        self.line = WorkQueue(self.work, 2, "test")
        self.addCleanup(self.line.join, WAIT_TIMEOUT_S)
        self.addCleanup(self.line.close)

    def work(self, key: str) -> None:
        self.started.release()
        self.goes_on.acquire(timeout=WAIT_TIMEOUT_S)
        self.done.append(key)

    def wait_started(self) -> None:
        self.assertTrue(self.started.acquire(timeout=WAIT_TIMEOUT_S))

    def finish_all(self) -> bool:
        """Let all that is at work end, and drop what waits."""
        self.line.close()
        self.goes_on.release(10)
        return self.line.join(WAIT_TIMEOUT_S)

    def test_what_comes_while_it_is_worked_on_is_worked_on_again(self) -> None:
        self.line.put("a")
        self.wait_started()
        for _ in range(3):
            self.line.put("a")
        self.goes_on.release()
        self.wait_started()
        self.assertEqual(["a"], self.done)
        self.assertIn("a", self.line)
        self.assertTrue(self.finish_all())
        self.assertEqual(["a", "a"], self.done)
        self.assertNotIn("a", self.line)

    def test_what_waits_is_put_there_once(self) -> None:
        for key in "abccc":
            self.line.put(key)
        for _ in "ab":
            self.wait_started()
        self.assertIn("c", self.line)
        self.goes_on.release(2)
        self.wait_started()
        self.assertTrue(self.finish_all())
        self.assertEqual(["a", "b", "c"], sorted(self.done))

    def test_what_waits_at_the_end_is_dropped(self) -> None:
        for key in "abc":
            self.line.put(key)
        for _ in "ab":
            self.wait_started()
        self.line.put("a")
        self.assertTrue(self.finish_all())
        self.line.put("d")
        self.assertEqual(["a", "b"], sorted(self.done))
        self.assertNotIn("d", self.line)

    def test_it_reports_running_work(self) -> None:
        self.line.put("a")
        self.wait_started()
        self.line.close()
        self.assertFalse(self.line.join(0.05))
        self.assertTrue(self.finish_all())

    def test_an_error_ends_nothing_else(self) -> None:
        failed = threading.Event()

        def fail(key: str) -> None:
            if key == "bad":
                failed.set()
                raise SystemExit  # what no except clause catches
            self.work(key)

        line = WorkQueue(fail, 1, "failing")
        line.put("bad")
        self.assertTrue(failed.wait(WAIT_TIMEOUT_S))
        line.put("good")
        self.goes_on.release()
        self.wait_started()
        line.close()
        self.assertTrue(line.join(WAIT_TIMEOUT_S))
        self.assertEqual(["good"], self.done)

    def test_waiting_work_yields_its_worker(self) -> None:
        waits = threading.Semaphore(0)
        goes_on = threading.Event()

        def work(key: str) -> None:
            if key.startswith("slow"):
                with line.yield_worker():
                    waits.release()
                    goes_on.wait(WAIT_TIMEOUT_S)
            self.done.append(key)

        line = WorkQueue(work, 1, "resting")
        for key in ("slow 1", "slow 2", "slow 3"):
            line.put(key)
            self.assertTrue(waits.acquire(timeout=WAIT_TIMEOUT_S))
        line.put("quick")
        waiting.until(lambda: self.done == ["quick"], "what is quick")
        goes_on.set()
        waiting.until(lambda: len(self.done) == 4, "the others")
        line.put("last")
        waiting.until(lambda: self.done[-1] == "last", "the last")
        line.close()
        self.assertTrue(line.join(WAIT_TIMEOUT_S))
