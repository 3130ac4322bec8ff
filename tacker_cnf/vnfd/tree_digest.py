"""The digest of all files of an unpacked package."""

import functools
import hashlib
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

#: trees whose digests a process caches
CACHE_SIZE: Final = 256
#: stands for the digest of what is neither a file nor a directory, such as a
#: symbolic link: packages contain none
_IRREGULAR: Final = b"irregular"


class FileState(NamedTuple):
    """What changes with the content of a file (stat(2)); times are in ns."""

    path: str
    mode: int
    inode: int
    size: int
    modified: int
    changed: int


def compute(tree: Path) -> str:
    """Return the SHA-256 in hex of the paths and contents below a directory.

    Files that have not changed since this process has read them are not read
    again.

    :raises OSError: a file cannot be read
    """
    return _digest(tree, tuple(_states(tree)))


def _states(tree: Path) -> list[FileState]:
    found = []
    for folder, folders, names in os.walk(tree, onerror=_raise):
        for name in (*folders, *names):
            path = Path(folder, name)
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                continue
            found.append(
                FileState(
                    path=str(path.relative_to(tree)),
                    mode=stat.S_IFMT(status.st_mode),
                    inode=status.st_ino,
                    size=status.st_size,
                    modified=status.st_mtime_ns,
                    changed=status.st_ctime_ns,
                )
            )
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


@functools.lru_cache(CACHE_SIZE)
def _digest(tree: Path, files: tuple[FileState, ...]) -> str:
    whole = hashlib.sha256()
    for file in files:
        content = _IRREGULAR
        if stat.S_ISREG(file.mode):
            with (tree / file.path).open("rb") as opened:
                content = hashlib.file_digest(opened, "sha256").digest()
        path = os.fsencode(file.path)
        whole.update(len(path).to_bytes(4, "big") + path)
        whole.update(len(content).to_bytes(1, "big") + content)
    return whole.hexdigest()
