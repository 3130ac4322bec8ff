"""Tasks that run periodically, even if they fail."""

import logging

import fixtures
import testtools

from tacker_cnf.runtime.periodic_tasks import PeriodicTasks
from tests.fixtures.clock import ManualClock


class TestPeriodicTasks(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.tasks = PeriodicTasks(self.severity, self.clock)
        self.addCleanup(self.tasks.join)
        self.addCleanup(self.tasks.stop)
        self.runs = 0
        self.fails = False
        self.level = logging.WARNING

    def severity(self, _: Exception) -> int:
        return self.level

    def task(self) -> None:
        self.runs += 1
        if self.fails:
            raise ZeroDivisionError

    def runs_after(self, seconds: float) -> int:
        """Let time pass; return how often the task has run in total."""
        self.clock.wait_until_waiting()
        self.clock.advance(seconds)
        self.clock.wait_until_waiting()
        return self.runs

    def test_a_task_runs_after_each_interval(self) -> None:
        self.tasks.start(self.task, interval=10.0)
        self.assertEqual(0, self.runs_after(9.0))
        self.assertEqual(1, self.runs_after(1.0))
        self.assertEqual(1, self.runs_after(9.0))
        self.assertEqual(2, self.runs_after(1.0))

    def test_a_failed_task_is_retried(self) -> None:
        self.fails = True
        self.tasks.start(self.task, interval=10.0, retry_delay=2.0)
        self.assertEqual(1, self.runs_after(10.0))
        self.fails = False
        self.assertEqual(2, self.runs_after(2.0))
        self.assertEqual(2, self.runs_after(2.0))
        self.assertEqual(3, self.runs_after(8.0))

    def test_no_task_runs_after_the_stop(self) -> None:
        self.tasks.start(self.task, interval=10.0)
        self.clock.wait_until_waiting()
        self.tasks.stop()
        self.tasks.join()
        self.assertEqual(0, self.runs)

    def test_an_expected_error_is_logged_once_in_a_row(self) -> None:
        logged = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.level = logging.INFO
        self.fails = True
        self.tasks.start(self.task, interval=10.0, retry_delay=10.0)
        for run in range(1, 4):
            self.assertEqual(run, self.runs_after(10.0))
        self.assertEqual(
            "Periodic task failed, retrying: task=task "
            "error=ZeroDivisionError()\n",
            logged.output,
        )
        self.fails = False
        self.runs_after(10.0)
        self.fails = True
        self.runs_after(10.0)
        self.assertEqual(2, logged.output.count("task failed"))
