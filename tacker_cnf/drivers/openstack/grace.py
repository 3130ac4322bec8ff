"""The time that a VNF has to end, before its stack is deleted."""

import datetime
import math
from typing import Final

from tacker_cnf.drivers.base import InfraTask

#: how the note begins that says until when a VNF has time
UNTIL: Final = "until "


def give(task: InfraTask, seconds: int) -> None:
    """Wait until a VNF has had its time.

    When that ends is noted before it begins, so that another try waits only
    for the rest.

    :raises VnfmError: the work was called off, gracefully or at once
    """
    end = _noted(task)
    if end is None:
        end = _now() + datetime.timedelta(seconds=seconds)
        task.note((*task.notes, f"{UNTIL}{end.isoformat()}"))
    left = (end - _now()).total_seconds()
    if left > 0:
        task.tell(
            f"Waiting {math.ceil(left)} s for the VNF to end, until "
            f"{end.isoformat(timespec='seconds')}"
        )
        rest = task.rest or task.halt.rest
        rest(left)


def _noted(task: InfraTask) -> datetime.datetime | None:
    told = (n.removeprefix(UNTIL) for n in task.notes if n.startswith(UNTIL))
    return next(map(datetime.datetime.fromisoformat, told), None)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
