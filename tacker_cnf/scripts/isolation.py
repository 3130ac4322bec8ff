"""Isolate the process of a script with bubblewrap (bwrap).

The process has namespaces of its own for users, processes, mounts, IPC, the
host name and, unless it may use the network, the network. It sees the
interpreter and the product read-only, the packages of its operation, and no
other file of this service.
"""

import enum
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tacker_cnf
from tacker_cnf import errors

PROGRAM: Final = "bwrap"
#: directories in memory, of the sandbox alone
TEMPORARY: Final = "/tmp"  # noqa: S108  # nosec B108
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  # nosec B108
#: working directory in the sandbox
HOME: Final = f"{TEMPORARY}/home"
#: seconds to start the sandbox once, which shows whether it is available
PROBE_TIMEOUT_S: Final = 30
#: maximum length of bubblewrap's own error in ours
MAX_PROBE_CHARS: Final = 500
#: directories of programs and libraries; symbolic links on most systems
_SYSTEM: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
#: files and directories that programs need, without secrets
_SETTINGS: Final = (
    *("/etc/alternatives", "/etc/ca-certificates", "/etc/crypto-policies"),
    *("/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf"),
    *("/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types"),
    *("/etc/nsswitch.conf", "/etc/passwd", "/etc/pki/ca-trust"),
    *("/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/protocols"),
    *("/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf"),
)
#: the same for programs that use the network
_NETWORK_SETTINGS: Final = ("/etc/gai.conf", "/etc/hosts", "/etc/resolv.conf")


class Isolation(enum.StrEnum):
    """How the process of a script is isolated."""

    BUBBLEWRAP = "bubblewrap"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """What the process of a script may see and use; sizes are in bytes."""

    #: path in the sandbox -> directory
    packages: Mapping[str, Path]
    #: directory that the process may write to, at the same path
    state: Path | None = None
    #: further paths, at the same place
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()
    #: files and directories of this service to hide in the paths above
    hidden: Sequence[Path] = ()
    network: bool = False
    #: size of /tmp, which contains the working directory
    max_disk_bytes: int


def check_available() -> None:
    """Check that scripts can be isolated on this machine.

    :raises ScriptFailed: bubblewrap is missing, or cannot create namespaces
    """
    problem = _problem()
    if problem:
        raise errors.ScriptFailed(
            f"The code of VNF packages cannot be isolated: {problem}. Install "
            "bubblewrap, and allow user namespaces to the conductor's user, or "
            "set [scripts] isolation = none to run the code of all packages "
            "with the rights of the conductor."
        )


def _problem() -> str | None:
    """Return why the sandbox is not available, or None."""
    if shutil.which(PROGRAM) is None:
        return f"there is no program {PROGRAM} in PATH"
    try:
        _probe()
    except subprocess.CalledProcessError as error:
        return f"{PROGRAM} failed: {error.stderr.strip()[-MAX_PROBE_CHARS:]}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{PROGRAM} failed: {error}"
    return None


@functools.cache  # of a success alone
def _probe() -> None:
    sandbox = Sandbox(packages={}, max_disk_bytes=1)
    subprocess.run(  # noqa: S603
        [*command(sandbox), sys.executable, "-S", "-c", ""],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PROBE_TIMEOUT_S,
    )


def command(sandbox: Sandbox) -> list[str]:
    """Build the beginning of a command line, which runs the rest of it in a
    sandbox, as its process 1.
    """
    size = str(sandbox.max_disk_bytes)
    hidden = _hidden(sandbox)
    return [
        PROGRAM,
        *("--unshare-user", "--disable-userns", "--unshare-pid"),
        *("--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if sandbox.network else ("--unshare-net",)),
        *("--cap-drop", "ALL", "--die-with-parent", "--new-session"),
        "--as-pid-1",
        *("--size", size, "--tmpfs", TEMPORARY, "--dir", HOME),
        # the superuser of the host may write to /proc/sys without capabilities
        *("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"),
        # before the paths of this service, which may be below it
        *("--size", size, "--tmpfs", SHARED_MEMORY),
        *_system(network=sandbox.network),
        *_bind("--ro-bind", [*_own_code(), *sandbox.readable]),
        *_bind("--bind", sandbox.writable),
        *_cover(hidden),
        *(
            argument
            for target, tree in sandbox.packages.items()
            for argument in ("--ro-bind", str(tree), target)
        ),
        *_bind("--bind", [str(sandbox.state)] if sandbox.state else ()),
        # not before, as the state directory may be in one of them
        *(
            argument
            for path in hidden
            if Path(path).is_dir()
            for argument in ("--remount-ro", path)
        ),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", HOME, "--"),
    ]


def _bind(option: str, paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)


def _system(*, network: bool) -> Iterator[str]:
    """Bind the directories of the operating system."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for name in (*_SETTINGS, *(_NETWORK_SETTINGS if network else ())):
        yield from ("--ro-bind-try", name, name)


@functools.cache
def _own_code() -> Sequence[str]:
    """List the directories of the interpreter and of the product that are not
    below /usr.
    """
    interpreter = Path(sys.executable).resolve().parent.parent
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix)
    found = {
        interpreter,
        *map(Path, prefixes),
        *map(Path, tacker_cnf.__path__),
    }
    roots = found | {Path("/usr")}
    return sorted(
        str(path)
        for path in found
        if path != Path("/usr") and roots.isdisjoint(path.parents)
    )


def _hidden(sandbox: Sandbox) -> Sequence[str]:
    """List the files of this service that are below a visible path."""
    visible = [
        os.path.realpath(path)
        for path in ("/usr", *_own_code(), *sandbox.readable)
    ]
    return [
        path
        for path in map(os.path.realpath, sandbox.hidden)
        if Path(path).exists()
        and any(Path(path).is_relative_to(root) for root in visible)
    ]


def _cover(paths: Sequence[str]) -> Iterator[str]:
    """Cover directories by empty ones, and files by the null device."""
    for path in paths:
        if Path(path).is_dir():
            yield from ("--tmpfs", path)
        else:
            yield from ("--ro-bind", os.devnull, path)
