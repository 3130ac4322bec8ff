"""Kill the descendants of a process, found in /proc."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: seconds between two scans
POLL_INTERVAL_S: Final = 0.01
#: maximum number of scans, each of which kills the processes that it finds
MAX_SCANS: Final = 1000
#: scans in a row that have to find no process: a list that is read while
#: processes end may lack some of them (proc(5))
EMPTY_SCANS: Final = 3


def kill_descendants(pid: int) -> None:
    """Kill all descendants of a process that does not do so itself.

    The process has to run meanwhile: as their subreaper it adopts orphans.
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
    # the name of a process may contain anything, also ")"
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}
