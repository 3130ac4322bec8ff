"""Runs one script of a package, on copies of all that it may touch."""

import contextlib
import dataclasses
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.lcm import secret_masking
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.scripts import compat, failure_reason, protocol, workdir
from tacker_cnf.scripts.process import ScriptLimits, ScriptProcess
from tacker_cnf.scripts.protocol import (
    ScriptInput,
    ScriptOutput,
    ScriptProtocol,
)

LOG = log.getLogger(__name__)

Said = TypeVar("Said")

#: those that have a name; of the real-time ones only two do
_SIGNAL_NAMES: Final = {member.value: member.name for member in signal.Signals}
#: seconds between two times that the log of a running script is shown
LOG_UPDATE_INTERVAL_S: Final = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptCallbacks:
    """Who is told what a script writes on stderr, and what it remembers."""

    #: all of it so far, as it grows
    show: Callable[[str], None] = lambda _: None
    #: all of it that is kept, however it ended
    save: Callable[[str], None] = lambda _: None
    #: what it says that is to be remembered, if that is something new,
    #: however it ended
    remember: Callable[[dict[str, Any] | None], None] = lambda _: None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptRun(Generic[Said]):
    """One run of a script: what is started, and how one talks to it."""

    #: its path in the package, and what it is run for
    name: str
    operation: str
    #: what scripts.child is to become
    command: Sequence[str]
    input: bytes
    #: reads what it says
    read: Callable[[bytes], Said]
    #: what it is told as a secret
    veil: SecretMasker
    #: what of an answer outlives the script's failure: what stands in its
    #: error, and what is kept at once; this raises ScriptFailed if it cannot
    failure_data: Callable[[Said], dict[str, Any] | None] = lambda _: None
    save: Callable[[Said], None] = lambda _: None


def run(
    packages: Sequence[Path],
    name: str,
    script_input: ScriptInput,
    limits: ScriptLimits,
    cancel_token: CancelToken,
    callbacks: ScriptCallbacks,
) -> ScriptOutput:
    """Run a management script of a package and give what it said.

    :param packages: the unpacked package, and the new one if there is one
    :param name: the script's path in the package
    :param cancel_token: kills it when the work is called off at once
    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    return execute(
        packages,
        lambda package_dirs: _management_run(
            name, package_dirs, script_input, callbacks, limits
        ),
        limits,
        cancel_token,
        callbacks,
    )


def execute(
    packages: Sequence[Path],
    build_run: Callable[[Sequence[Path]], ScriptRun[Said]],
    limits: ScriptLimits,
    cancel_token: CancelToken,
    callbacks: ScriptCallbacks,
) -> Said:
    """Run what is made for copies of packages, and give what it said.

    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    with workdir.prepare(
        limits.temporary_directories, packages, cancel_token
    ) as (home, package_dirs):
        script = build_run(package_dirs)
        header = f"{script.operation}, {script.name}"
        with _child(script, home, limits, cancel_token) as child:
            log = _Log(
                header,
                lambda: _without_paths(child.log(), package_dirs),
                callbacks,
            )
            try:
                with cancel_token.on_cancel(child.terminate):
                    code = child.execute(script.input, log.update)
            finally:
                stderr = log.save()
    output, problem = None, _problem(code, limits)
    try:
        output = script.read(child.output())
        script.save(output)
    except errors.ScriptFailed as error:
        problem = problem or script.veil(str(error))
    if problem or output is None:
        raise errors.ScriptFailed(
            f"Script {script.name} ({script.operation}): "
            + failure_reason.describe(str(problem), stderr),
            None if output is None else script.failure_data(output),
        )
    return output


@contextlib.contextmanager
def _child(
    script: ScriptRun[Said],
    home: Path,
    limits: ScriptLimits,
    cancel_token: CancelToken,
) -> Iterator[ScriptProcess]:
    """Start a script, if it may still change anything.

    :raises VnfmError: the work was called off, or its lease has ended
    """
    cancel_token.check()
    with contextlib.ExitStack() as stack:
        lease = (
            stack.enter_context(cancel_token.lease.shared())
            if cancel_token.lease
            else None
        )
        child = ScriptProcess(script.command, home, limits, script.veil, lease)
        yield stack.enter_context(child)


def _management_run(
    name: str,
    package_dirs: Sequence[Path],
    script_input: ScriptInput,
    callbacks: ScriptCallbacks,
    limits: ScriptLimits,
) -> ScriptRun[ScriptOutput]:
    def save(output: ScriptOutput) -> None:
        if protocol.memory_changed(script_input, output):
            callbacks.remember(output.memory or None)

    path = package_dirs[0] / name
    module = (
        compat.replacement_module(path)
        if limits.replace_reference_drivers
        else None
    )
    if module:
        LOG.info(
            "Reference script replaced: script=%s replaced_by=%s operation=%s",
            name,
            module,
            script_input.operation,
        )
        callbacks.save(
            f"{script_input.operation}, {name}: replaced by {module}\n"
        )
    script_input = msgspec.structs.replace(
        script_input,
        package_dir=str(package_dirs[0]),
        new_package_dir=str(package_dirs[1]) if package_dirs[1:] else None,
    )
    script_protocol = (
        ScriptProtocol.DRIVER if module else protocol.detect_protocol(path)
    )
    return ScriptRun(
        name=name,
        operation=script_input.operation,
        command=("-m", module) if module else (str(path),),
        input=protocol.ENCODERS[script_protocol](script_input),
        read=protocol.DECODERS[script_protocol],
        veil=SecretMasker(
            secret_masking.secrets_of(msgspec.to_builtins(script_input))
        ),
        failure_data=lambda output: output.user_script_err_handling_data,
        save=save,
    )


def _without_paths(text: str, package_dirs: Sequence[Path]) -> str:
    """Leave out where a script's files happened to be."""
    for package_dir in package_dirs:
        text = text.replace(f"{package_dir}/", "")
    return text


class _Log:
    """What a script has written, told from time to time and at its end."""

    def __init__(
        self,
        header: str,
        read_log: Callable[[], str],
        callbacks: ScriptCallbacks,
    ) -> None:
        self._header = header
        self._read_log = read_log
        self._callbacks = callbacks
        self._shown = ""
        self._next_update = time.monotonic() + LOG_UPDATE_INTERVAL_S

    def update(self) -> None:
        """Show what is new, if it is time."""
        if time.monotonic() < self._next_update:
            return
        stderr = self._read_log()
        if stderr != self._shown:
            self._callbacks.show(self._with_header(stderr))
            self._shown = stderr
        self._next_update = time.monotonic() + LOG_UPDATE_INTERVAL_S

    def save(self) -> str:
        """Keep what there is, and give it."""
        stderr = self._read_log()
        if stderr:
            self._callbacks.save(self._with_header(stderr))
        return stderr

    def _with_header(self, stderr: str) -> str:
        return f"{self._header}:\n{stderr}\n"


def _problem(code: int | None, limits: ScriptLimits) -> str | None:
    if code is None:
        return f"it did not end within {limits.timeout:g} s"
    if code < 0:
        return (
            f"it was killed by {_SIGNAL_NAMES.get(-code, f'signal {-code}')}"
        )
    return f"it ended with exit code {code}" if code else None
