"""The size of the persistent directory of a VNF instance."""

import os
from pathlib import Path
from typing import Final

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import Deadline

#: seconds between two checks
CHECK_INTERVAL_S: Final = 1.0
#: bytes of a block, in which the kernel counts (stat(2))
BLOCK_BYTES: Final = 512
#: bytes that a file uses beside its blocks, about
ENTRY_BYTES: Final = 512


class StateSize:
    """Checks the size of a directory.

    :param directory: None: there is none
    :param max_bytes: 0: no limit
    """

    def __init__(self, directory: Path | None, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._next_check = Deadline.within(CHECK_INTERVAL_S)

    def check(self, *, force: bool = False) -> None:
        """Check the size, at most once in CHECK_INTERVAL_S unless forced.

        :raises ScriptFailed: the directory is too large
        """
        if not (self._directory and self._max_bytes):
            return
        if not (force or self._next_check.passed):
            return
        size = _size(self._directory, self._max_bytes)
        if size > self._max_bytes:
            raise errors.ScriptFailed(
                "The files in the stateDir of the VNF instance, "
                f"{self._directory}, have more than {self._max_bytes} bytes "
                "([scripts] max_state_bytes); delete some of them."
            )
        self._next_check = Deadline.within(CHECK_INTERVAL_S)


def _size(directory: Path, enough: int) -> int:
    """Return the bytes that the files of a directory use; count to enough."""
    total = 0
    for folder, _, names in os.walk(directory):
        for path in (folder, *(f"{folder}/{name}" for name in names)):
            try:
                blocks = os.lstat(path).st_blocks
            except OSError:  # it was just deleted
                continue
            total += blocks * BLOCK_BYTES + ENTRY_BYTES
            if total > enough:
                return total
    return total
