"""The progress of an operation that this conductor runs: its timeline."""

import datetime
import threading
from typing import Final, NamedTuple

import msgspec
from oslo_log import log

from tacker_cnf.conductor import step_resources
from tacker_cnf.conductor.step_resources import MAX_RESOURCES, StepResources
from tacker_cnf.drivers.progress import MAX_LINE_CHARS, ResourceProgress
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.sol.timeline import (
    ResourceStatus,
    StepOutcome,
    TimelineStep,
)

LOG = log.getLogger(__name__)

#: the most steps that a timeline keeps, the latest ones
MAX_STEPS: Final = 40
#: seconds between two lines in the log with the progress of an operation
LOG_INTERVAL_S: Final = 10.0

Timeline = tuple[TimelineStep, ...]


class Snapshot(NamedTuple):
    """What is published of the progress."""

    #: differs after each change
    number: int
    #: the step that runs, and its last line of progress
    line: str
    timeline: Timeline


class OperationProgress:
    """The timeline of an operation, and what of it is not published yet. The
    threads of the operation report, another one publishes.

    :param op_occ_id: of the operation, for the log
    """

    def __init__(
        self, op_occ_id: str | None = None, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._op_occ_id = op_occ_id
        self._clock = clock
        self._next_log = Deadline.within(LOG_INTERVAL_S, clock)
        self._lock = threading.Lock()
        self._number = self._published = 0
        self._attempt = 1
        self._ended: Timeline = ()
        self._step: TimelineStep | None = None
        #: whether its end is being recorded, so that it is not published
        self._is_ending = False
        self._resources = StepResources()

    def resume(self, timeline: Timeline) -> None:
        """Continue the timeline of earlier attempts; a step that has not
        ended was interrupted.
        """
        if timeline:
            self._attempt = timeline[-1].attempt + 1
            *ended, last = timeline
            if last.outcome is None:
                last = self._end(last, StepOutcome.INTERRUPTED)
            self._ended = (*ended, last)

    def enter_step(self, name: str) -> None:
        """Record that a step begins."""
        with self._lock:
            self._step = TimelineStep(
                step=name, attempt=self._attempt, start_time=self._now()
            )
            self._resources, self._is_ending = StepResources(), False
            self._number += 1
        self._next_log = Deadline.within(LOG_INTERVAL_S, self._clock)

    def report(self, message: str) -> None:
        """Record how far the step is, in a line."""
        with self._lock:
            step = self._step
            if step is None:
                return
            self._step = msgspec.structs.replace(step, message=message)
            self._number += 1
        if self._next_log.passed:
            LOG.info(
                "Step in progress: operation=%s step=%s progress=%s",
                self._op_occ_id,
                step.step,
                message,
            )
            self._next_log = Deadline.within(LOG_INTERVAL_S, self._clock)

    def expect(self, kind: str, count: int, scope: str = "") -> None:
        """Record how many resources of a kind the step changes at least."""
        with self._lock:
            self._resources.expect(kind, count, scope)
            self._number += 1

    def report_resource(self, resource: ResourceProgress) -> None:
        """Record what the step does to a resource at the moment."""
        with self._lock:
            self._resources.report(resource, self._now())
            self._number += 1

    def ended(self, outcome: StepOutcome) -> Timeline:
        """Return the timeline as it is when the step has ended, and publish no
        more of the step: its end is being recorded.
        """
        with self._lock:
            self._is_ending = True
            if self._step is None:
                return self._ended
            step = self._end(self._current(self._step), outcome)
            return _bounded((*self._ended, step))

    def end_step(self, timeline: Timeline) -> None:
        """Record that the step has ended.

        :param timeline: which was recorded
        """
        with self._lock:
            self._ended, self._step = timeline, None

    @property
    def line(self) -> str | None:
        """The step that runs, and its last line of progress."""
        return _line(self._step) if self._step else None

    @property
    def is_published(self) -> bool:
        """Whether nothing of the step that runs is to be published."""
        return (
            self._step is None
            or self._is_ending
            or self._published == self._number
        )

    def unpublished(self) -> Snapshot | None:
        """Return the progress of the step that runs; None: it is published."""
        with self._lock:
            if self._step is None or self.is_published:
                return None
            step = self._current(self._step)
            timeline = (*self._ended, step)[-MAX_STEPS:]
            return Snapshot(self._number, _line(step), timeline)

    def mark_published(self, snapshot: Snapshot) -> None:
        """Record that this progress was published."""
        with self._lock:
            self._published = max(self._published, snapshot.number)

    def _current(self, step: TimelineStep) -> TimelineStep:
        """Return a step with its resources."""
        total = self._resources.total
        return msgspec.structs.replace(
            step,
            done=self._resources.done if total else None,
            total=total or None,
            resources=self._resources.shown(),
        )

    def _end(self, step: TimelineStep, outcome: StepOutcome) -> TimelineStep:
        now = self._now()
        is_complete = outcome == StepOutcome.COMPLETED
        status = (
            ResourceStatus.DONE if is_complete else ResourceStatus.UNFINISHED
        )
        return msgspec.structs.replace(
            step,
            end_time=now,
            outcome=outcome,
            done=step.total if is_complete else step.done,
            resources=tuple(
                resource
                if resource.end_time
                else msgspec.structs.replace(
                    resource, status=status, end_time=now
                )
                for resource in step.resources
            ),
        )

    def _now(self) -> datetime.datetime:
        """Return the time in milliseconds."""
        now = self._clock.utcnow()
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _line(step: TimelineStep) -> str:
    line = f"{step.step}: {step.message}" if step.message else step.step
    return line[:MAX_LINE_CHARS]


def _bounded(timeline: Timeline) -> Timeline:
    """Return the latest steps, with the latest resources."""
    steps: list[TimelineStep] = []
    left = MAX_RESOURCES
    for step in reversed(timeline[-MAX_STEPS:]):
        kept = step_resources.select(step.resources, left)
        left -= len(kept)
        steps.insert(0, msgspec.structs.replace(step, resources=kept))
    return tuple(steps)
