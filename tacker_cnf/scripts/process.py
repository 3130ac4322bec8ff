"""The process of a script: bounded in time, memory and words."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.lease import LEASE_FD
from tacker_cnf.scripts import process_tree
from tacker_cnf.scripts.pipes import Pipes
from tacker_cnf.scripts.stderr_capture import StderrCapture
from tacker_cnf.temporary_directories import TemporaryDirectories

#: seconds between two looks whether a script has ended that says nothing
POLL_INTERVAL_S: Final = 0.5
#: seconds that it has to end in when it is told to
TERMINATE_TIMEOUT_S: Final = 5.0
#: seconds for the pipes of a process that has ended to be read out
DRAIN_TIMEOUT_S: Final = 5.0
#: what of our own environment a script sees
INHERITED_VARIABLES: Final = frozenset(
    {"PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ"}
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptLimits:
    """What a script may use, and where; sizes are in bytes."""

    #: seconds
    timeout: float
    #: where it gets copies of all that it touches
    temporary_directories: TemporaryDirectories
    #: where each VNF instance has a directory that stays
    state: Path
    max_memory_bytes: int
    max_file_bytes: int
    max_output_bytes: int
    max_log_bytes: int
    #: whether it is told how to log in to the VIMs of its VNF
    vim_credentials: bool = True
    #: whether scripts of the reference implementation are replaced
    replace_reference_drivers: bool = True


def limits_of(conf: cfg.ConfigOpts) -> ScriptLimits:
    options = conf.scripts
    return ScriptLimits(
        timeout=options.timeout,
        temporary_directories=TemporaryDirectories(
            Path(conf.state_path) / "scripts"
        ),
        state=Path(conf.state_path) / "vnf",
        max_memory_bytes=options.max_memory_bytes,
        max_file_bytes=options.max_file_bytes,
        max_output_bytes=options.max_output_bytes,
        max_log_bytes=options.max_log_bytes,
        vim_credentials=options.vim_credentials,
        replace_reference_drivers=options.replace_reference_drivers,
    )


class ScriptProcess:
    """The process of a script, in a process group of its own."""

    def __init__(
        self,
        script: Sequence[str],
        home: Path,
        limits: ScriptLimits,
        masker: SecretMasker,
        lease: int | None = None,
    ) -> None:
        """Start it.

        :param script: what ``scripts.child`` is to become
        :param lease: file descriptor of the lease with whose end it is killed,
            even if this process is frozen
        """
        self._limits = limits
        self._deadline = time.monotonic() + limits.timeout
        self._is_terminating = self._has_ended = False
        self._process = subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-B",
                "-m",
                "tacker_cnf.scripts.child",
                str(os.getpid()),
                str(limits.max_memory_bytes),
                str(limits.max_file_bytes),
                *script,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home,
            env=_environment(home, lease),
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
        """Leave nobody, and no pipe, whether somebody talked to it or not."""
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
        """Tell the script, listen, and give its exit code; None: it did not
        end in time. Nothing of its process group is left, and no pipe.

        :param on_poll: called again and again meanwhile; what it raises ends
            the script
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
        """Serve the pipes until the process has ended, or it is time."""
        process = self._process
        while (remaining := self._deadline - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                if pipes.serve(min(remaining, POLL_INTERVAL_S)):
                    process.poll()
                else:  # nothing tells but the end itself
                    process.wait(min(remaining, POLL_INTERVAL_S))
            if process.returncode is not None:
                return process.returncode
            on_poll()
        return None

    def terminate(self) -> None:
        """Have it end at once, with all that it has started; who does not
        heed that is killed after a while.
        """
        process = self._process
        if process.poll() is None and not self._is_terminating:
            self._is_terminating = True
            self._deadline = time.monotonic() + TERMINATE_TIMEOUT_S
            process.terminate()
            # one that was stopped would not hear of it
            process.send_signal(signal.SIGCONT)

    def _clean_up(self) -> None:
        """Leave nobody, whoever does not heed."""
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
        """Give what the script wrote on stdout.

        :raises ScriptFailed: it wrote more than it may
        """
        if self._stdout_too_long:
            raise errors.ScriptFailed(
                f"it wrote more than {self._limits.max_output_bytes} bytes on stdout"
            )
        return bytes(self._stdout)

    def log(self) -> str:
        """Give the end of what the script has written on stderr so far."""
        return self._stderr.text()

    def _append_stdout(self, chunk: bytes) -> None:
        room = self._limits.max_output_bytes - len(self._stdout)
        self._stdout_too_long = self._stdout_too_long or len(chunk) > room
        self._stdout += chunk[:room]


def _environment(home: Path, lease: int | None) -> dict[str, str]:
    """Make an environment that holds nothing of ours that is a secret."""
    environment = {
        name: os.environ[name]
        for name in INHERITED_VARIABLES & os.environ.keys()
    }
    if lease is not None:
        environment[LEASE_FD] = str(lease)
    return {**environment, "HOME": str(home), "TMPDIR": str(home)}
