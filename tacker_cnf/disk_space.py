"""The space on the disk of this service."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tacker_cnf import errors

#: errors of a system call that has no space left
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_MESSAGE: Final = (
    "The disk of this service has no space for the VNF package ([catalogue] "
    "min_free_bytes stay free). Nothing was stored; an administrator has to "
    "free some space, or VNF packages have to be deleted."
)


def check_free(path: Path, needed: int, reserve: int) -> None:
    """Check that a disk has so much space.

    :param path: a file or directory on the disk
    :param needed: bytes to write
    :param reserve: bytes that have to stay free; 0: they are not checked
    :raises InsufficientStorage: it has less
    """
    if reserve and shutil.disk_usage(path).free < needed + reserve:
        raise errors.InsufficientStorage(_MESSAGE)


@contextlib.contextmanager
def explain_full_disk() -> Iterator[None]:
    """Translate the error of a write to a full disk.

    :raises InsufficientStorage: the disk is full
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise errors.InsufficientStorage(_MESSAGE) from error
        raise
