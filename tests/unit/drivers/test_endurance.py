import threading
import time
from collections.abc import Iterable
from typing import Self

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.endurance import Away, Endurance
from tacker_cnf.drivers.kubernetes.refusals import Dropped, Forbidden
from tacker_cnf.drivers.progress import LONGEST, Progress
from tacker_cnf.halting import Deadline, Halt

LONG = 600.0


class Answers:
    """Answers one by one, the last again and again; errors are raised."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self) -> object:
        self.asked += 1
        several = len(self._answers) > 1
        answer = self._answers.pop(0) if several else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def an_endurance(
    contact: float = LONG,
    outage: float = LONG,
    within: float = LONG,
    halt: Halt | None = None,
) -> Endurance:
    return Endurance(
        Deadline.within(within), halt, contact=contact, outage=outage
    )


class TestEndurance(testtools.TestCase):
    def test_an_answer_is_given(self) -> None:
        self.assertEqual("so", an_endurance().ask(Answers("so")))

    def test_it_asks_again_while_the_cluster_is_away(self) -> None:
        answers = Answers(Away("1"), Dropped("2"), "so")
        self.assertEqual("so", an_endurance().ask(answers))
        self.assertEqual(3, answers.asked)

    def test_a_refusal_is_an_answer(self) -> None:
        answers = Answers(Forbidden("no"), "so")
        self.assertRaises(Forbidden, an_endurance().ask, answers)
        self.assertEqual(1, answers.asked)

    def test_what_never_answered_is_borne_for_shorter(self) -> None:
        endurance = an_endurance(contact=0.1, outage=LONG)
        with Took() as took:
            self.assertRaises(Away, endurance.ask, Answers(Away("gone")))
        self.assertLess(took.seconds, 60)

    def test_what_has_answered_is_borne_for_longer(self) -> None:
        endurance = an_endurance(contact=0.0, outage=LONG)
        endurance.ask(Answers("so"))
        answers = Answers(Away("1"), Away("2"), "again")
        self.assertEqual("again", endurance.ask(answers))

    def test_what_has_refused_is_there(self) -> None:
        endurance = an_endurance(contact=0.0)
        self.assertRaises(Forbidden, endurance.ask, Answers(Forbidden("no")))
        self.assertEqual("so", endurance.ask(Answers(Away("gone"), "so")))

    def test_nothing_is_borne_beyond_the_deadline(self) -> None:
        with Took() as took:
            self.assertRaises(
                Away, an_endurance(within=0.1).ask, Answers(Away("gone"))
            )
        self.assertLess(took.seconds, 60)

    def test_it_ends_when_it_is_called_off_at_once(self) -> None:
        halt = Halt()
        cancelled = errors.Cancelled("Called off.")
        threading.Timer(
            0.1, halt.call_off, (cancelled,), {"at_once": True}
        ).start()
        with Took() as took:
            self.assertRaises(
                errors.Cancelled,
                an_endurance(halt=halt).ask,
                Answers(Away("gone")),
            )
        self.assertLess(took.seconds, 60)


class Took:
    """Measures a with block."""

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._begun


class TestProgress(testtools.TestCase):
    def told(self, lines: Iterable[str]) -> list[str]:
        told: list[str] = []
        progress = Progress(told.append)
        for line in lines:
            progress(line)
        return told

    def test_only_what_is_new_is_told(self) -> None:
        self.assertEqual(["a", "b", "a"], self.told(["a", "a", "b", "a"]))

    def test_a_long_line_is_cut(self) -> None:
        (line,) = self.told(["x" * 1000])
        self.assertEqual(LONGEST, len(line))
        self.assertTrue(line.endswith("..."))
