"""The working directory of a script, with copies of the packages."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.temporary_directories import TemporaryDirectories

#: bytes to copy in one call
COPY_CHUNK_BYTES: Final = 64 * 1024**2
READ_ONLY_MODE: Final = 0o444


@contextlib.contextmanager
def prepare(
    temporary_directories: TemporaryDirectories,
    packages: Sequence[Path],
    cancel_token: CancelToken,
) -> Iterator[tuple[Path, Sequence[Path]]]:
    """Create a home directory and a copy of each package; yield their paths.

    :raises ScriptFailed: a package cannot be copied
    """
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_directories.create())
            home = folder / "home"
            home.mkdir()
            package_dirs = [
                folder / f"package{n}" for n in range(len(packages))
            ]
            for package, package_dir in zip(
                packages, package_dirs, strict=True
            ):
                _copy_tree(package, package_dir, cancel_token)
        except OSError as error:  # shutil.Error, a subclass, has no strerror
            reason = error.strerror or str(error)
            raise errors.ScriptFailed(
                f"The package could not be copied for its script: {reason:.500}."
            ) from None
        yield home, package_dirs


def _copy_tree(source: Path, target: Path, cancel_token: CancelToken) -> None:
    def copy(src: str, dst: str) -> None:
        cancel_token.raise_if_cancelled()
        _copy(src, dst)

    shutil.copytree(source, target, copy_function=copy)


def _copy(source: str, target: str) -> None:
    """Copy a file; share its blocks if the file system supports reflinks."""
    with open(source, "rb") as src, open(target, "wb") as dst:  # noqa: PTH123
        try:
            while os.copy_file_range(
                src.fileno(), dst.fileno(), COPY_CHUNK_BYTES
            ):
                pass
        except OSError:  # the file system does not support it
            shutil.copyfileobj(src, dst)
        os.fchmod(dst.fileno(), READ_ONLY_MODE)
