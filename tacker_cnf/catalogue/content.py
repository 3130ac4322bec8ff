"""The store of package content, named by its SHA-256.

    <root>/incoming/<random>     an upload in progress, or content in deletion
    <root>/<sha256>/package.csar the package as it was uploaded
    <root>/<sha256>/tree/        the unpacked package, read-only
    <root>/lock                  locked while content is added or removed

A directory is synced to disk and then renamed to its final name, so that it is
complete even after a power loss.
"""

import contextlib
import dataclasses
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

from tacker_cnf import disk_space, errors
from tacker_cnf.temporary_directories import TemporaryDirectories

LOG = log.getLogger(__name__)

CHUNK_BYTES: Final = 1024 * 1024
#: files to sync in parallel: file systems commit concurrent requests together,
#: which makes many small files cheap
SYNC_THREADS: Final = 8


class ContentStore:
    """Directories of package content below one root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = TemporaryDirectories(root / "incoming")

    def incoming(self) -> contextlib.AbstractContextManager[Path]:
        """Create a directory for one upload; delete it at its end."""
        return self._incoming.create()

    def temporary_file(self) -> BinaryIO:
        """Create a file that is deleted when it is closed."""
        return tempfile.TemporaryFile(dir=self._root)

    def sweep(self) -> None:
        """Delete the files of uploads whose process was killed."""
        self._incoming.sweep()

    def ids(self) -> list[str]:
        """List the ids of all content."""
        return [path.parent.name for path in self._root.glob("*/tree")]

    @contextlib.contextmanager
    def lock(self) -> Iterator["LockedStore"]:
        """Lock the store against all other threads and processes.

        Hold the lock around the transaction that assigns content to a package
        or deletes the package, so that no content is removed while it is being
        assigned. Files of removed content are deleted after the lock's release.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        with (
            contextlib.ExitStack() as cleanup,
            (self._root / "lock").open("w") as file,
        ):
            fcntl.flock(file, fcntl.LOCK_EX)
            yield LockedStore(self._root, self._incoming, cleanup)

    def csar(self, content_id: str) -> Path:
        """Return the path of the package as it was uploaded."""
        return self._root / content_id / "package.csar"

    def size(self, content_id: str) -> int:
        """Return the size of content, in bytes."""
        return size_of(self._root / content_id)

    def unpacked(self, content_id: str) -> Path:
        """Return the path of the unpacked package."""
        return self._root / content_id / "tree"


class LockedStore:
    """Adds and removes content while the store is locked."""

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
        """Add a complete directory that is synced to disk.

        Existing content is kept if it is equal, and replaced if a power loss
        or a faulty disk has damaged it.
        """
        target = self._root / content_id
        if target.is_dir():
            if _equal(staged, target):
                return
            LOG.warning("Damaged content replaced: path=%s", target)
            self._move_aside(target)
        staged.rename(target)
        _fsync(self._root)

    def remove(self, content_id: str) -> None:
        """Remove content that no package uses.

        Content that cannot be moved stays until the next sweep.
        """
        target = self._root / content_id
        try:
            self._move_aside(target)
        except FileNotFoundError:
            pass
        except OSError as error:
            LOG.warning("Content not removed: path=%s error=%s", target, error)

    def _move_aside(self, path: Path) -> None:
        # one rename now, and deletion after the lock's release; this works on
        # a full disk, too
        self._cleanup.enter_context(self._incoming.adopt(path))


def size_of(folder: Path) -> int:
    """Return the size of all files in a directory, in bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files)


def sync_to_disk(staged: Path) -> None:
    """Sync a directory and all its files to disk.

    :raises OSError: the disk is full or faulty
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
    """Return whether two directories have the same files and bytes."""
    try:
        names = _list(first)
        return names == _list(second) and all(
            filecmp.cmp(first / name, second / name, shallow=False)
            for name, is_file in names.items()
            if is_file
        )
    except OSError:  # a file cannot be read
        return False


def _list(root: Path) -> dict[Path, bool]:
    """List all paths below a directory: path -> whether it is a file."""
    return {p.relative_to(root): p.is_file() for p in root.rglob("*")}


@dataclasses.dataclass(frozen=True)
class UploadLimits:
    """What limits the size of an upload."""

    max_bytes: int
    #: bytes that stay free on the disk
    min_free_bytes: int = 0
    #: checks that the project may store so many bytes
    check_quota: Callable[[int], None] = lambda _: None

    def check(self, folder: Path, size: int, written: int) -> None:
        """Check the size of an upload, as far as it is known.

        :param folder: where it is written
        :raises PayloadTooLarge: it is too large
        :raises QuotaExceeded: the project may not store so much
        :raises InsufficientStorage: the disk has no space for it
        """
        if size > self.max_bytes:
            raise errors.PayloadTooLarge(
                f"A VNF package may have {self.max_bytes} bytes at most."
            )
        self.check_quota(size)
        disk_space.check_free(folder, size - written, self.min_free_bytes)


def receive(
    source: BinaryIO, target: Path, limits: UploadLimits, length: int | None
) -> str:
    """Write an upload to a file and return its SHA-256 in hex.

    :param length: Content-Length; None: read to the end of the stream
    :raises PayloadTooLarge: the upload is too large
    :raises QuotaExceeded: the project may not store so much
    :raises InsufficientStorage: the disk has no space for it
    :raises BadRequest: the upload is empty, or ended early
    """
    digest = hashlib.sha256()
    size = 0
    limits.check(target.parent, length or 1, 0)
    with target.open("wb") as file:
        for chunk in iter(_chunks(source, length), b""):
            limits.check(target.parent, size + len(chunk), size)
            size += len(chunk)
            digest.update(chunk)
            file.write(chunk)
    if length is not None and size != length:
        raise errors.BadRequest(
            f"The upload ended after {size} of {length} bytes."
        )
    if size == 0:
        raise errors.BadRequest("The upload is empty; it has to be a CSAR.")
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
