"""The content store: what was uploaded, named by its SHA-256.

    <root>/incoming/<random>     an upload on its way, or content that goes
    <root>/<sha256>/package.csar as it was uploaded
    <root>/<sha256>/tree/        unpacked, read-only
    <root>/lock                  held while content comes or goes

A directory appears whole, by one rename, or not at all; and it is on the disk
before it appears, so that a power loss takes nothing out of it.
"""

import contextlib
import fcntl
import filecmp
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.temporary_directories import TemporaryDirectories

LOG = log.getLogger(__name__)

CHUNK_BYTES: Final = 1024 * 1024
#: files that are brought to the disk at once: file systems commit those that
#: wait together, which is what makes many small ones cheap
SYNC_THREADS: Final = 8


class ContentStore:
    """Directories of package content below one root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = TemporaryDirectories(root / "incoming")

    def incoming(self) -> contextlib.AbstractContextManager[Path]:
        """Give a directory for one upload; it goes when the upload ends."""
        return self._incoming.create()

    def temporary_file(self) -> BinaryIO:
        """Give a new file that goes when it is closed."""
        return tempfile.TemporaryFile(dir=self._root)

    def sweep(self) -> None:
        """Remove what uploads left whose process was killed."""
        self._incoming.sweep()

    def ids(self) -> list[str]:
        """Tell all content that is here."""
        return [path.parent.name for path in self._root.glob("*/tree")]

    @contextlib.contextmanager
    def lock(self) -> Iterator["LockedStore"]:
        """Let nobody else, in any process, keep or remove content meanwhile.

        It goes around the transaction that makes a package have its content
        or lose it: no content is removed that a package is just being given.
        What was removed goes file by file when others are let in again.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        with (
            contextlib.ExitStack() as cleanup,
            (self._root / "lock").open("w") as file,
        ):
            fcntl.flock(file, fcntl.LOCK_EX)
            yield LockedStore(self._root, self._incoming, cleanup)

    def csar(self, content_id: str) -> Path:
        """Tell where the package is as it was uploaded."""
        return self._root / content_id / "package.csar"

    def unpacked(self, content_id: str) -> Path:
        """Tell where the package is unpacked."""
        return self._root / content_id / "tree"


class LockedStore:
    """Lets content come and go, for the one who is inside the guard."""

    def __init__(
        self,
        root: Path,
        incoming: TemporaryDirectories,
        cleanup: contextlib.ExitStack,
    ) -> None:
        self._root = root
        self._incoming = incoming
        self._cleanup = cleanup

    def store_content(self, staged: Path, content_id: str) -> None:
        """Take a complete and settled directory in under its name.

        The same content stays if it is here; what a power loss or a faulty
        disk has left of it is replaced.
        """
        target = self._root / content_id
        if target.is_dir():
            if _equal(staged, target):
                return
            LOG.warning("%s is damaged, and replaced", target)
            self._move_aside(target)
        staged.rename(target)
        _fsync(self._root)

    def remove(self, content_id: str) -> None:
        """Forget content that no package has any more.

        If it cannot be moved away it stays, until the next sweep.
        """
        target = self._root / content_id
        try:
            self._move_aside(target)
        except FileNotFoundError:
            pass
        except OSError as error:
            LOG.warning("%s cannot be removed now: %s", target, error)

    def _move_aside(self, path: Path) -> None:
        # out of sight at once, whole; file by file after the guard; nothing
        # is made for it, as there may be no room for anything
        self._cleanup.enter_context(self._incoming.adopt(path))


def sync_to_disk(staged: Path) -> None:
    """Bring all that is below a directory to the disk.

    :raises OSError: the disk is full, or faulty
    """
    paths = staged.rglob("*")
    with ThreadPoolExecutor(SYNC_THREADS) as pool:
        for _ in pool.map(_fsync, [*paths, staged]):
            pass


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _equal(first: Path, second: Path) -> bool:
    """Tell whether two directories have the same files, byte by byte."""
    try:
        names = _list(first)
        return names == _list(second) and all(
            filecmp.cmp(first / name, second / name, shallow=False)
            for name, is_file in names.items()
            if is_file
        )
    except OSError:  # it cannot even be read
        return False


def _list(root: Path) -> dict[Path, bool]:
    """Tell what is below a directory, and which of it are files."""
    return {p.relative_to(root): p.is_file() for p in root.rglob("*")}


def receive(
    source: BinaryIO, target: Path, max_bytes: int, length: int | None
) -> str:
    """Write an upload to a file and give its SHA-256 in hex.

    :param length: the bytes announced; None: until the end of the stream
    :raises PayloadTooLarge: there are more than max_bytes
    :raises BadRequest: the upload is empty, or ended early
    """
    digest = hashlib.sha256()
    size = 0
    if length is not None and length > max_bytes:
        raise errors.PayloadTooLarge(
            f"A VNF package may have {max_bytes} bytes at most."
        )
    with target.open("wb") as file:
        for chunk in iter(_chunks(source, length), b""):
            size += len(chunk)
            if size > max_bytes:
                raise errors.PayloadTooLarge(
                    f"A VNF package may have {max_bytes} bytes at most."
                )
            digest.update(chunk)
            file.write(chunk)
    if length is not None and size != length:
        raise errors.BadRequest(
            f"The upload ended after {size} of {length} bytes."
        )
    if size == 0:
        raise errors.BadRequest("The upload is empty; it is to be a CSAR.")
    return digest.hexdigest()


def _chunks(source: BinaryIO, length: int | None) -> Callable[[], Any]:
    remaining = length

    def read() -> bytes:
        nonlocal remaining
        size = (
            CHUNK_BYTES if remaining is None else min(CHUNK_BYTES, remaining)
        )
        chunk = source.read(size) if size else b""
        if remaining is not None:
            remaining -= len(chunk)
        return chunk

    return read
