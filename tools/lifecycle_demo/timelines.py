"""The timeline of an operation, in words."""

import datetime
from collections.abc import Sequence
from typing import Any, Final

#: columns of a progress bar
BAR_WIDTH: Final = 20


def line(timeline: Sequence[Any]) -> str:
    """Return what happens now, in a line."""
    if not timeline:
        return "waits for a conductor"
    step = timeline[-1]
    names = ", ".join(
        f"{one['kind']} {one['name']}"
        for one in step.get("resources", ())
        if one["status"] == "IN_PROGRESS"
    )
    return f"{step['step']} {_bar(step)} {names}"


def _bar(step: Any) -> str:
    if "total" not in step:
        return ""
    done, total = step["done"], step["total"]
    filled = "#" * (BAR_WIDTH * done // total)
    return f"[{filled:.<{BAR_WIDTH}}] {done} of {total}"


def steps(timeline: Sequence[Any], since: datetime.datetime) -> list[str]:
    """Return the steps that began since a time, with their seconds and how
    they ended.
    """
    return [_step(one) for one in timeline if _time(one, "startTime") >= since]


def _step(step: Any) -> str:
    seconds = (
        _time(step, "endTime") - _time(step, "startTime")
    ).total_seconds()
    outcome = step["outcome"]
    how = "" if outcome == "COMPLETED" else f" {outcome}"
    if step["attempt"] > 1:
        how = f" attempt {step['attempt']}{how}"
    total = f" ({step['done']} of {step['total']})" if "total" in step else ""
    return f"{step['step']}{how} {seconds:.2f} s{total}"


def _time(step: Any, name: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(step[name])
