"""The content store: what was uploaded, named by its SHA-256.

    <root>/incoming/<random>     an upload on its way
    <root>/<sha256>/package.csar as it was uploaded
    <root>/<sha256>/tree/        unpacked, read-only
    <root>/lock                  held while content comes or goes

A directory appears whole, by one rename, or not at all.
"""

import contextlib
import fcntl
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from tacker_cnf import errors
from tacker_cnf.scratch import Scratch

CHUNK: Final = 1024 * 1024


class ContentStore:
    """Directories of package content below one root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = Scratch(root / "incoming")

    def incoming(self) -> contextlib.AbstractContextManager[Path]:
        """Give a directory for one upload; it goes when the upload ends."""
        return self._incoming.folder()

    def unnamed(self) -> BinaryIO:
        """Give a new file that goes when it is closed."""
        return tempfile.TemporaryFile(dir=self._root)

    def sweep(self) -> None:
        """Remove what uploads left whose process was killed."""
        self._incoming.sweep()

    def ids(self) -> list[str]:
        """Tell all content that is here."""
        return [path.parent.name for path in self._root.glob("*/tree")]

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Let nobody else, in any process, keep or remove content meanwhile.

        It goes around the transaction that makes a package have its content
        or lose it: no content is removed that a package is just being given.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def keep(self, staged: Path, content_id: str) -> None:
        """Take a complete directory in under its name."""
        try:
            staged.rename(self._root / content_id)
        except OSError:
            if not self.csar(content_id).is_file():
                raise
            # the same content is here already

    def csar(self, content_id: str) -> Path:
        """Tell where the package is as it was uploaded."""
        return self._root / content_id / "package.csar"

    def tree(self, content_id: str) -> Path:
        """Tell where the package is unpacked."""
        return self._root / content_id / "tree"

    def remove(self, content_id: str) -> None:
        """Forget content that no package has any more."""
        with self.incoming() as trash, contextlib.suppress(FileNotFoundError):
            # out of sight at once, whole; then file by file
            (self._root / content_id).rename(trash / content_id)


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
    left = length

    def read() -> bytes:
        nonlocal left
        size = CHUNK if left is None else min(CHUNK, left)
        chunk = source.read(size) if size else b""
        if left is not None:
            left -= len(chunk)
        return chunk

    return read
