"""The graceful termination timeout before the stack is deleted."""

import datetime
import math
from typing import Final

from tacker_cnf.drivers.base import InfraTask

#: prefix of the checkpoint entry with the end of the timeout (ISO 8601)
END_CHECKPOINT_PREFIX: Final = "until "


def wait_for_vnf(task: InfraTask, seconds: int) -> None:
    """Wait for the graceful termination timeout.

    Its end is saved in the checkpoint first, so that a retry waits only for
    the remaining time.

    :raises VnfmError: the operation was cancelled, GRACEFUL or FORCEFUL
    """
    clock = task.cancel_token.clock
    end = _recorded_end(task)
    if end is None:
        end = clock.utcnow() + datetime.timedelta(seconds=seconds)
        task.save_checkpoint(
            (*task.checkpoint, f"{END_CHECKPOINT_PREFIX}{end.isoformat()}")
        )
    remaining_s = (end - clock.utcnow()).total_seconds()
    if remaining_s > 0:
        task.report_progress(
            f"Graceful termination: waiting {math.ceil(remaining_s)} s, until "
            f"{end.isoformat(timespec='seconds')}"
        )
        wait_idle = task.wait_idle or task.cancel_token.wait_idle
        wait_idle(remaining_s)


def _recorded_end(task: InfraTask) -> datetime.datetime | None:
    ends = (
        entry.removeprefix(END_CHECKPOINT_PREFIX)
        for entry in task.checkpoint
        if entry.startswith(END_CHECKPOINT_PREFIX)
    )
    return next(map(datetime.datetime.fromisoformat, ends), None)
