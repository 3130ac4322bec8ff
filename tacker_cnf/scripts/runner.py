"""Runs one script of a package: bounded in time, memory and words."""

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.scripts import protocol
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput

LOG = log.getLogger(__name__)

#: how much of what a script said on stderr goes into an error
TAIL: Final = 2000
#: seconds for the pipes of a process that has ended to be read out
DRAIN: Final = 5.0
#: what of our own environment a script sees
ENVIRONMENT: Final = frozenset({"PATH", "LANG", "LC_ALL", "TZ"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a script may use."""

    #: seconds
    timeout: float
    max_memory: int
    max_file: int
    max_output: int


def bounds_of(conf: cfg.ConfigOpts) -> Bounds:
    options = conf.scripts
    return Bounds(
        timeout=options.timeout,
        max_memory=options.max_memory_bytes,
        max_file=options.max_file_bytes,
        max_output=options.max_output_bytes,
    )


def run(
    package: Path, name: str, told: ScriptInput, bounds: Bounds
) -> ScriptOutput:
    """Run a script of a package and give what it said.

    :param package: the unpacked package
    :param name: its path in the package
    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    with _workplace(package) as (home, tree):
        script = tree / name
        told = msgspec.structs.replace(told, package_dir=str(tree))
        pickled = protocol.speaks_pickle(script)
        give = protocol.pickle_input if pickled else protocol.json_input
        read = protocol.pickle_output if pickled else protocol.json_output
        child = Child(script, home, bounds)
        code = child.talk(give(told))
        try:
            said = read(child.said())
            problem = _problem(code, bounds)
        except errors.ScriptFailed as error:
            said, problem = ScriptOutput(), str(error)
        if code != 0:
            problem = _problem(code, bounds)
    if problem:
        raise errors.ScriptFailed(
            f"Script {name} ({told.operation}): {problem}"
            + child.complaint().replace(f"{tree}/", ""),
            said.user_script_err_handling_data,
        )
    return said


def _problem(code: int | None, bounds: Bounds) -> str | None:
    if code is None:
        return f"it did not end within {bounds.timeout:g} s"
    if code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}" if code else None


@contextlib.contextmanager
def _workplace(package: Path) -> Iterator[tuple[Path, Path]]:
    """Give a home directory, and the package in a tree of its own: whatever
    the script does to either, ours stays.
    """
    with tempfile.TemporaryDirectory(
        prefix="tacker-cnf-script-", ignore_cleanup_errors=True
    ) as folder:
        home = Path(folder) / "home"
        home.mkdir()
        tree = Path(folder) / "package"
        shutil.copytree(package, tree, copy_function=_copy)
        yield home, tree


def _copy(source: str, target: str) -> None:
    """Copy small files; link large ones, such as images, where possible."""
    if os.path.getsize(source) > 1024 * 1024:  # noqa: PTH202
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)


class Child:
    """The process of a script, in a process group of its own."""

    def __init__(self, script: Path, home: Path, bounds: Bounds) -> None:
        self._bounds = bounds
        self._process = subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-B",
                "-m",
                "tacker_cnf.scripts.child",
                str(script),
                str(bounds.max_memory),
                str(bounds.max_file),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home,
            env=_environment(home),
            start_new_session=True,
        )
        self._said = bytearray()
        self._complaint = bytearray()
        self._too_long = False

    def talk(self, told: bytes) -> int | None:
        """Tell the script, listen, and give its exit code; None: it did not
        end in time. Nothing of its process group is left.
        """
        process = self._process
        threads = [
            self._thread(self._tell, process.stdin, told),
            self._thread(self._listen, process.stdout),
            self._thread(self._log, process.stderr),
        ]
        try:
            code = process.wait(self._bounds.timeout)
        except subprocess.TimeoutExpired:
            code = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join(DRAIN)
        return code

    def said(self) -> bytes:
        """Give what the script wrote on stdout.

        :raises ScriptFailed: it wrote more than it may
        """
        if self._too_long:
            raise errors.ScriptFailed(
                f"it wrote more than {self._bounds.max_output} bytes on stdout"
            )
        return bytes(self._said)

    def complaint(self) -> str:
        """Give the end of what the script wrote on stderr."""
        text = self._complaint.decode(errors="replace").strip()
        return f": {text}" if text else "."

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

    def _log(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(TAIL):
                LOG.info("script: %s", line.decode(errors="replace").rstrip())
                self._complaint += line
                del self._complaint[:-TAIL]


def _environment(home: Path) -> dict[str, str]:
    """Make an environment that holds nothing of ours that is a secret."""
    seen = {name: os.environ[name] for name in ENVIRONMENT & os.environ.keys()}
    return {**seen, "HOME": str(home), "TMPDIR": str(home)}
