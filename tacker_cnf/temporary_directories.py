"""Directories that are deleted with their user, even if that is killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oslo_log import log

LOG = log.getLogger(__name__)

#: prefix of a directory that was just created and is not locked yet
NEW_PREFIX: Final = ".new-"
#: seconds after which such a directory is stale
NEW_MAX_AGE_S: Final = 60.0


class TemporaryDirectories:
    """Directories below a root, each locked by the process that uses it.

    The lock ends with the process, even if that is killed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextlib.contextmanager
    def create(self) -> Iterator[Path]:
        """Create a directory; delete it at the end of the context."""
        self._root.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=NEW_PREFIX, dir=self._root))
        with _locked(new):
            path = new.with_name(new.name.removeprefix(NEW_PREFIX))
            new.rename(path)
            try:
                yield path
            finally:
                remove(path)

    @contextlib.contextmanager
    def adopt(self, path: Path) -> Iterator[None]:
        """Move a directory below the root; delete it at the end of the context.

        :raises OSError: it cannot be moved, or does not exist
        """
        self._root.mkdir(parents=True, exist_ok=True)
        moved = self._root / uuid.uuid4().hex
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(BlockingIOError):
                # its creator may still have it locked
                stack.enter_context(_locked(path))
            path.rename(moved)
            try:
                yield
            finally:
                remove(moved)

    def sweep(self) -> None:
        """Delete the directories of processes that were killed."""
        for path in self._root.glob("*"):
            with contextlib.suppress(OSError):
                if (
                    path.name.startswith(NEW_PREFIX)
                    and _age_s(path) < NEW_MAX_AGE_S
                ):
                    continue
                with _locked(path):
                    remove(path)


def remove(path: Path) -> None:
    """Delete a directory, including read-only subdirectories."""
    with contextlib.suppress(FileNotFoundError):
        try:
            _make_writable(path)
            shutil.rmtree(path)
        except (OSError, RecursionError) as error:
            if path.exists():
                LOG.warning(
                    "Directory not deleted: path=%s error=%s", path, error
                )


def _make_writable(path: Path) -> None:
    path.chmod(0o700)
    # os.walk can list a directory only after the chmod
    for directory, names, _ in os.walk(path):
        for name in names:
            inner = Path(directory, name)
            if not inner.is_symlink():
                inner.chmod(0o700)


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a directory within the context, or until this process ends.

    :raises BlockingIOError: another process has locked it
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)
