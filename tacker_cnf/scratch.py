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
NEW: Final = ".new-"
#: seconds after which nobody makes it any more
YOUNG: Final = 60.0


class Scratch:
    """Directories below a root, each held by the process that works there.

    The lock of a directory ends with its process, however that ends.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """Give a directory for one piece of work."""
        self._root.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=NEW, dir=self._root))
        with _held(made):
            path = made.with_name(made.name.removeprefix(NEW))
            made.rename(path)
            try:
                yield path
            finally:
                remove(path)

    @contextlib.contextmanager
    def taken(self, path: Path) -> Iterator[None]:
        """Take a directory in from elsewhere; it goes when the work ends.

        :raises OSError: it cannot be moved, or there is none
        """
        self._root.mkdir(parents=True, exist_ok=True)
        aside = self._root / uuid.uuid4().hex
        with contextlib.ExitStack() as held:
            with contextlib.suppress(BlockingIOError):
                # who made it may hold it still
                held.enter_context(_held(path))
            path.rename(aside)
            try:
                yield
            finally:
                remove(aside)

    def sweep(self) -> None:
        """Remove what processes left that were killed."""
        for path in self._root.glob("*"):
            with contextlib.suppress(OSError):
                if path.name.startswith(NEW) and _age(path) < YOUNG:
                    continue
                with _held(path):
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
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = Path(folder, name)
            if not inner.is_symlink():
                inner.chmod(0o700)


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a directory as long as this process lives.

    :raises BlockingIOError: somebody else holds it
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
