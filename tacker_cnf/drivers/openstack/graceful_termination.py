"""The graceful timeout before the stack is deleted, or its servers stopped."""

import datetime
import math

from tacker_cnf.drivers.base import Checkpoint, TaskContext


class TimeoutEnd(Checkpoint, frozen=True):
    """When the graceful timeout of an operation ends."""

    at: datetime.datetime


def wait_for_vnf(context: TaskContext, seconds: int) -> None:
    """Wait for the graceful timeout, in which the VNF is taken out of service.

    Its end is saved in a checkpoint first, so that a retry waits only for the
    remaining time.

    :raises VnfmError: the operation was cancelled, GRACEFUL or FORCEFUL
    """
    clock = context.cancel_token.clock
    end = context.checkpoint(TimeoutEnd)
    if end is None:
        end = TimeoutEnd(clock.utcnow() + datetime.timedelta(seconds=seconds))
        context.save_checkpoint(end)
    remaining_s = (end.at - clock.utcnow()).total_seconds()
    if remaining_s > 0:
        context.report_progress(
            f"Graceful timeout: waiting {math.ceil(remaining_s)} s, until "
            f"{end.at.isoformat(timespec='seconds')}"
        )
        wait_idle = context.wait_idle or context.cancel_token.wait_idle
        wait_idle(remaining_s)
