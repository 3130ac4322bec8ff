"""Who descends from a process, as the kernel tells."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: seconds between two looks
MOMENT: Final = 0.01
#: looks in all, each of which kills whom it sees
LOOKS: Final = 1000
#: looks at which nobody is seen: a list that is read while processes end may
#: lack some of them (proc(5))
QUIET: Final = 3


def kill_below(pid: int) -> None:
    """End all that descend from a process which does not do so itself.

    It lives meanwhile, so that they cannot get away by losing a parent.
    """
    quiet = 0
    for _ in range(LOOKS):
        living = [one for one in _below(pid) if not _is_dead(one)]
        quiet = 0 if living else quiet + 1
        if quiet == QUIET:
            return
        for one in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        time.sleep(MOMENT)


def _below(pid: int) -> Iterator[int]:
    left = [pid]
    while left:
        for child in _children(left.pop()):
            left.append(child)
            yield child


def _children(pid: int) -> Iterator[int]:
    for told in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has just ended
            yield from map(int, told.read_text().split())


def _is_dead(pid: int) -> bool:
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    # a name may hold anything
    return told.rpartition(")")[2].split()[0] in {"Z", "X"}
