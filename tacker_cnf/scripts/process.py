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
from tacker_cnf.lcm.veil import Veil
from tacker_cnf.lease import LEASE_FD
from tacker_cnf.scratch import Scratch
from tacker_cnf.scripts import family
from tacker_cnf.scripts.pipes import Pipes
from tacker_cnf.scripts.words import Words

#: seconds between two looks whether a script has ended that says nothing
PULSE: Final = 0.5
#: seconds that it has to end in when it is told to
PATIENCE: Final = 5.0
#: seconds for the pipes of a process that has ended to be read out
DRAIN: Final = 5.0
#: what of our own environment a script sees
ENVIRONMENT: Final = frozenset({"PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a script may use, and where; sizes are in bytes."""

    #: seconds
    timeout: float
    #: where it gets copies of all that it touches
    scratch: Scratch
    #: where each VNF instance has a directory that stays
    state: Path
    max_memory: int
    max_file: int
    max_output: int
    max_log: int
    #: whether it is told how to log in to the VIMs of its VNF
    vim_credentials: bool = True
    #: whether scripts of the reference implementation are replaced
    replaces_reference: bool = True


def bounds_of(conf: cfg.ConfigOpts) -> Bounds:
    options = conf.scripts
    return Bounds(
        timeout=options.timeout,
        scratch=Scratch(Path(conf.state_path) / "scripts"),
        state=Path(conf.state_path) / "vnf",
        max_memory=options.max_memory_bytes,
        max_file=options.max_file_bytes,
        max_output=options.max_output_bytes,
        max_log=options.max_log_bytes,
        vim_credentials=options.vim_credentials,
        replaces_reference=options.replace_reference_drivers,
    )


class Child:
    """The process of a script, in a process group of its own."""

    def __init__(
        self,
        script: Sequence[str],
        home: Path,
        bounds: Bounds,
        veil: Veil,
        lease: int | None = None,
    ) -> None:
        """Start it.

        :param script: what ``scripts.child`` is to become
        :param lease: file descriptor of the lease with whose end it is killed,
            even if this process is frozen
        """
        self._bounds = bounds
        self._until = time.monotonic() + bounds.timeout
        self._is_told_to_end = self._has_ended = False
        self._process = subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-B",
                "-m",
                "tacker_cnf.scripts.child",
                str(os.getpid()),
                str(bounds.max_memory),
                str(bounds.max_file),
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
        self._said = bytearray()
        self._too_long = False
        self._words = Words(bounds.max_log, veil)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nobody, and no pipe, whether somebody talked to it or not."""
        self._end()
        for pipe in (
            self._process.stdin,
            self._process.stdout,
            self._process.stderr,
        ):
            if pipe:
                pipe.close()

    def talk(self, told: bytes, pulse: Callable[[], None]) -> int | None:
        """Tell the script, listen, and give its exit code; None: it did not
        end in time. Nothing of its process group is left, and no pipe.

        :param pulse: called again and again meanwhile; what it raises ends
            the script
        """
        with Pipes(
            self._process, told, self._listen, self._words.hear
        ) as pipes:
            try:
                code = self._ended(pipes, pulse)
                if code is None:
                    self.kill()
                    self._ended(pipes)
            finally:
                self._end()
            pipes.drain(DRAIN)
        self._words.end()
        return code

    def _ended(
        self, pipes: Pipes, pulse: Callable[[], None] = lambda: None
    ) -> int | None:
        """Serve the pipes until the process has ended, or it is time."""
        process = self._process
        while (left := self._until - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                if pipes.serve(min(left, PULSE)):
                    process.poll()
                else:  # nothing tells but the end itself
                    process.wait(min(left, PULSE))
            if process.returncode is not None:
                return process.returncode
            pulse()
        return None

    def kill(self) -> None:
        """Have it end at once, with all that it has started; who does not
        heed that is killed after a while.
        """
        process = self._process
        if process.poll() is None and not self._is_told_to_end:
            self._is_told_to_end = True
            self._until = time.monotonic() + PATIENCE
            process.terminate()
            # one that was stopped would not hear of it
            process.send_signal(signal.SIGCONT)

    def _end(self) -> None:
        """Leave nobody, whoever does not heed."""
        process = self._process
        if self._has_ended:
            return
        self._has_ended = True
        if process.poll() is None:
            family.kill_below(process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def said(self) -> bytes:
        """Give what the script wrote on stdout.

        :raises ScriptFailed: it wrote more than it may
        """
        if self._too_long:
            raise errors.ScriptFailed(
                f"it wrote more than {self._bounds.max_output} bytes on stdout"
            )
        return bytes(self._said)

    def log(self) -> str:
        """Give the end of what the script has written on stderr so far."""
        return self._words.text()

    def _listen(self, chunk: bytes) -> None:
        room = self._bounds.max_output - len(self._said)
        self._too_long = self._too_long or len(chunk) > room
        self._said += chunk[:room]


def _environment(home: Path, lease: int | None) -> dict[str, str]:
    """Make an environment that holds nothing of ours that is a secret."""
    seen = {name: os.environ[name] for name in ENVIRONMENT & os.environ.keys()}
    if lease is not None:
        seen[LEASE_FD] = str(lease)
    return {**seen, "HOME": str(home), "TMPDIR": str(home)}
