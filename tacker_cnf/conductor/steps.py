"""The steps of an operation: each returns an updated Run."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.conductor.vim_resolver import ResolvedVims
from tacker_cnf.drivers.base import InfraDriver, InfraTask
from tacker_cnf.lcm import (
    grant_overrides,
    grant_plan,
    instantiated_info,
    redaction,
    scale_level_matching,
    script_output,
)
from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.operations.base import Modifications, Operation
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.script_output import InstanceChanges, ProvidedVim
from tacker_cnf.lcm.target import Target, flavour_of
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.scripts import compat, runner
from tacker_cnf.scripts.process import ScriptLimits
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput
from tacker_cnf.scripts.runner import ScriptCallbacks
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc
from tacker_cnf.vnfd.model import Flavour

LOG = log.getLogger(__name__)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A running operation, and all that its steps need."""

    op_occ: VnfLcmOpOcc
    request: SolType
    #: as it was when the operation started
    instance: VnfInstance
    package: UnpackedPackage
    #: the package of the new VNFD, if the operation changes it
    next_package: UnpackedPackage | None = None
    #: as requested or granted; and with endpoints and credentials
    vim_connections: Mapping[str, VimConnectionInfo]
    resolved_connections: Mapping[str, VimConnectionInfo]
    driver: InfraDriver
    #: resolves the VIM connections of a grant
    resolve_granted: Callable[[Mapping[str, VimConnectionInfo]], ResolvedVims]
    nfvo: Nfvo
    #: sent to the NFVO: whether it may ignore placement constraints that it
    #: cannot meet
    best_effort: bool
    deadline: Deadline
    script_limits: ScriptLimits
    #: None: not instantiated
    current: Target | None
    #: None: to be terminated
    target: Target | None
    #: of an earlier attempt, written by the driver
    checkpoint: tuple[str, ...]
    save_checkpoint: Callable[[tuple[str, ...]], None]
    #: the memory of the scripts of the instance; they define its keys
    load_script_memory: Callable[[], dict[str, Any] | None]
    remember: Callable[[dict[str, Any] | None], None]
    #: checked before and within each step
    cancel_token: CancelToken
    wait_idle: Callable[[float], None]
    enter_step: Callable[[str], None]
    report_progress: Callable[[str], None]
    #: the step that a lost conductor was running
    resumes_at: str | None = None
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    result: InfraResult | None = None
    #: changes of the instance by its scripts
    script_changes: InstanceChanges = InstanceChanges()
    #: the VIMs that the VNF provides from the end of this step on; None: no
    #: longer
    vims: Mapping[str, ProvidedVim | None] = {}
    check_vim_type: Callable[[str], None]
    #: write the output of a script while it runs, and after its end
    show_log: Callable[[str], None] = lambda _: None
    save_log: Callable[[str], None] = lambda _: None


class Step(msgspec.Struct, frozen=True):
    """One step: its name, its function, and whether a run needs it."""

    name: str
    do: Callable[[Run], Run]
    needed: Callable[[Run], bool] = lambda _: True


def request_grant(run: Run) -> Run:
    """Request a grant from the NFVO.

    :raises GrantRejected: the NFVO rejected the request or part of it; the
        operation is rolled back
    :raises PeerFailed: the NFVO is unreachable, or its response is not valid
    :raises BadRequest: the grant is not valid for the VNF
    """
    basis = run.target or run.current
    assert basis is not None
    request = grant_plan.build(
        run.op_occ,
        run.request,
        run.instance,
        run.current,
        run.target,
        flavour_of(run.package.vnfd, basis.flavour_id),
        new_flavour=_next_flavour(run, basis.flavour_id),
        best_effort=run.best_effort,
    )
    grant = run.nfvo.grant(request, run.cancel_token, run.deadline)
    grant_plan.check_granted(request, grant)
    return _apply_grant(
        msgspec.structs.replace(run, grant_request=request, grant=grant)
    )


def _next_flavour(run: Run, flavour_id: str) -> Flavour | None:
    """Return the flavour of the next package if the VIM changes to it."""
    if run.next_package is None or not _changes_vim(run):
        return None
    return flavour_of(run.next_package.vnfd, flavour_id)


def _apply_grant(run: Run) -> Run:
    """Apply the VIM connections and resources of the grant.

    :raises BadRequest: neither request nor grant has a VIM connection, or the
        grant is not valid for the VNF
    """
    if run.vim_connections and not grant_overrides.has_overrides(run.grant):
        return run
    resolved = run.resolve_granted(
        grant_overrides.vim_connections(
            _operation(run), run.request, run.vim_connections, run.grant
        )
    )
    run = msgspec.structs.replace(
        run,
        vim_connections=resolved.vim_connections,
        resolved_connections=resolved.resolved_connections,
        driver=resolved.driver,
        target=grant_overrides.target(_operation(run), run.target, run.grant),
    )
    run.driver.validate(infra_task(run))
    return run


def change_infra(run: Run) -> Run:
    """Call the driver to make the VIM match the target.

    :raises InfraError: the VIM is unreachable, or rejects a request
    """
    task = infra_task(run)
    if run.target is None:
        result = run.driver.destroy(task)
    elif task.is_heal:
        result = run.driver.replace(task)
    else:
        result = run.driver.apply(task)
    return msgspec.structs.replace(run, result=result)


def restore_infra(run: Run) -> Run:
    """Call the driver to restore the VIM to the state before the operation.

    :raises InfraError: the VIM is unreachable, or rejects a request
    """
    # the VIM has the next package by now: swap current and target
    task = infra_task(
        msgspec.structs.replace(
            run,
            current=run.target,
            target=run.current,
            package=run.next_package or run.package,
            next_package=run.package if run.next_package else None,
        )
    )
    restore = run.driver.destroy if task.target is None else run.driver.apply
    return msgspec.structs.replace(run, result=restore(task))


def infra_task(run: Run) -> InfraTask:
    """Build the task of a driver."""
    operation = _operation(run)
    target_package = run.next_package if operation.changes_vim else None
    return InfraTask(
        instance=run.instance,
        package=target_package or run.package,
        current_package=run.package if target_package else None,
        vim_connections=run.resolved_connections,
        current=run.current,
        target=run.target,
        parameters=grant_overrides.parameters(run.request, run.grant),
        grant_request=run.grant_request,
        grant=run.grant,
        deadline=run.deadline,
        is_heal=operation.is_heal,
        vnfcs=operation.vnfcs(run.request, run.instance),
        grace=operation.grace(run.request),
        checkpoint=run.checkpoint,
        save_checkpoint=run.save_checkpoint,
        operation=run.op_occ.operation,
        operation_id=run.op_occ.id,
        request=run.request,
        is_rollback=_is_rollback(run),
        cancel_token=run.cancel_token,
        wait_idle=run.wait_idle,
        report_progress=run.report_progress,
        save_log=run.save_log,
    )


def resulting_instance(run: Run) -> VnfInstance:
    """Build the instance after the changes of the VIM and the scripts."""
    return script_output.apply_to_instance(
        _instance_after_infra(run), run.script_changes
    )


def _instance_after_infra(run: Run) -> VnfInstance:
    rollback = _is_rollback(run)
    vnfd = run.package.vnfd
    if run.next_package and not rollback:
        vnfd = run.next_package.vnfd
    instance = run.instance
    if not rollback:
        instance = _operation(run).finish(
            run.request, instance, vnfd, run.vim_connections
        )
    if not _changes_vim(run):
        return _with_resources_of_scripts(run, instance)
    reached_target = run.current if rollback else run.target
    if reached_target is None:
        return instantiated_info.set_not_instantiated(instance)
    # an operation that does not scale may find another number of VNFCs
    scales = run.current is None or run.current.counts != reached_target.counts
    describe = (
        instantiated_info.build_running_info
        if scales
        else scale_level_matching.build_observed_info
    )
    info = describe(
        run.instance.instantiated_vnf_info,
        reached_target,
        flavour_of(vnfd, reached_target.flavour_id),
        run.result or InfraResult(),
        run.instance.metadata,
    )
    return instantiated_info.set_instantiated(
        instance, info, run.vim_connections
    )


def _with_resources_of_scripts(run: Run, instance: VnfInstance) -> VnfInstance:
    """Apply the changes of a script on the VIM to the instance."""
    info = instance.instantiated_vnf_info
    if info is None or run.result is None:
        return instance
    return msgspec.structs.replace(
        instance,
        instantiated_vnf_info=instantiated_info.update_resources(
            info, run.result, instance.metadata
        ),
    )


def modifications(run: Run, after: VnfInstance | None) -> Modifications:
    """Return what an operation has modified.

    :param after: None: not completed
    """
    if after is None or _is_rollback(run):
        return Modifications()
    return _operation(run).modifications(run.instance, after)


def _script(run: Run, phase: str) -> str | None:
    """Return the script that the VNFD has for a phase: start or end."""
    basis = run.target or run.current
    if basis is None:
        return None
    scripts = flavour_of(run.package.vnfd, basis.flavour_id).scripts
    name = _operation(run).hook
    forward = scripts.get(f"{name}_{phase}")
    if not _is_rollback(run):
        return forward
    # a compat module undoes its work without a rollback hook in the VNFD
    has_compat = forward and _compat_module(run, forward)
    return scripts.get(_hook(run, phase)) or (forward if has_compat else None)


def _compat_module(run: Run, script: str) -> str | None:
    if not run.script_limits.replace_reference_drivers:
        return None
    return compat.replacement_module(run.package.path / script)


def _is_rollback(run: Run) -> bool:
    return run.op_occ.operation_state == S.ROLLING_BACK


def _hook(run: Run, phase: str) -> str:
    name = _operation(run).hook
    return (
        f"{name}_rollback_{phase}" if _is_rollback(run) else f"{name}_{phase}"
    )


def run_script(run: Run, *, phase: str) -> Run:
    """Run the management script of a phase, and apply its output.

    :raises ScriptFailed: the script failed, or its output is not valid; not
        in a forceful termination
    """
    name = _script(run, phase)
    if name is None:
        return run
    try:
        return _apply_output(
            run, phase, name, _execute_script(run, phase, name)
        )
    except errors.ScriptFailed as error:
        if not tolerates_failure(run, error):
            raise
        return run


def tolerates_failure(run: Run, error: errors.ScriptFailed) -> bool:
    """Return whether an operation continues after a failed script; log it."""
    if not _is_forceful(run):
        return False
    LOG.warning(
        "Script failed, FORCEFUL termination continues: operation=%s error=%s",
        run.op_occ.id,
        error,
    )
    run.save_log(f"{error}\nThe termination is FORCEFUL and continues.\n")
    return True


def _execute_script(run: Run, phase: str, name: str) -> ScriptOutput:
    """Run a script, and return its output.

    :raises ScriptFailed: the script failed
    """
    packages = [run.package.path]
    if run.next_package:
        packages.append(run.next_package.path)
    # a script of a forceful termination leaves time for the other steps
    left = run.deadline.remaining / (2 if _is_forceful(run) else 1)
    timeout = min(run.script_limits.timeout, left)
    script_input = _script_input(run, phase, timeout)
    sees_credentials = (
        _compat_module(run, name) or run.script_limits.vim_credentials
    )
    return runner.run(
        packages,
        name,
        script_input
        if sees_credentials
        else _without_credentials(script_input),
        dataclasses.replace(run.script_limits, timeout=timeout),
        run.cancel_token,
        ScriptCallbacks(
            show=run.show_log, save=run.save_log, remember=run.remember
        ),
    )


def _is_forceful(run: Run) -> bool:
    return _operation(run).is_forceful(run.request)


def _script_input(run: Run, phase: str, timeout: float) -> ScriptInput:
    error = run.op_occ.error
    instance = resulting_instance(run) if phase == "end" else run.instance
    if instance.vim_connection_info:
        instance = msgspec.structs.replace(
            instance, vim_connection_info=dict(run.resolved_connections)
        )
    return ScriptInput(
        operation=_hook(run, phase),
        vnf_lcm_op_occ_id=run.op_occ.id,
        request=run.op_occ.operation_params or {},
        vnf_instance=instance,
        grant_request=run.grant_request,
        grant_response=run.grant,
        package_dir="",
        state_dir=str(run.script_limits.state / run.instance.id),
        vnfd_id=run.package.vnfd.id,
        new_vnfd_id=run.next_package.vnfd.id if run.next_package else None,
        timeout=timeout,
        user_script_err_handling_data=(
            error.user_script_err_handling_data if error else None
        ),
        memory=run.load_script_memory(),
    )


def _without_credentials(script_input: ScriptInput) -> ScriptInput:
    """Remove the credentials of VIMs."""
    name, request, grant = (
        "vimConnectionInfo",
        script_input.request,
        script_input.grant_response,
    )
    if name in request:
        request = {**request, name: redaction.without_secrets(request[name])}
    return msgspec.structs.replace(
        script_input,
        request=request,
        vnf_instance=redaction.without_vim_secrets(script_input.vnf_instance),
        grant_response=grant and redaction.without_vim_secrets(grant),
    )


def _apply_output(
    run: Run, phase: str, name: str, output: ScriptOutput
) -> Run:
    """Apply the output of a script.

    :raises ScriptFailed: the output is not valid
    """
    try:
        _check_vims(run, output.vims)
        run = msgspec.structs.replace(run, vims=output.vims)
        return (
            _apply_changes(run, output.vnf_instance)
            if output.vnf_instance
            else run
        )
    except (errors.ScriptFailed, errors.InvalidVimConnection) as error:
        reason = str(error).removesuffix(".")
        raise errors.ScriptFailed(
            f"Script {name} ({_hook(run, phase)}): {reason}."
        ) from None


def _check_vims(run: Run, vims: Mapping[str, ProvidedVim | None]) -> None:
    """Check the VIMs of a script output against those the VNF runs on.

    :raises ScriptFailed: the VNF runs on a VIM of that name
    :raises InvalidVimConnection: there is no driver for a type of VIM
    """
    for name, vim in vims.items():
        if name in run.vim_connections:
            raise errors.ScriptFailed(
                f"its output has a VIM {name}, but this key of "
                "vimConnectionInfo is a VIM that the VNF runs on"
            )
        if vim:
            run.check_vim_type(vim.type)


def _apply_changes(run: Run, changes: InstanceChanges) -> Run:
    """Apply the changes of the instance by a script.

    :raises ScriptFailed: a change is not valid
    """
    basis = run.target or run.current
    assert basis is not None
    vnfd = (run.next_package or run.package).vnfd
    vdus = flavour_of(vnfd, basis.flavour_id).vdus
    return msgspec.structs.replace(
        run,
        script_changes=script_output.merge(
            run.script_changes, script_output.attributes(changes)
        ),
        result=script_output.apply_to_result(
            run.instance, run.result, changes, vdus
        ),
    )


def _has_script(phase: str) -> Callable[[Run], bool]:
    return lambda run: _script(run, phase) is not None


def _operation(run: Run) -> Operation[Any]:
    return OPERATIONS[run.op_occ.operation]


def _changes_vim(run: Run) -> bool:
    return _operation(run).changes_vim


def skips_vim_update(run: Run) -> bool:
    """Return whether an instantiated VNF gets another package without a
    change on its VIM.
    """
    return run.current is not None and run.next_package is not None


GRANT: Final = Step("GRANT", request_grant)
PREAMBLE: Final = Step(
    "PREAMBLE",
    functools.partial(run_script, phase="start"),
    _has_script("start"),
)
INFRA: Final = Step("INFRA", change_infra, _changes_vim)
RESTORE: Final = Step("RESTORE", restore_infra, _changes_vim)
POSTAMBLE: Final = Step(
    "POSTAMBLE",
    functools.partial(run_script, phase="end"),
    _has_script("end"),
)

#: the state in which a conductor claims an operation -> its steps
PLANS: Final[Mapping[S, Sequence[Step]]] = {
    S.STARTING: (GRANT, PREAMBLE, INFRA, POSTAMBLE),
    S.PROCESSING: (PREAMBLE, INFRA, POSTAMBLE),
    S.ROLLING_BACK: (PREAMBLE, RESTORE, POSTAMBLE),
}


def plan(run: Run) -> Sequence[Step]:
    """Return the steps that this run needs, or its remaining ones."""
    steps = [s for s in PLANS[run.op_occ.operation_state] if s.needed(run)]
    names = [step.name for step in steps]
    if run.resumes_at in names:
        return steps[names.index(run.resumes_at) :]
    return steps
