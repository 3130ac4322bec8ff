"""The workspace of a script: its packages, and its working directory."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.scripts import isolation
from tacker_cnf.scripts.isolation import Sandbox
from tacker_cnf.scripts.package_code import PackageCode
from tacker_cnf.temporary_directories import TemporaryDirectories

#: bytes to copy in one call
COPY_CHUNK_BYTES: Final = 64 * 1024**2
READ_ONLY_MODE: Final = 0o444
#: directories of the packages in a sandbox
SANDBOX_DIRS: Final = ("/package", "/new-package")


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """Where a script runs."""

    #: directories of the packages, as the script sees them
    package_dirs: Sequence[Path]
    #: working directory, as the script sees it
    home: Path
    #: the part of the command line that isolates the rest; empty: none
    wrapper: Sequence[str] = ()


@contextlib.contextmanager
def sandboxed(sandbox: Sandbox) -> Iterator[Workspace]:
    """Prepare a sandbox; create its state directory, and delete it if it is
    empty at the end.

    :raises ScriptFailed: bubblewrap is not available, or the state directory
        cannot be created
    """
    isolation.check_available()
    state = sandbox.state
    try:
        if state:
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield Workspace(
            package_dirs=[Path(path) for path in sandbox.packages],
            home=Path(isolation.HOME),
            wrapper=isolation.command(sandbox),
        )
    finally:
        if state:
            with contextlib.suppress(OSError):  # it has files
                state.rmdir()


@contextlib.contextmanager
def copied(
    temporary_directories: TemporaryDirectories,
    packages: Sequence[PackageCode],
    cancel_token: CancelToken,
) -> Iterator[Workspace]:
    """Create a home directory and a copy of each package.

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
                _copy_tree(package.tree, package_dir, cancel_token)
        except OSError as error:  # shutil.Error, a subclass, has no strerror
            reason = error.strerror or str(error)
            raise errors.ScriptFailed(
                f"The package could not be copied for its script: {reason:.500}."
            ) from None
        yield Workspace(package_dirs=package_dirs, home=home)


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
