"""Run a script of a package, isolated from the service."""

import contextlib
import dataclasses
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf import errors, metrics, tracing
from tacker_cnf.lcm import secret_masking
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.scripts import compat, failure_reason, protocol, workdir
from tacker_cnf.scripts.isolation import Isolation, Sandbox
from tacker_cnf.scripts.limits import ScriptLimits
from tacker_cnf.scripts.package_code import PackageCode
from tacker_cnf.scripts.process import ScriptProcess
from tacker_cnf.scripts.protocol import (
    ScriptInput,
    ScriptOutput,
    ScriptProtocol,
)
from tacker_cnf.scripts.state_size import StateSize
from tacker_cnf.scripts.workdir import Workspace

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
    packages: Sequence[PackageCode],
    name: str,
    script_input: ScriptInput,
    limits: ScriptLimits,
    cancel_token: CancelToken,
    callbacks: ScriptCallbacks,
    names: ShownNames,
) -> ScriptOutput:
    """Run a management script of a package and return its output.

    :param packages: the unpacked package, and the new one if there is one
    :param name: the script's path in the package
    :param cancel_token: ends the script on a forceful cancel
    :param names: those whose values the log may show
    :raises ScriptFailed: the script failed or took too long, or its output is
        not valid
    """
    script = packages[0].tree / name
    module = (
        compat.replacement_module(script)
        if limits.replace_reference_drivers
        else None
    )
    return execute(
        packages,
        lambda workspace: _management_run(
            name, script, module, workspace, script_input, callbacks, names
        ),
        limits,
        cancel_token,
        callbacks,
        is_own_code=module is not None,
        state=Path(script_input.state_dir),
    )


def execute(
    packages: Sequence[PackageCode],
    build_run: Callable[[Workspace], ScriptRun[Output]],
    limits: ScriptLimits,
    cancel_token: CancelToken,
    callbacks: ScriptCallbacks,
    *,
    requested_file: str | None = None,
    is_own_code: bool = False,
    state: Path | None = None,
) -> Output:
    """Run a script of the first one of packages and return its output.

    :param build_run: builds the run for the directories that the script sees
    :param requested_file: the file that runs, if a request named it
    :param is_own_code: whether a module of the product runs, which may use the
        network
    :param state: directory that the script may write to
    :raises ScriptFailed: the script failed or took too long, or its output is
        not valid, or it cannot be isolated, or may not run, or a package has
        changed since it was onboarded
    """
    objection = limits.find_objection(packages[0], requested_file)
    if objection and not is_own_code:
        raise errors.ScriptFailed(objection)
    for package in packages:
        package.check_unchanged()
    network = is_own_code or limits.allows_network(packages[0].content_id)
    with _workspace(
        packages, limits, cancel_token, state, network=network
    ) as workspace:
        script = build_run(workspace)
        header = f"{script.operation}, {script.name}"
        with _child(script, workspace, limits, cancel_token) as child:
            log = _Log(
                header,
                lambda: _without_paths(child.log(), workspace.package_dirs),
                callbacks,
            )
            size = StateSize(state, limits.max_state_bytes)

            def on_poll() -> None:
                log.update()
                size.check()

            try:
                with cancel_token.on_cancel(child.terminate):
                    code = _execute(child, script, on_poll)
            finally:
                stderr = log.save()
            size.check(force=True)
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


def _execute(
    child: ScriptProcess, script: ScriptRun[Any], on_poll: Callable[[], None]
) -> int | None:
    """Run a started script; log its begin and its end."""
    fields = f"script={script.name} hook={script.operation}"
    LOG.info("Script started: %s", fields)
    started, code = time.monotonic(), None
    try:
        with tracing.span(f"script {script.name}") as span:
            code = child.execute(script.input, on_poll)
            span.describe(process__exit__code=code)
    finally:
        seconds = time.monotonic() - started
        outcome = "failed" if code else "succeeded"
        if code is None:
            outcome = "interrupted"
        metrics.SCRIPT_SECONDS.observe(seconds, outcome)
        LOG.info(
            "Script ended: %s exit_code=%s seconds=%.3f", fields, code, seconds
        )
    return code


def _workspace(
    packages: Sequence[PackageCode],
    limits: ScriptLimits,
    cancel_token: CancelToken,
    state: Path | None,
    *,
    network: bool,
) -> contextlib.AbstractContextManager[Workspace]:
    """Prepare the workspace of a script.

    :raises ScriptFailed: a package cannot be copied, or the script cannot be
        isolated
    """
    if limits.isolation is Isolation.NONE:
        return workdir.copied(
            limits.temporary_directories, packages, cancel_token
        )
    return workdir.sandboxed(
        Sandbox(
            packages=dict(
                zip(
                    workdir.SANDBOX_DIRS,
                    (package.tree for package in packages),
                    strict=False,
                )
            ),
            state=state,
            readable=limits.readable_paths,
            writable=limits.writable_paths,
            hidden=limits.hidden_paths,
            network=network,
            max_disk_bytes=limits.max_disk_bytes,
        )
    )


@contextlib.contextmanager
def _child(
    script: ScriptRun[Output],
    workspace: Workspace,
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
            workspace,
            limits,
            script.masker,
            lease,
            cancel_token.clock,
        )
        yield stack.enter_context(child)


def _management_run(
    name: str,
    script: Path,
    module: str | None,
    workspace: Workspace,
    script_input: ScriptInput,
    callbacks: ScriptCallbacks,
    names: ShownNames,
) -> ScriptRun[ScriptOutput]:
    """Build the run of a management script.

    :param script: the script in the unpacked package
    :param module: module of the product that replaces it
    """

    def save(output: ScriptOutput) -> None:
        if protocol.memory_changed(script_input, output):
            callbacks.remember(output.memory or None)

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
    package_dirs = workspace.package_dirs
    script_input = msgspec.structs.replace(
        script_input,
        package_dir=str(package_dirs[0]),
        new_package_dir=str(package_dirs[1]) if package_dirs[1:] else None,
    )
    script_protocol = (
        ScriptProtocol.DRIVER if module else protocol.detect_protocol(script)
    )
    is_pickled = script_protocol is ScriptProtocol.PICKLE
    options = ("--pickled",) if is_pickled else ()
    path = package_dirs[0] / name
    return ScriptRun(
        name=name,
        operation=script_input.operation,
        command=("-m", module) if module else (*options, str(path)),
        input=protocol.ENCODERS[script_protocol](script_input),
        read=protocol.DECODERS[script_protocol],
        masker=SecretMasker(
            secret_masking.secrets_of(
                msgspec.to_builtins(script_input), names=names
            )
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
