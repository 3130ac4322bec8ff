"""The progress of an operation that this conductor runs: its timeline."""

import datetime
import threading
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from oslo_log import log

from tacker_cnf.drivers.progress import MAX_LINE_CHARS, ResourceProgress
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.sol.timeline import (
    ResourceStatus,
    StepOutcome,
    TimelineResource,
    TimelineStep,
)

LOG = log.getLogger(__name__)

#: the most steps that a timeline keeps, the latest ones
MAX_STEPS: Final = 40
#: the most resources that a step keeps, and that a timeline keeps of steps
#: that have ended, the latest ones
MAX_RESOURCES: Final = 200
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
    """The timeline of an operation, and what of it is not published yet. One
    thread reports, another one publishes.

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
        self._resources: dict[tuple[str, str, str], TimelineResource] = {}
        self._done: set[tuple[str, str, str]] = set()
        #: kind -> number of resources that the step changes at least
        self._expected: dict[str, int] = {}

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
            self._resources, self._done, self._expected = {}, set(), {}
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

    def expect(self, kind: str, count: int) -> None:
        """Record how many resources of a kind the step changes at least."""
        with self._lock:
            self._expected[kind] = max(count, self._expected.get(kind, 0))
            self._number += 1

    def report_resource(self, resource: ResourceProgress) -> None:
        """Record what the step does to a resource at the moment."""
        now = self._now()
        is_done = resource.status == ResourceStatus.DONE
        with self._lock:
            known = self._resources.get(resource.key)
            self._resources[resource.key] = TimelineResource(
                kind=resource.kind,
                name=resource.name,
                status=resource.status,
                message=resource.message,
                vdu_id=resource.vdu_id,
                vnfc_id=resource.vnfc_id,
                start_time=known.start_time if known else now,
                end_time=None
                if resource.status == ResourceStatus.IN_PROGRESS
                else now,
            )
            (self._done.add if is_done else self._done.discard)(resource.key)
            self._number += 1

    def end_step(self, outcome: StepOutcome) -> Timeline:
        """Record that the step has ended; return the timeline."""
        with self._lock:
            if self._step is not None:
                step = self._end(self._current(self._step), outcome)
                self._ended = _bounded((*self._ended, step))
                self._step = None
                self._number += 1
            self._published = self._number
            return self._ended

    @property
    def line(self) -> str | None:
        """The step that runs, and its last line of progress."""
        return _line(self._step) if self._step else None

    def unpublished(self) -> Snapshot | None:
        """Return the progress of the step that runs; None: it is published."""
        with self._lock:
            if self._step is None or self._published == self._number:
                return None
            step = self._current(self._step)
            timeline = (*self._ended, step)[-MAX_STEPS:]
            return Snapshot(self._number, _line(step), timeline)

    def mark_published(self, snapshot: Snapshot) -> None:
        """Record that this progress was published."""
        with self._lock:
            self._published = max(self._published, snapshot.number)

    def _current(self, step: TimelineStep) -> TimelineStep:
        """Return a step with its resources, the latest ones."""
        resources = self._resources
        total = _total(self._expected, [key[0] for key in resources])
        return msgspec.structs.replace(
            step,
            done=len(self._done) if total else None,
            total=total or None,
            resources=tuple(resources.values())[-MAX_RESOURCES:],
        )

    def _end(self, step: TimelineStep, outcome: StepOutcome) -> TimelineStep:
        now = self._now()
        is_complete = outcome == StepOutcome.COMPLETED
        status = ResourceStatus.DONE if is_complete else ResourceStatus.FAILED
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
        kept = step.resources[-left:] if left else ()
        left -= len(kept)
        steps.insert(0, msgspec.structs.replace(step, resources=kept))
    return tuple(steps)


def _total(expected: Mapping[str, int], kinds: Sequence[str]) -> int:
    return sum(
        max(expected.get(kind, 0), kinds.count(kind))
        for kind in {*expected, *kinds}
    )
