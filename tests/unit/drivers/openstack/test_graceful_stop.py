"""How long a VNF has to end, over several tries."""

import datetime
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import graceful_termination
from tacker_cnf.runtime.cancellation import CancelToken
from tests.factories import a_task


class TestGive(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.noted: tuple[str, ...] = ()
        self.rested: list[float] = []

    def wait_for_vnf(
        self, seconds: int, rest: Any = None, **task: Any
    ) -> None:
        def note(notes: tuple[str, ...]) -> None:
            self.noted = notes

        rest = rest or self.rested.append
        graceful_termination.wait_for_vnf(
            a_task(save_checkpoint=note, wait_idle=rest, **task), seconds
        )

    def until(self, seconds: float) -> str:
        now = datetime.datetime.now(datetime.UTC)
        end = now + datetime.timedelta(seconds=seconds)
        return f"until {end.isoformat()}"

    def test_its_end_is_noted_before_it_begins(self) -> None:
        def die(_: float) -> None:
            self.assertEqual(2, len(self.noted))
            raise errors.LostClaim

        self.assertRaises(
            errors.LostClaim,
            self.wait_for_vnf,
            600,
            die,
            checkpoint=("another",),
        )
        self.assertEqual("another", self.noted[0])
        self.wait_for_vnf(600, checkpoint=self.noted)
        (rested,) = self.rested
        self.assertTrue(0 < rested <= 600)

    def test_cancelled_gracefully_it_ends(self) -> None:
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

    def test_another_try_waits_for_the_rest(self) -> None:
        self.wait_for_vnf(600, checkpoint=(self.until(60),))
        (rested,) = self.rested
        self.assertTrue(0 < rested <= 60)
        self.assertEqual((), self.noted)

    def test_what_has_passed_is_not_waited_for(self) -> None:
        self.wait_for_vnf(600, checkpoint=(self.until(-1),))
        self.assertEqual([], self.rested)

    def test_no_deadline_cuts_it(self) -> None:
        self.wait_for_vnf(86400)
        (rested,) = self.rested
        self.assertTrue(rested > 80000)

    def test_it_is_reported(self) -> None:
        progress: list[str] = []
        self.wait_for_vnf(
            60,
            checkpoint=("until 2126-11-21T12:00:00+00:00",),
            report_progress=progress.append,
        )
        self.assertIn("until 2126-11-21T12:00:00+00:00", progress[0])
