"""The timeline of an operation, and what of it is published."""

import msgspec
import testtools

from tacker_cnf.conductor import operation_progress, step_resources
from tacker_cnf.conductor.operation_progress import OperationProgress
from tacker_cnf.drivers.progress import MAX_LINE_CHARS, ResourceProgress
from tacker_cnf.sol.timeline import ResourceStatus as Status
from tacker_cnf.sol.timeline import StepOutcome, TimelineStep
from tests.fixtures.clock import START, ManualClock


def a_resource(
    name: str, status: Status = Status.IN_PROGRESS, kind: str = "Pod"
) -> ResourceProgress:
    return ResourceProgress(kind=kind, name=name, status=status)


def end_step(
    progress: OperationProgress, outcome: StepOutcome
) -> tuple[TimelineStep, ...]:
    """End a step, as after its result was recorded."""
    timeline = progress.ended(outcome)
    progress.end_step(timeline)
    return timeline


class ProgressTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.progress = OperationProgress("an-op-occ", self.clock)

    def published(self) -> TimelineStep:
        """Return the step that runs."""
        snapshot = self.progress.unpublished()
        assert snapshot is not None
        return snapshot.timeline[-1]


class TestPublication(ProgressTest):
    def test_only_what_is_new_is_published(self) -> None:
        self.assertIsNone(self.progress.unpublished())
        self.progress.enter_step("INFRA")
        first = self.progress.unpublished()
        assert first is not None
        self.assertEqual("INFRA", first.line)
        self.progress.mark_published(first)
        self.assertIsNone(self.progress.unpublished())
        self.progress.report("1 of 2")
        self.progress.mark_published(first)  # there is a newer one
        second = self.progress.unpublished()
        assert second is not None
        self.assertEqual("INFRA: 1 of 2", second.line)

    def test_a_step_that_has_ended_is_not_published(self) -> None:
        """Its end is recorded with its result."""
        self.progress.enter_step("INFRA")
        end_step(self.progress, StepOutcome.COMPLETED)
        self.assertIsNone(self.progress.unpublished())
        self.assertIsNone(self.progress.line)

    def test_a_step_whose_end_is_being_recorded_is_not_published(self) -> None:
        self.progress.enter_step("INFRA")
        self.progress.report("1 of 2")
        self.progress.ended(StepOutcome.COMPLETED)
        self.assertIsNone(self.progress.unpublished())
        # the end cannot be recorded: the step fails
        (step,) = end_step(self.progress, StepOutcome.FAILED)
        self.assertEqual(
            (StepOutcome.FAILED, "1 of 2"), (step.outcome, step.message)
        )
        self.progress.enter_step("RESTORE")
        self.assertIsNotNone(self.progress.unpublished())

    def test_the_line_is_cut(self) -> None:
        self.progress.enter_step("END")
        self.progress.report("x" * 300)
        line = self.progress.line
        assert line is not None
        self.assertEqual("END: " + "x" * (MAX_LINE_CHARS - 5), line)


class TestSteps(ProgressTest):
    def test_a_step_has_its_times_outcome_and_last_message(self) -> None:
        self.progress.enter_step("INFRA")
        self.progress.report("1 of 2")
        self.clock.advance(2.0005)
        (step,) = end_step(self.progress, StepOutcome.FAILED)
        self.assertEqual(
            TimelineStep(
                step="INFRA",
                attempt=1,
                start_time=START,
                end_time=START.replace(second=2),
                outcome=StepOutcome.FAILED,
                message="1 of 2",
            ),
            step,
        )

    def test_each_attempt_continues_the_timeline(self) -> None:
        self.progress.enter_step("GRANT")
        end_step(self.progress, StepOutcome.COMPLETED)
        self.progress.enter_step("INFRA")
        timeline = end_step(self.progress, StepOutcome.FAILED)
        retry = OperationProgress("an-op-occ", self.clock)
        retry.resume(timeline)
        retry.enter_step("INFRA")
        timeline = end_step(retry, StepOutcome.COMPLETED)
        self.assertEqual(
            [("GRANT", 1), ("INFRA", 1), ("INFRA", 2)],
            [(step.step, step.attempt) for step in timeline],
        )

    def test_a_step_of_a_lost_conductor_is_interrupted(self) -> None:
        self.progress.enter_step("INFRA")
        self.progress.report_resource(a_resource("web-1"))
        step = self.published()
        self.clock.advance(60)
        other = OperationProgress("an-op-occ", self.clock)
        other.resume((step,))
        (interrupted,) = end_step(other, StepOutcome.FAILED)
        self.assertEqual(StepOutcome.INTERRUPTED, interrupted.outcome)
        self.assertEqual(START.replace(minute=1), interrupted.end_time)
        self.assertEqual(Status.UNFINISHED, interrupted.resources[0].status)

    def test_the_latest_steps_are_kept(self) -> None:
        for number in range(operation_progress.MAX_STEPS + 2):
            self.progress.enter_step(str(number))
            timeline = end_step(self.progress, StepOutcome.COMPLETED)
        self.assertEqual(operation_progress.MAX_STEPS, len(timeline))
        self.assertEqual("2", timeline[0].step)


class TestResources(ProgressTest):
    def setUp(self) -> None:
        super().setUp()
        self.progress.enter_step("INFRA")

    def test_done_and_total_count_what_is_known(self) -> None:
        def counts() -> tuple[int | None, int | None]:
            step = self.published()
            return step.done, step.total

        self.assertEqual((None, None), counts())
        self.progress.expect("Deployment", 1)
        self.progress.expect("Pod", 3)
        self.progress.expect("Pod", 2)
        self.assertEqual((0, 4), counts())
        self.progress.report_resource(
            a_resource("web", Status.DONE, "Deployment")
        )
        self.assertEqual((1, 4), counts())
        for number in range(4):
            self.progress.report_resource(
                a_resource(f"web-{number}", Status.DONE)
            )
        self.assertEqual((5, 5), counts())
        self.progress.report_resource(a_resource("web-0"))
        self.assertEqual((4, 5), counts())
        (step,) = end_step(self.progress, StepOutcome.COMPLETED)
        self.assertEqual((5, 5), (step.done, step.total))

    def test_a_resource_has_its_times(self) -> None:
        self.progress.report_resource(a_resource("web-1"))
        self.clock.advance(3)
        self.progress.report_resource(a_resource("web-1", Status.DONE))
        (resource,) = self.published().resources
        self.assertEqual(START, resource.start_time)
        self.assertEqual(START.replace(second=3), resource.end_time)

    def test_the_end_of_the_step_is_that_of_its_resources(self) -> None:
        for outcome, status in (
            (StepOutcome.COMPLETED, Status.DONE),
            (StepOutcome.FAILED, Status.UNFINISHED),
        ):
            self.progress.enter_step("INFRA")
            self.progress.report_resource(a_resource("ready", Status.DONE))
            self.progress.report_resource(a_resource("another"))
            step = end_step(self.progress, outcome)[-1]
            self.assertEqual(
                [Status.DONE, status],
                [resource.status for resource in step.resources],
            )

    def test_resources_of_two_clusters(self) -> None:
        self.progress.expect("Pod", 5)
        self.progress.expect("Pod", 3, "a/")
        self.progress.expect("Pod", 4, "b/")
        for scope in ("a/", "b/"):
            self.progress.report_resource(
                msgspec.structs.replace(
                    a_resource("web", Status.DONE), id=scope
                )
            )
        step = self.published()
        self.assertEqual((2, 7), (step.done, step.total))
        self.assertEqual(["a/", "b/"], [r.id for r in step.resources])

    def test_resources_in_progress_are_kept(self) -> None:
        """The one that is slow is the oldest."""
        self.progress.report_resource(a_resource("slow"))
        for number in range(5 * step_resources.MAX_RESOURCES):
            self.progress.report_resource(a_resource(str(number), Status.DONE))
        step = self.published()
        self.assertEqual("slow", step.resources[0].name)
        self.assertEqual(
            (5 * step_resources.MAX_RESOURCES, "999"),
            (step.done, step.resources[-1].name),
        )

    def test_the_latest_resources_are_kept(self) -> None:
        maximum = step_resources.MAX_RESOURCES
        for number in range(maximum + 1):
            self.progress.report_resource(a_resource(str(number), Status.DONE))
        step = self.published()
        self.assertEqual(maximum, len(step.resources))
        self.assertEqual("1", step.resources[0].name)
        self.assertEqual(maximum + 1, step.total)
        end_step(self.progress, StepOutcome.FAILED)
        self.progress.enter_step("RESTORE")
        self.progress.report_resource(a_resource("a"))
        timeline = end_step(self.progress, StepOutcome.COMPLETED)
        self.assertEqual(
            [maximum - 1, 1], [len(step.resources) for step in timeline]
        )
        self.assertLess(len(msgspec.json.encode(timeline)), 64 * 1024)
