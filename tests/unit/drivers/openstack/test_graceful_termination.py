"""The graceful termination timeout, over several attempts."""

import datetime
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import graceful_termination
from tacker_cnf.runtime.cancellation import CancelToken
from tests.factories import a_task
from tests.fixtures.clock import ManualClock


class TestWaitForVnf(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.saved: tuple[str, ...] = ()
        self.waited: list[float] = []
        self.clock = ManualClock()

    def wait_for_vnf(
        self, seconds: int, wait_idle: Any = None, **task: Any
    ) -> None:
        def save_checkpoint(checkpoint: tuple[str, ...]) -> None:
            self.saved = checkpoint

        wait_idle = wait_idle or self.waited.append
        graceful_termination.wait_for_vnf(
            a_task(
                save_checkpoint=save_checkpoint,
                wait_idle=wait_idle,
                cancel_token=CancelToken(clock=self.clock),
                **task,
            ),
            seconds,
        )

    def until(self, seconds: float) -> str:
        end = self.clock.utcnow() + datetime.timedelta(seconds=seconds)
        return f"until {end.isoformat()}"

    def test_the_end_is_saved_before_the_wait(self) -> None:
        def die(_: float) -> None:
            self.assertEqual(2, len(self.saved))
            raise errors.LeaseLost

        self.assertRaises(
            errors.LeaseLost,
            self.wait_for_vnf,
            600,
            die,
            checkpoint=("another",),
        )
        self.assertEqual("another", self.saved[0])
        self.clock.advance(100)
        self.wait_for_vnf(600, checkpoint=self.saved)
        self.assertEqual([500.0], self.waited)

    def test_a_graceful_cancel_ends_the_wait(self) -> None:
        cancel_token = CancelToken()
        enough = errors.Cancelled("enough")
        task = a_task(
            cancel_token=cancel_token,
            report_progress=lambda _: cancel_token.cancel(
                enough, forceful=False
            ),
        )
        self.assertRaises(
            errors.Cancelled, graceful_termination.wait_for_vnf, task, 86400
        )

    def test_a_retry_waits_for_the_remaining_time(self) -> None:
        self.wait_for_vnf(600, checkpoint=(self.until(60),))
        self.assertEqual([60.0], self.waited)
        self.assertEqual((), self.saved)

    def test_a_retry_after_the_end_does_not_wait(self) -> None:
        self.wait_for_vnf(600, checkpoint=(self.until(-1),))
        self.assertEqual([], self.waited)

    def test_no_deadline_shortens_the_wait(self) -> None:
        self.wait_for_vnf(86400)
        self.assertEqual([86400.0], self.waited)

    def test_the_wait_is_reported_as_progress(self) -> None:
        progress: list[str] = []
        self.wait_for_vnf(
            60,
            checkpoint=("until 2126-11-21T12:00:00+00:00",),
            report_progress=progress.append,
        )
        self.assertIn("until 2126-11-21T12:00:00+00:00", progress[0])
