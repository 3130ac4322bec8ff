"""What the child process does around the script: gives up what it may not
have, dies with its parent and at the end of its lease, and takes along all
that the script started.

Run as ``python -m tacker_cnf.scripts.child PARENT MAX_MEMORY MAX_FILE SCRIPT``
by the process PARENT, the bounds in bytes, 0 for none; ``-m MODULE`` in place of SCRIPT for one of ours.
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
from tacker_cnf.vnfd import script_source

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
#: how the names of hooks end
HOOK_SUFFIXES = ("_start", "_end")
#: seconds that the input of the script may take to arrive
STDIN_TIMEOUT_S = 5.0
#: seconds that the kernel needs to end a process
REAP_INTERVAL_S = 0.001
#: seconds after which a lease is looked at again: it may have been renewed,
#: and the machine suspended
LEASE_CHECK_S = 1.0
LIBC = ctypes.CDLL(None, use_errno=True)


def set_limit(resource_id: int, maximum: int) -> None:
    if maximum:
        resource.setrlimit(resource_id, (maximum, maximum))


def kill_descendants() -> None:
    """End all that this process has made or adopted, and whom it adopts
    because of that.

    A list that is read while processes end may lack some of them (proc(5)):
    only when nobody is left to be waited for, all are gone.
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


def supervise(script_pid: int) -> NoReturn:
    """Wait for the script, end what it left, and end as it did.

    Who leaves the process group of the script is adopted here.
    """
    for pipe in (sys.stdin, sys.stdout, sys.stderr):
        os.close(pipe.fileno())
    lease = Lease.inherited()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while (status := reap(script_pid)) is None:
        remaining = lease.remaining if lease else LEASE_CHECK_S
        if not remaining:
            kill_and_exit()
        signal.sigtimedwait({signal.SIGCHLD}, min(remaining, LEASE_CHECK_S))
    kill_descendants()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(OSError):  # of SIGKILL there is no other
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def reap(script_pid: int) -> int | None:
    """Reap all that has ended, and return how the script did, if it has."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == script_pid:
            return status
        if not pid:
            return None


def set_parent_death_signal(
    parent: int, signal_number: signal.Signals
) -> None:
    """End by a signal when the parent ends, or now, if it has."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:
        os._exit(128 + signal_number)


def kill_and_exit(*_: object) -> NoReturn:
    """End at once, and with all others."""
    kill_descendants()
    os._exit(128 + signal.SIGTERM)


def check_hooks_called(script: Path, names: Mapping[str, Any]) -> None:
    """Fail where a script has the methods of hooks, has not read which hook
    it is run for, and nothing of it or of its modules calls anything.
    """
    uncalled = [
        name for name, value in names.items() if has_hooks(name, value)
    ]
    if not uncalled or not is_stdin_unread():
        return
    if all(script_source.is_inert(file) for file in script_files(script)):
        raise SystemExit(
            f"{', '.join(uncalled)}: defined or imported, and never called: the "
            "script has to end with a call, such as that of main()"
        )


def script_files(script: Path) -> Iterator[Path]:
    """List a script and the imported modules in its directory."""
    yield script
    for module in list(sys.modules.values()):
        file = Path(str(getattr(module, "__file__", None)))
        if script.parent in file.parents:
            yield file


def has_hooks(name: str, value: Any) -> bool:
    """Check for a class that has a method of a hook, or such a function;
    the bases of ours have none.
    """
    if isinstance(value, type):
        return any(inner.endswith(HOOK_SUFFIXES) for inner in dir(value))
    return callable(value) and name.endswith(HOOK_SUFFIXES)


def is_stdin_unread() -> bool:
    """Check whether nothing was read from stdin, on which there is always
    something.
    """
    try:
        readable, _, _ = select.select([0], [], [], STDIN_TIMEOUT_S)
        unread = array.array("i", [0])
        fcntl.ioctl(0, termios.FIONREAD, unread)
    except (OSError, ValueError):  # the script has closed it
        return False
    return bool(readable and unread[0])


def run_script(script: str) -> None:
    """Run a script as if it had been started by itself."""
    sys.argv[:] = [script]
    sys.path[0] = str(Path(script).parent)
    try:
        names = runpy.run_path(script, run_name="__main__")
        check_hooks_called(Path(script), names)
    except Exception as error:  # noqa: BLE001
        # from the script on: how it was started concerns nobody
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename != script:
            frames = frames.tb_next
        traceback.print_exception(error.with_traceback(frames))
        raise SystemExit(1) from None


def main() -> None:
    """Become the script, below somebody who looks after it."""
    parent, max_memory_bytes, max_file_bytes, *script = sys.argv[1:]
    signal.signal(signal.SIGTERM, kill_and_exit)
    set_parent_death_signal(int(parent), signal.SIGTERM)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    supervisor = os.getpid()
    if pid := os.fork():
        supervise(pid)
    set_parent_death_signal(supervisor, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_limit(resource.RLIMIT_AS, int(max_memory_bytes))
    set_limit(resource.RLIMIT_FSIZE, int(max_file_bytes))
    if script[0] == "-m":
        sys.path[:] = sys.path[1:]  # nobody's working directory
        runpy.run_module(script[1], run_name="__main__")
    else:
        run_script(script[0])


if __name__ == "__main__":
    main()
