"""Operations and their steps as text."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tacker_cnf.cli.op_types import OpOcc, ProgressResource, Step

#: how a decision is described
DECISIONS: Final[Mapping[str, str]] = {
    "retry": "continue it from where it stopped",
    "rollback": "restore the state before it",
    "fail": "accept the failure",
    "cancel": "stop it",
}

#: how an operation is described whose cancellation was requested
CANCEL_PENDING: Final = "its cancellation is pending"


class Change(NamedTuple):
    """What has changed in an operation."""

    text: str
    #: when it changed; None: just now
    at: datetime.datetime | None = None


def elapsed(
    start: datetime.datetime | None, end: datetime.datetime | None
) -> str:
    """Return the time between two moments; empty if one is missing."""
    if start is None or end is None:
        return ""
    seconds = max((end - start).total_seconds(), 0.0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    return str(datetime.timedelta(seconds=int(seconds)))


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def duration(op_occ: OpOcc) -> str:
    """Return how long an operation has taken until now, or until it stopped."""
    if op_occ.is_active:
        return elapsed(op_occ.start_time, now())
    # in milliseconds, unlike stateEnteredTime
    end = op_occ.timeline[-1].end_time if op_occ.timeline else None
    return elapsed(op_occ.start_time, end or op_occ.state_entered_time)


def step_name(step: Step) -> str:
    again = f" (attempt {step.attempt})" if step.attempt > 1 else ""
    return f"{step.step}{again}"


def count(step: Step) -> str:
    """Return how much of a step is done, such as ``2/4``."""
    if step.done is None or step.total is None:
        return ""
    return f"{step.done}/{step.total}"


def step_message(step: Step) -> str:
    """Return what a step that runs or has failed says."""
    return "" if step.outcome == "COMPLETED" else step.message


def resource_name(resource: ProgressResource) -> str:
    vdu = f" (VDU {resource.vdu_id})" if resource.vdu_id else ""
    return f"{resource.kind} {resource.name}{vdu}"


def timeline(op_occ: OpOcc) -> Iterator[str]:
    """Describe all steps of an operation, with their resources."""
    for step in op_occ.timeline:
        outcome = step.outcome or "running"
        took = elapsed(step.start_time, step.end_time)
        at = f"{step.start_time:%H:%M:%S}"
        message = step_message(step)
        yield _join(at, step_name(step), outcome, count(step), took, message)
        for resource in step.resources:
            took = elapsed(resource.start_time, resource.end_time)
            yield "  " + _join(
                resource_name(resource),
                resource.status,
                took,
                resource.message,
            )


def changes(before: OpOcc | None, after: OpOcc) -> Iterator[Change]:
    """Describe what differs between two states of one operation."""
    is_new = before is None or before.operation_state != after.operation_state
    if is_new and after.is_active:
        yield Change(after.operation_state)
    was_pending = before is not None and before.is_cancel_pending
    if after.is_cancel_pending and not was_pending:
        yield Change(CANCEL_PENDING)
    progress = before.progress if before else ""
    if after.progress not in {"", progress} and not after.timeline:
        yield Change(after.progress)
    known = {(s.step, s.attempt): s for s in before.timeline} if before else {}
    for step in after.timeline:
        yield from _step_changes(known.get((step.step, step.attempt)), step)
    if is_new and not after.is_active:
        yield Change(after.operation_state)


def _step_changes(before: Step | None, after: Step) -> Iterator[Change]:
    known = {_key(r): r for r in before.resources} if before else {}
    for resource in after.resources:
        if _facts(known.get(_key(resource))) != _facts(resource):
            text = _join(
                f"{step_name(after)}:",
                resource_name(resource),
                resource.status,
                resource.message,
            )
            yield Change(text, resource.end_time)
    if before is None or _state(before) != _state(after):
        text = _join(
            f"{step_name(after)}:",
            after.outcome or "running",
            count(after),
            elapsed(after.start_time, after.end_time),
            step_message(after),
        )
        yield Change(text, after.end_time)


def _key(resource: ProgressResource) -> tuple[str, str, str]:
    return resource.kind, resource.name, resource.id


def _facts(resource: ProgressResource | None) -> tuple[str, ...]:
    return (resource.status, resource.message) if resource else ()


def _state(step: Step) -> tuple[object, ...]:
    return step.outcome, step.done, step.total, step.message


def _join(*parts: str) -> str:
    return "  ".join(part for part in parts if part)


def decisions(op_occ: OpOcc) -> Iterator[str]:
    """List the commands that decide about a failed operation."""
    width = max(map(len, op_occ.decisions), default=0)
    for task in op_occ.decisions:
        padding = " " * (width - len(task))
        command = f"tacker-cnf op {task} {op_occ.id}{padding}"
        yield f"  {command}  # {DECISIONS[task]}"
