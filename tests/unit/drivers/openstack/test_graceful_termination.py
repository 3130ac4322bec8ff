"""The graceful termination timeout, over several attempts."""

import datetime
from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import graceful_termination
from tacker_cnf.drivers.openstack.graceful_termination import TimeoutEnd
from tacker_cnf.runtime.cancellation import CancelToken
from tests.factories import a_context
from tests.fixtures.clock import ManualClock


class TestWaitForVnf(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.saved: TimeoutEnd | None = None
        self.waited: list[float] = []
        self.clock = ManualClock()

    def wait_for_vnf(
        self,
        seconds: int,
        wait_idle: Any = None,
        saved: TimeoutEnd | None = None,
        **context: Any,
    ) -> None:
        def save_checkpoint(checkpoint: TimeoutEnd) -> None:
            self.saved = checkpoint

        wait_idle = wait_idle or self.waited.append
        graceful_termination.wait_for_vnf(
            a_context(
                saved_checkpoint=saved and msgspec.to_builtins(saved),
                save_checkpoint=save_checkpoint,
                wait_idle=wait_idle,
                cancel_token=CancelToken(clock=self.clock),
                **context,
            ),
            seconds,
        )

    def until(self, seconds: float) -> TimeoutEnd:
        seconds_ahead = datetime.timedelta(seconds=seconds)
        return TimeoutEnd(self.clock.utcnow() + seconds_ahead)

    def test_the_end_is_saved_before_the_wait(self) -> None:
        def die(_: float) -> None:
            self.assertIsNotNone(self.saved)
            raise errors.LeaseLost

        self.assertRaises(errors.LeaseLost, self.wait_for_vnf, 600, die)
        self.clock.advance(100)
        self.wait_for_vnf(600, saved=self.saved)
        self.assertEqual([500.0], self.waited)

    def test_a_graceful_cancel_ends_the_wait(self) -> None:
        cancel_token = CancelToken()
        enough = errors.Cancelled("enough")
        context = a_context(
            cancel_token=cancel_token,
            report_progress=lambda _: cancel_token.cancel(
                enough, forceful=False
            ),
        )
        self.assertRaises(
            errors.Cancelled, graceful_termination.wait_for_vnf, context, 86400
        )

    def test_a_retry_waits_for_the_remaining_time(self) -> None:
        self.wait_for_vnf(600, saved=self.until(60))
        self.assertEqual([60.0], self.waited)
        self.assertIsNone(self.saved)

    def test_a_retry_after_the_end_does_not_wait(self) -> None:
        self.wait_for_vnf(600, saved=self.until(-1))
        self.assertEqual([], self.waited)

    def test_no_deadline_shortens_the_wait(self) -> None:
        self.wait_for_vnf(86400)
        self.assertEqual([86400.0], self.waited)

    def test_the_wait_is_reported_as_progress(self) -> None:
        progress: list[str] = []
        self.wait_for_vnf(
            60,
            saved=TimeoutEnd(
                datetime.datetime(2126, 11, 21, 12, tzinfo=datetime.UTC)
            ),
            report_progress=progress.append,
        )
        self.assertIn("until 2126-11-21T12:00:00+00:00", progress[0])
