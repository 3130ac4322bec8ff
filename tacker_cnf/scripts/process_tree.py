"""Who descends from a process, as the kernel tells."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: seconds between two looks
POLL_INTERVAL_S: Final = 0.01
#: looks in all, each of which kills whom it sees
MAX_SCANS: Final = 1000
#: looks at which nobody is seen: a list that is read while processes end may
#: lack some of them (proc(5))
EMPTY_SCANS: Final = 3


def kill_descendants(pid: int) -> None:
    """End all that descend from a process which does not do so itself.

    It lives meanwhile, so that they cannot get away by losing a parent.
    """
    empty_scans = 0
    for _ in range(MAX_SCANS):
        alive = [child for child in _descendants(pid) if not _is_dead(child)]
        empty_scans = 0 if alive else empty_scans + 1
        if empty_scans == EMPTY_SCANS:
            return
        for child in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(POLL_INTERVAL_S)


def _descendants(pid: int) -> Iterator[int]:
    pending = [pid]
    while pending:
        for child in _children(pending.pop()):
            pending.append(child)
            yield child


def _children(pid: int) -> Iterator[int]:
    for children_file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has just ended
            yield from map(int, children_file.read_text().split())


def _is_dead(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    # a name may hold anything
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}
