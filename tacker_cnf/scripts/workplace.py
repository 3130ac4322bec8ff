"""Where a script works: copies of all that it may touch."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tacker_cnf import errors
from tacker_cnf.halting import Halt
from tacker_cnf.scratch import Scratch

#: bytes that are copied by one call
CHUNK: Final = 64 * 1024**2
READ_ONLY: Final = 0o444


@contextlib.contextmanager
def prepared(
    scratch: Scratch, packages: Sequence[Path], halt: Halt
) -> Iterator[tuple[Path, Sequence[Path]]]:
    """Give a home directory, and each package in a tree of its own: whatever
    the script does to them, ours stay.

    :raises ScriptFailed: a package cannot be copied
    """
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch.folder())
            home = folder / "home"
            home.mkdir()
            trees = [folder / f"package{n}" for n in range(len(packages))]
            for package, tree in zip(packages, trees, strict=True):
                _copy_tree(package, tree, halt)
        except OSError as error:  # shutil.Error, which is one, lists them all
            why = error.strerror or str(error)
            raise errors.ScriptFailed(
                f"The package could not be copied for its script: {why:.500}."
            ) from None
        yield home, trees


def _copy_tree(source: Path, target: Path, halt: Halt) -> None:
    def copy(one: str, other: str) -> None:
        halt.check_wait()
        _copy(one, other)

    shutil.copytree(source, target, copy_function=copy)


def _copy(source: str, target: str) -> None:
    """Copy a file; the kernel shares its blocks where the file system can."""
    with open(source, "rb") as one, open(target, "wb") as other:  # noqa: PTH123
        try:
            while os.copy_file_range(one.fileno(), other.fileno(), CHUNK):
                pass
        except OSError:  # not on this file system
            shutil.copyfileobj(one, other)
        os.fchmod(other.fileno(), READ_ONLY)
