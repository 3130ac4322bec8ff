"""Run a script of a package, on copies of the unpacked packages."""

import contextlib
import dataclasses
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.lcm import secret_masking
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.scripts import compat, failure_reason, protocol, workdir
from tacker_cnf.scripts.process import ScriptLimits, ScriptProcess
from tacker_cnf.scripts.protocol import (
    ScriptInput,
    ScriptOutput,
    ScriptProtocol,
)

LOG = log.getLogger(__name__)

Output = TypeVar("Output")

#: number -> name; most real-time signals have no name
_SIGNAL_NAMES: Final = {member.value: member.name for member in signal.Signals}
#: seconds between two updates of a running script's log
LOG_UPDATE_INTERVAL_S: Final = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptCallbacks:
    """Receivers of a script's log (its stderr) and memory."""

    #: receives the log so far while the script runs
    show: Callable[[str], None] = lambda _: None
    #: receives the complete log when the script has ended or failed
    save: Callable[[str], None] = lambda _: None
    #: receives a changed memory when the script has ended or failed
    remember: Callable[[dict[str, Any] | None], None] = lambda _: None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptRun(Generic[Output]):
    """One run of a script: its command, input, and parser of the output."""

    #: path of the script in the package
    name: str
    #: name of the hook, or of another purpose
    operation: str
    #: SCRIPT, --pickled SCRIPT, or -m MODULE, of scripts.child
    command: Sequence[str]
    input: bytes
    #: parses stdout
    read: Callable[[bytes], Output]
    #: masks the secrets of the input
    masker: SecretMasker
    #: returns the part of the output that the error of a failed run contains
    failure_data: Callable[[Output], dict[str, Any] | None] = lambda _: None
    #: stores the part of the output that is kept even if the script failed;
    #: may raise ScriptFailed
    save: Callable[[Output], None] = lambda _: None


def run(
    packages: Sequence[Path],
    name: str,
    script_input: ScriptInput,
    limits: ScriptLimits,
    cancel_token: CancelToken,
    callbacks: ScriptCallbacks,
) -> ScriptOutput:
    """Run a management script of a package and return its output.

    :param packages: the unpacked package, and the new one if there is one
    :param name: the script's path in the package
    :param cancel_token: ends the script on a forceful cancel
    :raises ScriptFailed: the script failed or took too long, or its output is
        not valid
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
    build_run: Callable[[Sequence[Path]], ScriptRun[Output]],
    limits: ScriptLimits,
    cancel_token: CancelToken,
    callbacks: ScriptCallbacks,
) -> Output:
    """Run a script on copies of packages and return its output.

    :param build_run: builds the run for the directories of the copies
    :raises ScriptFailed: the script failed or took too long, or its output is
        not valid
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
        problem = problem or script.masker(str(error))
    if problem or output is None:
        raise errors.ScriptFailed(
            f"Script {script.name} ({script.operation}): "
            + failure_reason.describe(str(problem), stderr),
            None if output is None else script.failure_data(output),
        )
    return output


@contextlib.contextmanager
def _child(
    script: ScriptRun[Output],
    home: Path,
    limits: ScriptLimits,
    cancel_token: CancelToken,
) -> Iterator[ScriptProcess]:
    """Start a script unless the operation was cancelled.

    :raises VnfmError: the operation was cancelled, or its lease has expired
    """
    cancel_token.check()
    with contextlib.ExitStack() as stack:
        lease = (
            stack.enter_context(cancel_token.lease.shared())
            if cancel_token.lease
            else None
        )
        child = ScriptProcess(
            script.command,
            home,
            limits,
            script.masker,
            lease,
            cancel_token.clock,
        )
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
    is_pickled = script_protocol is ScriptProtocol.PICKLE
    options = ("--pickled",) if is_pickled else ()
    return ScriptRun(
        name=name,
        operation=script_input.operation,
        command=("-m", module) if module else (*options, str(path)),
        input=protocol.ENCODERS[script_protocol](script_input),
        read=protocol.DECODERS[script_protocol],
        masker=SecretMasker(
            secret_masking.secrets_of(msgspec.to_builtins(script_input))
        ),
        failure_data=lambda output: output.user_script_err_handling_data,
        save=save,
    )


def _without_paths(text: str, package_dirs: Sequence[Path]) -> str:
    """Remove the temporary directories of packages from a log."""
    for package_dir in package_dirs:
        text = text.replace(f"{package_dir}/", "")
    return text


class _Log:
    """The log of a script, reported periodically and at its end."""

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
        self._next_update = Deadline.within(LOG_UPDATE_INTERVAL_S)

    def update(self) -> None:
        """Report a changed log, at most once in LOG_UPDATE_INTERVAL_S."""
        if not self._next_update.passed:
            return
        stderr = self._read_log()
        if stderr != self._shown:
            self._callbacks.show(self._with_header(stderr))
            self._shown = stderr
        self._next_update = Deadline.within(LOG_UPDATE_INTERVAL_S)

    def save(self) -> str:
        """Report the complete log, and return the stderr of the script."""
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
