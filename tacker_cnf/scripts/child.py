"""Supervise a script in a child process: set its resource limits, end with the
parent process and with the lease, and kill all processes that it started.

Run as ``python -m tacker_cnf.scripts.child PARENT MAX_OUTPUT LIMITS SCRIPT`` by the
process with id PARENT, or as process 1 of a sandbox, where PARENT is 0. MAX_OUTPUT
is in bytes; LIMITS are those of setrlimit(2), such as ``AS=2000000,CPU=900``.
``-m MODULE`` instead of SCRIPT runs a module of the product; ``--pickled SCRIPT``
converts the pickle that the script writes to JSON.
"""

import array
import contextlib
import ctypes
import fcntl
import os
import resource
import runpy
import select
import signal
import sys
import termios
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from tacker_cnf.runtime.lease import Lease
from tacker_cnf.scripts import compat_modules
from tacker_cnf.scripts.pickled_output import PickledStdout
from tacker_cnf.vnfd import script_source

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
#: added to the number of the signal that has ended the script
SIGNALLED = 128
#: suffixes of the names of hooks
HOOK_SUFFIXES = ("_start", "_end")
#: seconds to wait for the script's input on stdin
STDIN_TIMEOUT_S = 5.0
#: seconds between two attempts to reap killed processes
REAP_INTERVAL_S = 0.001
#: seconds between two checks of the lease, which may have been renewed, or
#: have expired while the machine was suspended
LEASE_CHECK_S = 1.0
#: signals that end a wait: a process has ended, a pipe has data
WAKING_SIGNALS = {signal.SIGCHLD, signal.SIGIO}
LIBC = ctypes.CDLL(None, use_errno=True)


def parse_limits(text: str) -> dict[int, int]:
    """Parse the limits of the command line: number of the resource -> value."""
    pairs = (limit.split("=") for limit in text.split(",") if limit)
    return {
        getattr(resource, f"RLIMIT_{name}"): int(value)
        for name, value in pairs
    }


def set_limits(limits: Mapping[int, int]) -> None:
    """Limit the resources of this process and its future child processes."""
    for number, maximum in limits.items():
        # at the hard limit of CPU time the signal would be SIGKILL
        hard = maximum + (number == resource.RLIMIT_CPU)
        resource.setrlimit(number, (maximum, hard))


def kill_descendants() -> None:
    """Kill all children of this process, and the orphans that it adopts
    (PR_SET_CHILD_SUBREAPER).

    A list that is read while processes end may lack some of them (proc(5)):
    all have ended only when waitpid finds no child.
    """
    own_pid = os.getpid()
    children_file = Path(f"/proc/{own_pid}/task/{own_pid}/children")
    while children_file.exists():  # not every kernel has it
        for pid in map(int, children_file.read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            time.sleep(REAP_INTERVAL_S)


def fork(limits: Mapping[int, int]) -> int:
    """Fork a process with limits that ends with this one; return its id, and
    0 in that process.
    """
    supervisor = os.getpid()
    if pid := os.fork():
        return pid
    LIBC.prctl(PR_SET_DUMPABLE, 1)
    set_parent_death_signal(supervisor, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WAKING_SIGNALS)
    set_limits(limits)
    return 0


def supervise(
    script_pid: int, pickled: PickledStdout | None, limits: Mapping[int, int]
) -> NoReturn:
    """Wait for the script, kill its processes, convert its output if that is
    pickled, and exit with the script's status.

    This process adopts those that leave the script's process group.
    """
    for pipe in (sys.stdin, sys.stdout, sys.stderr):
        if not (pickled and pipe is sys.stdout):
            os.close(pipe.fileno())
    status = wait(script_pid, pickled)
    kill_descendants()
    if pickled:
        pickled.read()
        if not (converter_pid := fork(limits)):
            pickled.convert()
        wait(converter_pid)
    code = os.waitstatus_to_exitcode(status)
    # process 1 of a sandbox cannot end itself by a signal
    os._exit(code if code >= 0 else SIGNALLED - code)


def wait(pid: int, pickled: PickledStdout | None = None) -> int:
    """Wait for a child process while the lease lasts; return its status."""
    lease = Lease.inherited()
    while (status := reap(pid)) is None:
        remaining = lease.remaining if lease else LEASE_CHECK_S
        if not remaining:
            kill_and_exit()
        signal.sigtimedwait(WAKING_SIGNALS, min(remaining, LEASE_CHECK_S))
        if pickled:
            pickled.read()
    return status


def reap(awaited_pid: int) -> int | None:
    """Reap all ended processes; return the wait status of one of them, or
    None if it still runs.
    """
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == awaited_pid:
            return status
        if not pid:
            return None


def set_parent_death_signal(
    parent: int, signal_number: signal.Signals
) -> None:
    """Let the kernel send a signal when the parent ends; exit if it has."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:
        os._exit(SIGNALLED + signal_number)


def kill_and_exit(*_: object) -> NoReturn:
    """Kill all descendants and exit."""
    kill_descendants()
    os._exit(SIGNALLED + signal.SIGTERM)


def check_hooks_called(script: Path, names: Mapping[str, Any]) -> None:
    """Exit with an error if a script defines hooks, but has not read its input
    and neither it nor its modules call anything.
    """
    uncalled = [
        name for name, value in names.items() if has_hooks(name, value)
    ]
    if not uncalled or not is_stdin_unread():
        return
    if all(script_source.is_inert(file) for file in script_files(script)):
        raise SystemExit(
            f"{', '.join(uncalled)}: defined or imported, but never called; the "
            "script has to end with a call, for example of main()"
        )


def script_files(script: Path) -> Iterator[Path]:
    """List a script and the imported modules in its directory."""
    yield script
    for module in list(sys.modules.values()):
        file = Path(str(getattr(module, "__file__", None)))
        if script.parent in file.parents:
            yield file


def has_hooks(name: str, value: Any) -> bool:
    """Return whether a value is a function of a hook, or a class with such a
    method; the base classes of mgmt_drivers have none.
    """
    if isinstance(value, type):
        return any(inner.endswith(HOOK_SUFFIXES) for inner in dir(value))
    return callable(value) and name.endswith(HOOK_SUFFIXES)


def is_stdin_unread() -> bool:
    """Return whether the script has not read stdin; its input is never
    empty.
    """
    try:
        readable, _, _ = select.select([0], [], [], STDIN_TIMEOUT_S)
        unread = array.array("i", [0])
        fcntl.ioctl(0, termios.FIONREAD, unread)
    except (OSError, ValueError):  # the script has closed it
        return False
    return bool(readable and unread[0])


def run_script(script: str) -> None:
    """Run a script as the main program."""
    sys.argv[:] = [script]
    sys.path[0] = str(Path(script).parent)
    compat_modules.install(compat_modules.SCRIPT_MODULES)
    try:
        names = runpy.run_path(script, run_name="__main__")
        check_hooks_called(Path(script), names)
    except Exception as error:  # noqa: BLE001
        # omit the frames above the script
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename != script:
            frames = frames.tb_next
        traceback.print_exception(error.with_traceback(frames))
        raise SystemExit(1) from None


def main() -> None:
    """Fork; run the script in the child and supervise it in the parent."""
    parent, max_output_bytes, limits_text, *script = sys.argv[1:]
    limits = parse_limits(limits_text)
    signal.pthread_sigmask(signal.SIG_BLOCK, WAKING_SIGNALS)
    pickled = None
    if script[0] == "--pickled":
        pickled = PickledStdout(int(max_output_bytes))
        script.pop(0)
    signal.signal(signal.SIGTERM, kill_and_exit)
    set_parent_death_signal(int(parent), signal.SIGTERM)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    LIBC.prctl(PR_SET_DUMPABLE, 0)  # the script cannot trace this process
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if pid := fork(limits):
        supervise(pid, pickled, limits)
    if pickled:
        pickled.replace_stdout()
    if script[0] == "-m":
        sys.path[:] = sys.path[1:]  # without the working directory
        runpy.run_module(script[1], run_name="__main__")
    else:
        run_script(script[0])


if __name__ == "__main__":
    main()
