"""The steps of an operation: values in, values out."""

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
    modification,
    operations,
    package_change,
    redaction,
    scale_level_matching,
    scripted,
    vnfcs,
)
from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.scripted import InstanceChanges, ProvidedVim
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
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    ChangeExtVnfConnectivityRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
    TerminateVnfRequest,
    TerminationType,
    VnfInfoModificationRequest,
    VnfInfoModifications,
)
from tacker_cnf.sol.virtual_link import ExtVirtualLinkInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import (
    ModificationsTriggeredByVnfPkgChange,
    VnfLcmOpOcc,
)
from tacker_cnf.vnfd.model import Flavour

LOG = log.getLogger(__name__)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """An operation on its way, and all that its steps need."""

    op_occ: VnfLcmOpOcc
    request: SolType
    #: as it was when the operation began
    instance: VnfInstance
    package: UnpackedPackage
    #: of the VNFD that the instance is to have, if it is another
    next_package: UnpackedPackage | None = None
    #: the VIMs as they were named, and how to reach them now
    vim_connections: Mapping[str, VimConnectionInfo]
    resolved_connections: Mapping[str, VimConnectionInfo]
    driver: InfraDriver
    #: finds both anew when the NFVO names VIMs
    resolve_granted: Callable[[Mapping[str, VimConnectionInfo]], ResolvedVims]
    nfvo: Nfvo
    #: whether a placement constraint that it cannot meet need not be met
    best_effort: bool
    deadline: Deadline
    script_limits: ScriptLimits
    #: what was there
    current: Target | None
    #: what is to be there at the end
    target: Target | None
    #: what an earlier try noted, and how to note more
    checkpoint: tuple[str, ...]
    save_checkpoint: Callable[[tuple[str, ...]], None]
    #: what its scripts remember of the instance, and how they do
    load_script_memory: Callable[[], dict[str, Any] | None]
    remember: Callable[[dict[str, Any] | None], None]
    #: asked before and within each step; told where the work stands
    cancel_token: CancelToken
    wait_idle: Callable[[float], None]
    enter_step: Callable[[str], None]
    report_progress: Callable[[str], None]
    #: the step at which a lost conductor stood
    resumes_at: str | None = None
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    result: InfraResult | None = None
    #: what its scripts changed of the instance, and where their words go,
    #: while they run and when they have ended
    script_changes: InstanceChanges = InstanceChanges()
    #: the VIMs that the VNF provides from the end of this step on, or no
    #: longer does, and how to see that there is a driver for such a VIM
    vims: Mapping[str, ProvidedVim | None] = {}
    check_vim_type: Callable[[str], None]
    show_log: Callable[[str], None] = lambda _: None
    save_log: Callable[[str], None] = lambda _: None


class Step(msgspec.Struct, frozen=True):
    """One step: its name, what it does, and whether there is any need."""

    name: str
    do: Callable[[Run], Run]
    needed: Callable[[Run], bool] = lambda _: True


def request_grant(run: Run) -> Run:
    """Ask the NFVO for leave.

    :raises GrantRejected: the NFVO said no, or not to all; the operation is
        rolled back
    :raises PeerFailed: the NFVO did not answer as it has to
    :raises BadRequest: what it says does not fit
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
    """Give the flavour of the package that the VIM is to follow."""
    if run.next_package is None or not _changes_vim(run):
        return None
    return flavour_of(run.next_package.vnfd, flavour_id)


def _apply_grant(run: Run) -> Run:
    """Let the grant say where and how the operation is carried out.

    :raises BadRequest: it names no VIM where the request named none, or what
        it says does not fit the VNF
    """
    if run.vim_connections and not grant_overrides.has_overrides(run.grant):
        return run
    resolved = run.resolve_granted(
        grant_overrides.vim_connections(
            run.request, run.vim_connections, run.grant
        )
    )
    run = msgspec.structs.replace(
        run,
        vim_connections=resolved.vim_connections,
        resolved_connections=resolved.resolved_connections,
        driver=resolved.driver,
        target=grant_overrides.target(run.target, run.request, run.grant),
    )
    run.driver.validate(infra_task(run))
    return run


def change_infra(run: Run) -> Run:
    """Let the driver make the VIM match the target.

    :raises InfraError: the VIM could not
    """
    task = infra_task(run)
    if run.target is None:
        result = run.driver.destroy(task)
    elif isinstance(run.request, HealVnfRequest):
        result = run.driver.replace(task)
    else:
        result = run.driver.apply(task)
    return msgspec.structs.replace(run, result=result)


def restore_infra(run: Run) -> Run:
    """Let the driver make the VIM match what was before the operation.

    :raises InfraError: the VIM could not
    """
    # what there is by now is of the next package, and the way leads back
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
    """Write down for a driver what this operation wants of it."""
    target_package = run.next_package if _changes_vim(run) else None
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
        is_heal=isinstance(run.request, HealVnfRequest),
        vnfcs=vnfcs.find_requested(run.request, run.instance),
        grace=_grace(run.request),
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


def grace(request: SolType) -> int:
    """Tell the seconds that a request gives the VNF to end; they are not
    part of the time that the operation has.
    """
    return _grace(request) or 0


def _grace(request: SolType) -> int | None:
    if not isinstance(request, TerminateVnfRequest):
        return None
    if request.termination_type == TerminationType.FORCEFUL:
        return 0
    return request.graceful_termination_timeout


def resulting_instance(run: Run) -> VnfInstance:
    """Tell what the instance is once the VIM was changed."""
    return scripted.apply_to_instance(
        _instance_after_infra(run), run.script_changes
    )


def _instance_after_infra(run: Run) -> VnfInstance:
    rollback = _is_rollback(run)
    if isinstance(run.request, VnfInfoModificationRequest):
        return _modified(run, None if rollback else run.request)
    reached_target = run.current if rollback else run.target
    if reached_target is None:
        return instantiated_info.set_not_instantiated(run.instance)
    vnfd = run.package.vnfd
    if run.next_package and not rollback:
        vnfd = run.next_package.vnfd
    # what was not to scale may find more or less than was known
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
    instance = run.instance
    if isinstance(run.request, ChangeCurrentVnfPkgRequest) and not rollback:
        instance = package_change.changed(instance, run.request, vnfd)
    if isinstance(run.request, InstantiateVnfRequest):
        instance = instantiated_info.apply_request(instance, run.request)
    return instantiated_info.set_instantiated(
        instance, info, run.vim_connections
    )


def _modified(
    run: Run, request: VnfInfoModificationRequest | None
) -> VnfInstance:
    """Tell what a modification, or its rollback, makes of the instance."""
    instance = run.instance
    if request:
        vnfd = run.next_package.vnfd if run.next_package else None
        instance = modification.modified(
            instance, request, run.vim_connections, vnfd
        )
    info = instance.instantiated_vnf_info
    if info is None or run.result is None:
        return instance
    # a script has changed what is on the VIM
    return msgspec.structs.replace(
        instance,
        instantiated_vnf_info=instantiated_info.update_resources(
            info, run.result, instance.metadata
        ),
    )


def changed_info(
    run: Run, after: VnfInstance | None
) -> VnfInfoModifications | None:
    """Tell what a modification that has ended changed of the instance."""
    if after is None or not isinstance(
        run.request, VnfInfoModificationRequest
    ):
        return None
    return modification.changed(run.instance, after)


def changed_connectivity(
    run: Run, after: VnfInstance | None
) -> tuple[ExtVirtualLinkInfo, ...] | None:
    """Tell the external links as a change of them that has ended left
    them.
    """
    is_change = isinstance(run.request, ChangeExtVnfConnectivityRequest)
    info = after.instantiated_vnf_info if after else None
    if info is None or not is_change or _is_rollback(run):
        return None
    return info.ext_virtual_link_info


def package_changes(
    run: Run, after: VnfInstance | None
) -> ModificationsTriggeredByVnfPkgChange | None:
    """Tell what a change of package that has ended changed of the instance."""
    if after is None or not isinstance(
        run.request, ChangeCurrentVnfPkgRequest
    ):
        return None
    return package_change.list_modifications(run.instance, after)


def _script(run: Run, phase: str) -> str | None:
    """Find the script that the VNFD names for a phase: start or end."""
    basis = run.target or run.current
    if basis is None:
        return None
    scripts = flavour_of(run.package.vnfd, basis.flavour_id).scripts
    name = operations.OPERATIONS[run.op_occ.operation].hook
    forward = scripts.get(f"{name}_{phase}")
    if not _is_rollback(run):
        return forward
    # what stands in for a script undoes what it did, asked to or not
    has_compat = forward and _compat_module(run, forward)
    return scripts.get(_hook(run, phase)) or (forward if has_compat else None)


def _compat_module(run: Run, script: str) -> str | None:
    if not run.script_limits.replace_reference_drivers:
        return None
    return compat.replacement_module(run.package.path / script)


def _is_rollback(run: Run) -> bool:
    return run.op_occ.operation_state == S.ROLLING_BACK


def _hook(run: Run, phase: str) -> str:
    name = operations.OPERATIONS[run.op_occ.operation].hook
    return (
        f"{name}_rollback_{phase}" if _is_rollback(run) else f"{name}_{phase}"
    )


def run_script(run: Run, *, phase: str) -> Run:
    """Run the management script of a phase, and take what it changes.

    :raises ScriptFailed: it did not end well; nothing of this kind keeps a
        forceful termination
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
    """Tell whether an operation goes on though a script failed, and if so,
    write that down.
    """
    if not _is_forceful(run):
        return False
    LOG.warning("%s goes on, being FORCEFUL: %s", run.op_occ.id, error)
    run.save_log(f"{error}\nThe termination is FORCEFUL and goes on.\n")
    return True


def _execute_script(run: Run, phase: str, name: str) -> ScriptOutput:
    """Run a script, and give what it says.

    :raises ScriptFailed: it did not end well
    """
    packages = [run.package.path]
    if run.next_package:
        packages.append(run.next_package.path)
    # one whose failure stops nothing leaves time for what is to be done
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
    request = run.request
    return (
        isinstance(request, TerminateVnfRequest)
        and request.termination_type == TerminationType.FORCEFUL
    )


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
    """Leave out what logs in to the VIMs."""
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
    """Take what a script says.

    :raises ScriptFailed: it says what cannot be
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
    """See that a VNF may provide such VIMs, as far as it alone is concerned.

    :raises ScriptFailed: it lives on one of that name
    :raises InvalidVimConnection: there is no driver for one
    """
    for name, vim in vims.items():
        if name in run.vim_connections:
            raise errors.ScriptFailed(
                f"its answer names VIM {name}, and by this name "
                "vimConnectionInfo has one on which the VNF lives"
            )
        if vim:
            run.check_vim_type(vim.type)


def _apply_changes(run: Run, changes: InstanceChanges) -> Run:
    """Take what a script changes of the instance.

    :raises ScriptFailed: it says what cannot be
    """
    basis = run.target or run.current
    assert basis is not None
    vnfd = (run.next_package or run.package).vnfd
    vdus = flavour_of(vnfd, basis.flavour_id).vdus
    return msgspec.structs.replace(
        run,
        script_changes=scripted.merge(
            run.script_changes, scripted.attributes(changes)
        ),
        result=scripted.apply_to_result(
            run.instance, run.result, changes, vdus
        ),
    )


def _has_script(phase: str) -> Callable[[Run], bool]:
    return lambda run: _script(run, phase) is not None


def _changes_vim(run: Run) -> bool:
    return operations.OPERATIONS[run.op_occ.operation].changes_vim


def skips_vim_update(run: Run) -> bool:
    """Tell whether a VNF that runs gets another package, and nobody makes
    the VIM match it.
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

#: the state in which a conductor finds an operation -> what it has to do
PLANS: Final[Mapping[S, Sequence[Step]]] = {
    S.STARTING: (GRANT, PREAMBLE, INFRA, POSTAMBLE),
    S.PROCESSING: (PREAMBLE, INFRA, POSTAMBLE),
    S.ROLLING_BACK: (PREAMBLE, RESTORE, POSTAMBLE),
}


def plan(run: Run) -> Sequence[Step]:
    """Tell the steps that this run needs, or that remain of it."""
    steps = [s for s in PLANS[run.op_occ.operation_state] if s.needed(run)]
    names = [step.name for step in steps]
    if run.resumes_at in names:
        return steps[names.index(run.resumes_at) :]
    return steps
