"""The process of a script: bounded in time, memory and words."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.lcm.veil import Veil

LOG = log.getLogger(__name__)

#: how much of what a script said on stderr goes into an error, or of one
#: line into our log
TAIL: Final = 2000
#: bytes after which a line of stderr counts as a line
LONGEST: Final = 64 * 1024
#: seconds for the pipes of a process that has ended to be read out
DRAIN: Final = 5.0
#: what of our own environment a script sees
ENVIRONMENT: Final = frozenset({"PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a script may use; sizes are in bytes."""

    #: seconds
    timeout: float
    max_memory: int
    max_file: int
    max_output: int
    max_log: int
    #: whether it is told how to log in to the VIMs of its VNF
    vim_credentials: bool = True


def bounds_of(conf: cfg.ConfigOpts) -> Bounds:
    options = conf.scripts
    return Bounds(
        timeout=options.timeout,
        max_memory=options.max_memory_bytes,
        max_file=options.max_file_bytes,
        max_output=options.max_output_bytes,
        max_log=options.max_log_bytes,
        vim_credentials=options.vim_credentials,
    )


class Child:
    """The process of a script, in a process group of its own."""

    def __init__(
        self, script: Sequence[str], home: Path, bounds: Bounds, veil: Veil
    ) -> None:
        """Start it.

        :param script: what ``scripts.child`` is to become
        """
        self._bounds = bounds
        self._process = subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-B",
                "-m",
                "tacker_cnf.scripts.child",
                str(bounds.max_memory),
                str(bounds.max_file),
                *script,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home,
            env=_environment(home),
            start_new_session=True,
        )
        self._said = bytearray()
        self._too_long = False
        self._words = _Words(bounds.max_log, veil)

    def talk(self, told: bytes) -> int | None:
        """Tell the script, listen, and give its exit code; None: it did not
        end in time. Nothing of its process group is left.
        """
        process = self._process
        threads = [
            self._thread(self._tell, process.stdin, told),
            self._thread(self._listen, process.stdout),
            self._thread(self._words.hear, process.stderr),
        ]
        try:
            code = process.wait(self._bounds.timeout)
        except subprocess.TimeoutExpired:
            code = None
            self.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(DRAIN)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join(DRAIN)
        return code

    def kill(self) -> None:
        """Have it end at once, with all that it has started."""
        if self._process.poll() is None:
            self._process.terminate()

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
        """Give the end of what the script wrote on stderr."""
        return self._words.text()

    def _thread(
        self, work: Callable[..., None], pipe: IO[bytes] | None, *more: Any
    ) -> threading.Thread:
        thread = threading.Thread(target=work, args=(pipe, *more), daemon=True)
        thread.start()
        return thread

    def _tell(self, pipe: IO[bytes], told: bytes) -> None:
        with contextlib.suppress(BrokenPipeError), pipe:
            pipe.write(told)

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), 65536):
                room = self._bounds.max_output - len(self._said)
                self._too_long = self._too_long or len(chunk) > room
                self._said += chunk[:room]


class _Words:
    """What a script says on stderr: the end of it, without secrets."""

    def __init__(self, most: int, veil: Veil) -> None:
        self._most = most
        self._veil = veil
        #: some bytes more, for a secret that is cut in two is not found
        self._kept = most + veil.longest
        self._heard = bytearray()
        self._logged = 0

    def hear(self, pipe: IO[bytes]) -> None:
        """Listen to the end, and log the first lines."""
        goes_on = False
        with pipe:
            while line := pipe.readline(LONGEST):
                self._heard += line
                del self._heard[: -self._kept]
                if not goes_on and self._logged < self._most:
                    self._log(line)
                goes_on = not line.endswith(b"\n")

    def _log(self, line: bytes) -> None:
        text = self._veil(line.decode(errors="replace").rstrip())[:TAIL]
        shown = "".join(c if c.isprintable() else "?" for c in text)
        LOG.info("script: %s", shown)
        self._logged += len(shown)
        if self._logged >= self._most:
            LOG.info("script: it says more, which is not logged")

    def text(self) -> str:
        heard = bytes(self._heard).decode(errors="replace")
        return self._veil(heard)[-self._most :].strip()


def _environment(home: Path) -> dict[str, str]:
    """Make an environment that holds nothing of ours that is a secret."""
    seen = {name: os.environ[name] for name in ENVIRONMENT & os.environ.keys()}
    return {**seen, "HOME": str(home), "TMPDIR": str(home)}
