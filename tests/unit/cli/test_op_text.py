"""Operations as text."""

import datetime
import io
from typing import Any, Final

import fixtures
import testtools

from tacker_cnf.cli import op_display, op_text, op_wait
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.failures import InvalidResponse
from tacker_cnf.cli.op_types import OpOcc
from tests.unit.cli.operations import LATER, a_resource, a_step, an_op_occ

OTHER: Final = {"kind": "Pod", "name": "probe", "status": "FAILED"}
ENDED: Final = {"outcome": "COMPLETED", "endTime": LATER}


class TestChanges(testtools.TestCase):
    def check(self, before: OpOcc | None, after: OpOcc, *changes: str) -> None:
        found = [change.text for change in op_text.changes(before, after)]
        self.assertEqual(list(changes), found)

    def test_the_first_state(self) -> None:
        self.check(None, an_op_occ("STARTING"), "STARTING")
        running = an_op_occ(
            "PROCESSING",
            a_step("grant", **ENDED),
            a_step("infra", a_resource("IN_PROGRESS"), done=0, total=1),
        )
        self.check(
            None,
            running,
            "PROCESSING",
            "grant:  COMPLETED  2.5 s",
            "infra:  Deployment web (VDU VDU1)  IN_PROGRESS",
            "infra:  running  0/1",
        )

    def test_what_has_not_changed(self) -> None:
        op_occ = an_op_occ("PROCESSING", a_step("infra"), progress="INFRA")
        self.check(op_occ, op_occ)

    def test_resources_come_before_the_count_of_their_step(self) -> None:
        before = an_op_occ(
            "PROCESSING",
            a_step("infra", a_resource("IN_PROGRESS"), done=0, total=2),
        )
        after = an_op_occ(
            "PROCESSING",
            a_step(
                "infra",
                a_resource("DONE"),
                OTHER | {"message": "ImagePullBackOff"},
                done=1,
                total=2,
                message="1 of 2 pods is ready",
            ),
        )
        self.check(
            before,
            after,
            "infra:  Deployment web (VDU VDU1)  DONE",
            "infra:  Pod probe  FAILED  ImagePullBackOff",
            "infra:  running  1/2  1 of 2 pods is ready",
        )

    def test_resources_of_one_name_have_ids(self) -> None:
        old = OTHER | {"id": "1", "status": "DONE"}
        new = OTHER | {"id": "2", "status": "IN_PROGRESS"}
        unknown = OTHER | {"status": "IN_PROGRESS"}
        before = an_op_occ("PROCESSING", a_step("infra", old, new, unknown))
        new = new | {"status": "DONE"}
        after = an_op_occ("PROCESSING", a_step("infra", old, new, unknown))
        self.check(before, after, "infra:  Pod probe  DONE")

    def test_the_end_comes_last(self) -> None:
        step = a_step("infra", OTHER, message="0 of 1 pods is ready")
        pod = OTHER | {"message": "ImagePullBackOff"}
        self.check(
            an_op_occ("PROCESSING", step),
            an_op_occ(
                "FAILED_TEMP",
                step | {"resources": [pod], "outcome": "FAILED"},
            ),
            "infra:  Pod probe  FAILED  ImagePullBackOff",
            "infra:  FAILED  0 of 1 pods is ready",
            "FAILED_TEMP",
        )
        self.check(
            an_op_occ("PROCESSING", step),
            an_op_occ("COMPLETED", step | ENDED),
            "infra:  COMPLETED  2.5 s",
            "COMPLETED",
        )

    def test_another_attempt(self) -> None:
        failed = a_step("infra", outcome="FAILED", endTime=LATER)
        before = an_op_occ("FAILED_TEMP", failed)
        after = an_op_occ("PROCESSING", failed, a_step("infra", attempt=2))
        self.check(before, after, "PROCESSING", "infra (attempt 2):  running")

    def test_when_it_changed(self) -> None:
        after = an_op_occ(
            "PROCESSING",
            a_step("grant", **ENDED),
            a_step("infra", a_resource("DONE", endTime=LATER)),
        )
        grant, pod = after.timeline[0], after.timeline[1].resources[0]
        self.assertEqual(
            [None, grant.end_time, pod.end_time, None],
            [change.at for change in op_text.changes(None, after)],
        )

    def test_a_pending_cancellation(self) -> None:
        before = an_op_occ("PROCESSING")
        after = an_op_occ("PROCESSING", isCancelPending=True)
        self.check(before, after, "its cancellation is pending")
        self.check(after, after)

    def test_progress_of_a_server_without_timeline(self) -> None:
        before = an_op_occ("PROCESSING", progress="PREAMBLE")
        after = an_op_occ("PROCESSING", progress="INFRA: 1 of 2")
        self.check(before, after, "INFRA: 1 of 2")
        self.check(after, an_op_occ("COMPLETED"), "COMPLETED")


class TestAttempts(testtools.TestCase):
    FAILED: Final = a_step("infra", outcome="FAILED", endTime=LATER)

    def test_the_newest_attempt(self) -> None:
        second = self.FAILED | {"attempt": 2}
        running = a_step("infra", attempt=2)
        for op_occ, number in (
            (an_op_occ("STARTING"), 1),
            (an_op_occ("PROCESSING", a_step("infra")), 1),
            (an_op_occ("FAILED_TEMP", self.FAILED), 1),
            (an_op_occ("PROCESSING", self.FAILED), 2),
            (an_op_occ("PROCESSING", self.FAILED, running), 2),
            (an_op_occ("FAILED", self.FAILED, second), 2),
            (an_op_occ("ROLLING_BACK", self.FAILED, second), 3),
        ):
            self.assertEqual(number, op_occ.newest_attempt)

    def test_earlier_attempts_are_left_out(self) -> None:
        step = a_step("infra", attempt=2, startTime=LATER)
        op_occ = an_op_occ("PROCESSING", self.FAILED, step)
        self.assertEqual(op_occ, op_occ.since_attempt(1))
        second = op_occ.since_attempt(2)
        self.assertEqual(op_occ.timeline[1:], second.timeline)
        self.assertEqual(second.timeline[0].start_time, second.start_time)
        third = op_occ.since_attempt(3)
        self.assertEqual((), third.timeline)
        self.assertEqual(op_occ.state_entered_time, third.start_time)


class TestTimeline(testtools.TestCase):
    def test_steps_and_resources(self) -> None:
        op_occ = an_op_occ(
            "PROCESSING",
            a_step("grant", **ENDED),
            a_step(
                "infra",
                a_resource("DONE", endTime=LATER),
                OTHER,
                done=1,
                total=2,
            ),
        )
        self.assertEqual(
            [
                "18:00:00  grant  COMPLETED  2.5 s",
                "18:00:00  infra  running  1/2",
                "  Deployment web (VDU VDU1)  DONE  2.5 s",
                "  Pod probe  FAILED",
            ],
            list(op_text.timeline(op_occ)),
        )

    def test_durations(self) -> None:
        start = datetime.datetime(2026, 11, 25, tzinfo=datetime.UTC)
        for seconds, text in (
            (0, "0.0 s"),
            (59.94, "59.9 s"),
            (60, "0:01:00"),
            (3725.9, "1:02:05"),
            # the clock of the server is ahead
            (-5, "0.0 s"),
        ):
            end = start + datetime.timedelta(seconds=seconds)
            self.assertEqual(text, op_text.elapsed(start, end))
        self.assertEqual("", op_text.elapsed(start, None))


class TestFailure(testtools.TestCase):
    def test_reason_and_decisions(self) -> None:
        op_occ = an_op_occ(
            "FAILED_TEMP",
            error={"status": 422, "detail": "Quota exceeded."},
            _links={"self": {}, "retry": {}, "fail": {}},
        )
        self.assertEqual(
            [
                "SCALE of demo is FAILED_TEMP: Quota exceeded.",
                "Decide what to do:",
                f"  tacker-cnf op retry {op_occ.id}  # continue it from where it stopped",
                f"  tacker-cnf op fail {op_occ.id}   # accept the failure",
            ],
            list(op_wait.failure(op_occ, "demo")),
        )

    def test_an_operation_that_has_ended(self) -> None:
        self.assertEqual(
            ["SCALE of demo is ROLLED_BACK."],
            list(op_wait.failure(an_op_occ("ROLLED_BACK"), "demo")),
        )


class TestInvalidOperations(testtools.TestCase):
    def test_where_it_is_not_valid(self) -> None:
        for value, place in (
            ([], "object"),
            ({"id": 1}, "$.id"),
            ({"id": "a", "operation": None}, "$.operation"),
        ):
            error = self.assertRaises(InvalidResponse, convert, value, OpOcc)
            self.assertIn(place, str(error))


class Stream(io.StringIO):
    """Text that a terminal shows, or a file has."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class TestRendering(testtools.TestCase):
    def render(self, op_occ: OpOcc, limit: int = 10) -> str:
        stream = io.StringIO()
        console = op_display.open_console(stream)
        console.width = 80
        console.print(op_display.render(op_occ, "demo", limit))
        return stream.getvalue()

    def test_steps_and_resources(self) -> None:
        text = self.render(
            an_op_occ(
                "COMPLETED",
                a_step("grant", **ENDED),
                a_step(
                    "infra",
                    a_resource("DONE", endTime=LATER),
                    done=1,
                    total=1,
                    **ENDED,
                ),
            )
        )
        self.assertEqual(
            [
                "SCALE of demo  COMPLETED  2.5 s",
                "✓  grant       2.5 s",
                "✓  infra  1/1  2.5 s",
                "  ✓  Deployment web (VDU VDU1)  2.5 s",
            ],
            [line.rstrip() for line in text.splitlines()],
        )

    def test_resources_in_progress_are_first_and_few(self) -> None:
        pods = [
            OTHER | {"name": f"pod-{n}", "status": "DONE"} for n in range(9)
        ]
        pods[7]["status"] = "FAILED"
        text = self.render(an_op_occ("FAILED_TEMP", a_step("infra", *pods)), 2)
        self.assertIn("✗  Pod pod-7", text)
        self.assertIn("✓  Pod pod-0", text)
        self.assertNotIn("pod-1", text)
        self.assertIn("and 7 more", text)

    def test_only_a_terminal_is_refreshed(self) -> None:
        for is_terminal, term, is_live in (
            (True, "xterm", True),
            (True, "dumb", False),
            (False, "xterm", False),
        ):
            self.useFixture(fixtures.EnvironmentVariable("TERM", term))
            stream = Stream(is_terminal=is_terminal)
            with op_display.open_display(stream, "demo") as display:
                display.show(an_op_occ("PROCESSING", a_step("infra")))
                display.show(an_op_occ("COMPLETED", a_step("infra", **ENDED)))
            text = stream.getvalue()
            self.assertEqual(is_live, "\x1b" in text)
            self.assertIn("COMPLETED", text)
            self.assertEqual(is_live, "✓" in text)

    def test_messages_are_cut_and_are_no_markup(self) -> None:
        step: Any = a_step("infra", message="[red]:smile: " + "long " * 50)
        text = self.render(an_op_occ("PROCESSING", step))
        self.assertIn("[red]:smile: ", text)
        self.assertEqual(2, len(text.splitlines()))
