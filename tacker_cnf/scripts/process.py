"""The process of a script, with limits for its time, memory and output."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from tacker_cnf import context, errors
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.runtime.lease import LEASE_FD
from tacker_cnf.scripts import process_tree
from tacker_cnf.scripts.limits import ScriptLimits
from tacker_cnf.scripts.pipes import Pipes
from tacker_cnf.scripts.stderr_capture import StderrCapture
from tacker_cnf.scripts.workdir import Workspace

#: seconds between two checks whether a script without output has ended
POLL_INTERVAL_S: Final = 0.5
#: seconds from SIGTERM to SIGKILL
TERMINATE_TIMEOUT_S: Final = 5.0
#: seconds to read the pipes of a process that has ended
DRAIN_TIMEOUT_S: Final = 5.0
#: what a shell, bubblewrap and scripts.child add to the number of the signal
#: that has ended a process
SIGNALLED: Final = 128
#: environment variables of the conductor that a script inherits
INHERITED_VARIABLES: Final = frozenset(
    {"PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ"}
)


class ScriptProcess:
    """The process of a script, in its own process group, and in a sandbox if
    its workspace has one.
    """

    def __init__(
        self,
        script: Sequence[str],
        workspace: Workspace,
        limits: ScriptLimits,
        masker: SecretMasker,
        lease: int | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Start the process.

        :param script: what ``scripts.child`` has to run: SCRIPT, --pickled
            SCRIPT, or -m MODULE
        :param lease: file descriptor of the lease; the script is killed when
            the lease expires, even if this process is stopped
        """
        self._limits = limits
        self._deadline = Deadline.within(limits.timeout, clock)
        self._is_terminating = self._has_ended = False
        self._is_sandboxed = bool(workspace.wrapper)
        self._process = subprocess.Popen(  # noqa: S603
            [
                *workspace.wrapper,
                sys.executable,
                "-B",
                "-m",
                "tacker_cnf.scripts.child",
                # process 1 of a sandbox has no parent that it can see
                "0" if self._is_sandboxed else str(os.getpid()),
                str(limits.max_output_bytes),
                ",".join(
                    f"{name}={value}"
                    for name, value in limits.resource_limits.items()
                ),
                *script,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=None if self._is_sandboxed else workspace.home,
            env=_environment(workspace.home, lease),
            pass_fds=() if lease is None else (lease,),
            start_new_session=True,
            bufsize=0,
        )
        self._stdout = bytearray()
        self._stdout_too_long = False
        self._stderr = StderrCapture(limits.max_log_bytes, masker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the process group and close the pipes."""
        self._clean_up()
        for pipe in (
            self._process.stdin,
            self._process.stdout,
            self._process.stderr,
        ):
            if pipe:
                pipe.close()

    def execute(
        self, stdin_data: bytes, on_poll: Callable[[], None]
    ) -> int | None:
        """Send stdin, read the output, and return the exit code; None if the
        script did not end in time. Afterwards its process group has ended and
        the pipes are closed.

        :param on_poll: called periodically meanwhile; an exception that it
            raises ends the script
        """
        with Pipes(
            self._process, stdin_data, self._append_stdout, self._stderr.feed
        ) as pipes:
            try:
                code = self._wait(pipes, on_poll)
                if code is None:
                    self.terminate()
                    self._wait(pipes)
            finally:
                self._clean_up()
            pipes.drain(DRAIN_TIMEOUT_S)
        self._stderr.finish()
        return code

    def _wait(
        self, pipes: Pipes, on_poll: Callable[[], None] = lambda: None
    ) -> int | None:
        """Serve the pipes until the process ends or the time is up."""
        process = self._process
        while not self._deadline.passed:
            interval = min(self._deadline.remaining, POLL_INTERVAL_S)
            with contextlib.suppress(subprocess.TimeoutExpired):
                if pipes.serve(interval):
                    process.poll()
                else:  # all pipes are closed: wait for the end itself
                    process.wait(interval)
            if process.returncode is not None:
                return _exit_code(process.returncode)
            on_poll()
        return None

    def terminate(self) -> None:
        """Send SIGTERM to the process and its descendants; SIGKILL follows
        after TERMINATE_TIMEOUT_S. The processes of a sandbox are killed at
        once.
        """
        process = self._process
        if process.poll() is None and not self._is_terminating:
            self._is_terminating = True
            self._deadline = Deadline.within(TERMINATE_TIMEOUT_S)
            if self._is_sandboxed:
                process_tree.kill_descendants(process.pid)
                return
            process.terminate()
            # a stopped process does not handle SIGTERM
            process.send_signal(signal.SIGCONT)

    def _clean_up(self) -> None:
        """Kill the process group and all descendants."""
        process = self._process
        if self._has_ended:
            return
        self._has_ended = True
        if process.poll() is None:
            process_tree.kill_descendants(process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def output(self) -> bytes:
        """Return the stdout of the script.

        :raises ScriptFailed: it is longer than max_output_bytes
        """
        if self._stdout_too_long:
            raise errors.ScriptFailed(
                f"it wrote more than {self._limits.max_output_bytes} bytes on stdout"
            )
        return bytes(self._stdout)

    def log(self) -> str:
        """Return the end of the script's stderr so far."""
        return self._stderr.text()

    def _append_stdout(self, chunk: bytes) -> None:
        room = self._limits.max_output_bytes - len(self._stdout)
        self._stdout_too_long = self._stdout_too_long or len(chunk) > room
        self._stdout += chunk[:room]


def _exit_code(status: int) -> int:
    """Convert 128 + N of a process that signal N has ended to -N."""
    number = status - SIGNALLED
    return -number if 0 < number < signal.NSIG else status


def _environment(home: Path, lease: int | None) -> dict[str, str]:
    """Build the environment, without secrets of the conductor's."""
    environment = {
        name: os.environ[name]
        for name in INHERITED_VARIABLES & os.environ.keys()
    }
    if lease is not None:
        environment[LEASE_FD] = str(lease)
    if request_id := context.current_request_id():
        environment[context.REQUEST_ID_VARIABLE] = request_id
    return {**environment, "HOME": str(home), "TMPDIR": str(home)}
