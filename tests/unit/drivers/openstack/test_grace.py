"""How long a VNF has to end, over several tries."""

import datetime
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import grace
from tacker_cnf.halting import Halt
from tests.factories import a_task


class TestGive(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.noted: tuple[str, ...] = ()
        self.rested: list[float] = []

    def give(self, seconds: int, rest: Any = None, **task: Any) -> None:
        def note(notes: tuple[str, ...]) -> None:
            self.noted = notes

        rest = rest or self.rested.append
        grace.give(a_task(note=note, rest=rest, **task), seconds)

    def until(self, seconds: float) -> str:
        now = datetime.datetime.now(datetime.UTC)
        end = now + datetime.timedelta(seconds=seconds)
        return f"until {end.isoformat()}"

    def test_its_end_is_noted_before_it_begins(self) -> None:
        def die(_: float) -> None:
            self.assertEqual(2, len(self.noted))
            raise errors.LostClaim

        self.assertRaises(
            errors.LostClaim, self.give, 600, die, notes=("another",)
        )
        self.assertEqual("another", self.noted[0])
        self.give(600, notes=self.noted)
        (rested,) = self.rested
        self.assertTrue(0 < rested <= 600)

    def test_called_off_gracefully_it_ends(self) -> None:
        halt = Halt()
        enough = errors.Cancelled("enough")
        task = a_task(
            halt=halt, tell=lambda _: halt.call_off(enough, at_once=False)
        )
        self.assertRaises(errors.Cancelled, grace.give, task, 86400)

    def test_another_try_waits_for_the_rest(self) -> None:
        self.give(600, notes=(self.until(60),))
        (rested,) = self.rested
        self.assertTrue(0 < rested <= 60)
        self.assertEqual((), self.noted)

    def test_what_has_passed_is_not_waited_for(self) -> None:
        self.give(600, notes=(self.until(-1),))
        self.assertEqual([], self.rested)

    def test_no_deadline_cuts_it(self) -> None:
        self.give(86400)
        (rested,) = self.rested
        self.assertTrue(rested > 80000)

    def test_it_is_told(self) -> None:
        told: list[str] = []
        self.give(
            60, notes=("until 2126-11-21T12:00:00+00:00",), tell=told.append
        )
        self.assertIn("until 2126-11-21T12:00:00+00:00", told[0])
