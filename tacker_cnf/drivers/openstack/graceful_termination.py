"""The time that a VNF has to end, before its stack is deleted."""

import datetime
import math
from typing import Final

from tacker_cnf.drivers.base import InfraTask

#: how the note begins that says until when a VNF has time
END_NOTE_PREFIX: Final = "until "


def wait_for_vnf(task: InfraTask, seconds: int) -> None:
    """Wait until a VNF has had its time.

    When that ends is noted before it begins, so that another try waits only
    for the rest.

    :raises VnfmError: the work was called off, gracefully or at once
    """
    end = _recorded_end(task)
    if end is None:
        end = _now() + datetime.timedelta(seconds=seconds)
        task.save_checkpoint(
            (*task.checkpoint, f"{END_NOTE_PREFIX}{end.isoformat()}")
        )
    remaining_s = (end - _now()).total_seconds()
    if remaining_s > 0:
        task.report_progress(
            f"Waiting {math.ceil(remaining_s)} s for the VNF to end, until "
            f"{end.isoformat(timespec='seconds')}"
        )
        wait_idle = task.wait_idle or task.cancel_token.wait_idle
        wait_idle(remaining_s)


def _recorded_end(task: InfraTask) -> datetime.datetime | None:
    ends = (
        n.removeprefix(END_NOTE_PREFIX)
        for n in task.checkpoint
        if n.startswith(END_NOTE_PREFIX)
    )
    return next(map(datetime.datetime.fromisoformat, ends), None)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
