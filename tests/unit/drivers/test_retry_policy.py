import threading
import time
from collections.abc import Iterable
from typing import Self

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.api_errors import (
    ConnectionDropped,
    Forbidden,
)
from tacker_cnf.drivers.progress import MAX_LINE_CHARS, Progress
from tacker_cnf.drivers.retry_policy import RetryPolicy, Unreachable
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

LONG_S = 600.0


class ScriptedResponses:
    """Returns one answer per call, the last one repeatedly; raises errors."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.call_count = 0

    def __call__(self) -> object:
        self.call_count += 1
        several = len(self._answers) > 1
        answer = self._answers.pop(0) if several else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def build_policy(
    contact_timeout: float = LONG_S,
    outage_timeout: float = LONG_S,
    within: float = LONG_S,
    cancel_token: CancelToken | None = None,
) -> RetryPolicy:
    return RetryPolicy(
        Deadline.within(within),
        cancel_token,
        contact_timeout=contact_timeout,
        outage_timeout=outage_timeout,
    )


class TestRetryPolicy(testtools.TestCase):
    def test_an_answer_is_returned(self) -> None:
        self.assertEqual("so", build_policy().call(ScriptedResponses("so")))

    def test_a_request_is_repeated_while_the_cluster_is_unreachable(
        self,
    ) -> None:
        answers = ScriptedResponses(
            Unreachable("1"), ConnectionDropped("2"), "so"
        )
        self.assertEqual("so", build_policy().call(answers))
        self.assertEqual(3, answers.call_count)

    def test_a_rejected_request_is_not_repeated(self) -> None:
        answers = ScriptedResponses(Forbidden("no"), "so")
        self.assertRaises(Forbidden, build_policy().call, answers)
        self.assertEqual(1, answers.call_count)

    def test_contact_timeout_before_the_first_answer(self) -> None:
        retry_policy = build_policy(contact_timeout=0.1, outage_timeout=LONG_S)
        with Stopwatch() as stopwatch:
            self.assertRaises(
                Unreachable,
                retry_policy.call,
                ScriptedResponses(Unreachable("down")),
            )
        self.assertLess(stopwatch.seconds, 60)

    def test_outage_timeout_after_an_answer(self) -> None:
        retry_policy = build_policy(contact_timeout=0.0, outage_timeout=LONG_S)
        retry_policy.call(ScriptedResponses("so"))
        answers = ScriptedResponses(
            Unreachable("1"), Unreachable("2"), "again"
        )
        self.assertEqual("again", retry_policy.call(answers))

    def test_outage_timeout_after_a_rejection(self) -> None:
        retry_policy = build_policy(contact_timeout=0.0)
        self.assertRaises(
            Forbidden, retry_policy.call, ScriptedResponses(Forbidden("no"))
        )
        self.assertEqual(
            "so",
            retry_policy.call(ScriptedResponses(Unreachable("down"), "so")),
        )

    def test_no_retry_after_the_deadline(self) -> None:
        with Stopwatch() as stopwatch:
            self.assertRaises(
                Unreachable,
                build_policy(within=0.1).call,
                ScriptedResponses(Unreachable("down")),
            )
        self.assertLess(stopwatch.seconds, 60)

    def test_a_forceful_cancellation_ends_the_retries(self) -> None:
        cancel_token = CancelToken()
        cancelled = errors.Cancelled("Cancelled.")
        threading.Timer(
            0.1, cancel_token.cancel, (cancelled,), {"forceful": True}
        ).start()
        with Stopwatch() as stopwatch:
            self.assertRaises(
                errors.Cancelled,
                build_policy(cancel_token=cancel_token).call,
                ScriptedResponses(Unreachable("down")),
            )
        self.assertLess(stopwatch.seconds, 60)


class Stopwatch:
    """Measures the duration of a with block."""

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._start


class TestProgress(testtools.TestCase):
    def reported(self, lines: Iterable[str]) -> list[str]:
        reported: list[str] = []
        progress = Progress(reported.append)
        for line in lines:
            progress(line)
        return reported

    def test_only_new_lines_are_reported(self) -> None:
        self.assertEqual(["a", "b", "a"], self.reported(["a", "a", "b", "a"]))

    def test_a_long_line_is_cut(self) -> None:
        (line,) = self.reported(["x" * 1000])
        self.assertEqual(MAX_LINE_CHARS, len(line))
        self.assertTrue(line.endswith("..."))
