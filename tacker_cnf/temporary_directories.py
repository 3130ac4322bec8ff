"""Directories that go when their work ends, or after its process died."""

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

#: of a directory that nobody can hold yet, for it was just made
NEW_PREFIX: Final = ".new-"
#: seconds after which nobody makes it any more
NEW_MAX_AGE_S: Final = 60.0


class TemporaryDirectories:
    """Directories below a root, each held by the process that works there.

    The lock of a directory ends with its process, however that ends.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextlib.contextmanager
    def create(self) -> Iterator[Path]:
        """Give a directory for one piece of work."""
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
        """Take a directory in from elsewhere; it goes when the work ends.

        :raises OSError: it cannot be moved, or there is none
        """
        self._root.mkdir(parents=True, exist_ok=True)
        moved = self._root / uuid.uuid4().hex
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(BlockingIOError):
                # who made it may hold it still
                stack.enter_context(_locked(path))
            path.rename(moved)
            try:
                yield
            finally:
                remove(moved)

    def sweep(self) -> None:
        """Remove what processes left that were killed."""
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
    """Remove a directory, read-only ones in it as well."""
    with contextlib.suppress(FileNotFoundError):
        try:
            _make_writable(path)
            shutil.rmtree(path)
        except (OSError, RecursionError) as error:
            if path.exists():
                LOG.warning("%s cannot be removed: %s", path, error)


def _make_writable(path: Path) -> None:
    path.chmod(0o700)
    # a directory can be looked into only once this is allowed
    for directory, names, _ in os.walk(path):
        for name in names:
            inner = Path(directory, name)
            if not inner.is_symlink():
                inner.chmod(0o700)


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a directory as long as this process lives.

    :raises BlockingIOError: somebody else holds it
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)
