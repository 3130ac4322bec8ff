"""The steps of an operation: values in, values out."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.conductor.sites import Site
from tacker_cnf.drivers.base import InfraDriver, InfraTask
from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.lcm import (
    grant_plan,
    granted,
    levelling,
    modification,
    operations,
    outcome,
    package_change,
    redaction,
    scripted,
    vnfcs,
)
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.scripted import InstanceChanges, ProvidedVim
from tacker_cnf.lcm.target import Target, flavour_of
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.scripts import runner, stand_ins
from tacker_cnf.scripts.process import Bounds
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput
from tacker_cnf.scripts.runner import Ears
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
    package: PackageTree
    #: of the VNFD that the instance is to have, if it is another
    next_package: PackageTree | None = None
    #: the VIMs as they were named, and how to reach them now
    vim_connections: Mapping[str, VimConnectionInfo]
    reached_by: Mapping[str, VimConnectionInfo]
    driver: InfraDriver
    #: finds both anew when the NFVO names VIMs
    settle: Callable[[Mapping[str, VimConnectionInfo]], Site]
    nfvo: Nfvo
    #: whether a placement constraint that it cannot meet need not be met
    best_effort: bool
    deadline: Deadline
    script_bounds: Bounds
    #: what was there
    current: Target | None
    #: what is to be there at the end
    target: Target | None
    #: what an earlier try noted, and how to note more
    notes: tuple[str, ...]
    note: Callable[[tuple[str, ...]], None]
    #: what its scripts remember of the instance, and how they do
    recall: Callable[[], dict[str, Any] | None]
    remember: Callable[[dict[str, Any] | None], None]
    #: asked before and within each step; told where the work stands
    halt: Halt
    rest: Callable[[float], None]
    enter: Callable[[str], None]
    tell: Callable[[str], None]
    #: the step at which a lost conductor stood
    resumes_at: str | None = None
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    result: InfraResult | None = None
    #: what its scripts changed of the instance, and where their words go,
    #: while they run and when they have ended
    said: InstanceChanges = InstanceChanges()
    #: the VIMs that the VNF provides from the end of this step on, or no
    #: longer does, and how to see that there is a driver for such a VIM
    vims: Mapping[str, ProvidedVim | None] = {}
    check_kind: Callable[[str], None]
    show_log: Callable[[str], None] = lambda _: None
    keep_log: Callable[[str], None] = lambda _: None


class Step(msgspec.Struct, frozen=True):
    """One step: its name, what it does, and whether there is any need."""

    name: str
    do: Callable[[Run], Run]
    needed: Callable[[Run], bool] = lambda _: True


def ask_grant(run: Run) -> Run:
    """Ask the NFVO for leave.

    :raises GrantRefused: the NFVO said no, or not to all; the operation is
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
        following=_following(run, basis.flavour_id),
        best_effort=run.best_effort,
    )
    grant = run.nfvo.grant(request, run.halt, run.deadline)
    grant_plan.check_granted(request, grant)
    return _as_granted(
        msgspec.structs.replace(run, grant_request=request, grant=grant)
    )


def _following(run: Run, flavour_id: str) -> Flavour | None:
    """Give the flavour of the package that the VIM is to follow."""
    if run.next_package is None or not _changes_vim(run):
        return None
    return flavour_of(run.next_package.vnfd, flavour_id)


def _as_granted(run: Run) -> Run:
    """Let the grant say where and how the operation is carried out.

    :raises BadRequest: it names no VIM where the request named none, or what
        it says does not fit the VNF
    """
    if run.vim_connections and not granted.says_anything(run.grant):
        return run
    site = run.settle(
        granted.vim_connections(run.request, run.vim_connections, run.grant)
    )
    run = msgspec.structs.replace(
        run,
        vim_connections=site.vim_connections,
        reached_by=site.reached_by,
        driver=site.driver,
        target=granted.target(run.target, run.request, run.grant),
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
    back = run.driver.destroy if task.target is None else run.driver.apply
    return msgspec.structs.replace(run, result=back(task))


def infra_task(run: Run) -> InfraTask:
    """Write down for a driver what this operation wants of it."""
    moves = run.next_package if _changes_vim(run) else None
    return InfraTask(
        instance=run.instance,
        package=moves or run.package,
        current_package=run.package if moves else None,
        vim_connections=run.reached_by,
        current=run.current,
        target=run.target,
        parameters=granted.parameters(run.request, run.grant),
        grant_request=run.grant_request,
        grant=run.grant,
        deadline=run.deadline,
        heals=isinstance(run.request, HealVnfRequest),
        vnfcs=vnfcs.named(run.request, run.instance),
        grace=_grace(run.request),
        notes=run.notes,
        note=run.note,
        operation=run.op_occ.operation,
        operation_id=run.op_occ.id,
        request=run.request,
        rolls_back=_rolls_back(run),
        halt=run.halt,
        rest=run.rest,
        tell=run.tell,
        keep_log=run.keep_log,
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


def reached(run: Run) -> VnfInstance:
    """Tell what the instance is once the VIM was changed."""
    return scripted.applied(_reached(run), run.said)


def _reached(run: Run) -> VnfInstance:
    back = _rolls_back(run)
    if isinstance(run.request, VnfInfoModificationRequest):
        return _modified(run, None if back else run.request)
    now = run.current if back else run.target
    if now is None:
        return outcome.down(run.instance)
    vnfd = run.package.vnfd
    if run.next_package and not back:
        vnfd = run.next_package.vnfd
    # what was not to scale may find more or less than was known
    scales = run.current is None or run.current.counts != now.counts
    describe = outcome.running if scales else levelling.observed
    info = describe(
        run.instance.instantiated_vnf_info,
        now,
        flavour_of(vnfd, now.flavour_id),
        run.result or InfraResult(),
        run.instance.metadata,
    )
    instance = run.instance
    if isinstance(run.request, ChangeCurrentVnfPkgRequest) and not back:
        instance = package_change.changed(instance, run.request, vnfd)
    if isinstance(run.request, InstantiateVnfRequest):
        instance = outcome.configured(instance, run.request)
    return outcome.up(instance, info, run.vim_connections)


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
        instantiated_vnf_info=outcome.refilled(
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
    asked = isinstance(run.request, ChangeExtVnfConnectivityRequest)
    info = after.instantiated_vnf_info if after else None
    if info is None or not asked or _rolls_back(run):
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
    return package_change.told(run.instance, after)


def _script(run: Run, phase: str) -> str | None:
    """Find the script that the VNFD names for a phase: start or end."""
    basis = run.target or run.current
    if basis is None:
        return None
    scripts = flavour_of(run.package.vnfd, basis.flavour_id).scripts
    name = operations.OPERATIONS[run.op_occ.operation].hook
    forth = scripts.get(f"{name}_{phase}")
    if not _rolls_back(run):
        return forth
    # what stands in for a script undoes what it did, asked to or not
    stands_in = forth and _stand_in(run, forth)
    return scripts.get(_hook(run, phase)) or (forth if stands_in else None)


def _stand_in(run: Run, script: str) -> str | None:
    if not run.script_bounds.replaces_reference:
        return None
    return stand_ins.module(run.package.path / script)


def _rolls_back(run: Run) -> bool:
    return run.op_occ.operation_state == S.ROLLING_BACK


def _hook(run: Run, phase: str) -> str:
    name = operations.OPERATIONS[run.op_occ.operation].hook
    return (
        f"{name}_rollback_{phase}" if _rolls_back(run) else f"{name}_{phase}"
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
        return _heeded(run, phase, name, _outcome(run, phase, name))
    except errors.ScriptFailed as error:
        if not passes_over(run, error):
            raise
        return run


def passes_over(run: Run, error: errors.ScriptFailed) -> bool:
    """Tell whether an operation goes on though a script failed, and if so,
    write that down.
    """
    if not _is_forceful(run):
        return False
    LOG.warning("%s goes on, being FORCEFUL: %s", run.op_occ.id, error)
    run.keep_log(f"{error}\nThe termination is FORCEFUL and goes on.\n")
    return True


def _outcome(run: Run, phase: str, name: str) -> ScriptOutput:
    """Run a script, and give what it says.

    :raises ScriptFailed: it did not end well
    """
    packages = [run.package.path]
    if run.next_package:
        packages.append(run.next_package.path)
    # one whose failure stops nothing leaves time for what is to be done
    left = run.deadline.remaining / (2 if _is_forceful(run) else 1)
    timeout = min(run.script_bounds.timeout, left)
    told = _told(run, phase, timeout)
    sees_all = _stand_in(run, name) or run.script_bounds.vim_credentials
    return runner.run(
        packages,
        name,
        told if sees_all else _unconnected(told),
        dataclasses.replace(run.script_bounds, timeout=timeout),
        run.halt,
        Ears(show=run.show_log, keep=run.keep_log, remember=run.remember),
    )


def _is_forceful(run: Run) -> bool:
    request = run.request
    return (
        isinstance(request, TerminateVnfRequest)
        and request.termination_type == TerminationType.FORCEFUL
    )


def _told(run: Run, phase: str, timeout: float) -> ScriptInput:
    error = run.op_occ.error
    instance = reached(run) if phase == "end" else run.instance
    if instance.vim_connection_info:
        instance = msgspec.structs.replace(
            instance, vim_connection_info=dict(run.reached_by)
        )
    return ScriptInput(
        operation=_hook(run, phase),
        vnf_lcm_op_occ_id=run.op_occ.id,
        request=run.op_occ.operation_params or {},
        vnf_instance=instance,
        grant_request=run.grant_request,
        grant_response=run.grant,
        package_dir="",
        state_dir=str(run.script_bounds.state / run.instance.id),
        vnfd_id=run.package.vnfd.id,
        new_vnfd_id=run.next_package.vnfd.id if run.next_package else None,
        timeout=timeout,
        user_script_err_handling_data=(
            error.user_script_err_handling_data if error else None
        ),
        memory=run.recall(),
    )


def _unconnected(told: ScriptInput) -> ScriptInput:
    """Leave out what logs in to the VIMs."""
    name, request, grant = (
        "vimConnectionInfo",
        told.request,
        told.grant_response,
    )
    if name in request:
        request = {**request, name: redaction.without_secrets(request[name])}
    return msgspec.structs.replace(
        told,
        request=request,
        vnf_instance=redaction.unconnected(told.vnf_instance),
        grant_response=grant and redaction.unconnected(grant),
    )


def _heeded(run: Run, phase: str, name: str, said: ScriptOutput) -> Run:
    """Take what a script says.

    :raises ScriptFailed: it says what cannot be
    """
    try:
        _check_vims(run, said.vims)
        run = msgspec.structs.replace(run, vims=said.vims)
        return _changed(run, said.vnf_instance) if said.vnf_instance else run
    except (errors.ScriptFailed, errors.InvalidVimConnection) as error:
        why = str(error).removesuffix(".")
        raise errors.ScriptFailed(
            f"Script {name} ({_hook(run, phase)}): {why}."
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
            run.check_kind(vim.type)


def _changed(run: Run, changes: InstanceChanges) -> Run:
    """Take what a script changes of the instance.

    :raises ScriptFailed: it says what cannot be
    """
    basis = run.target or run.current
    assert basis is not None
    vnfd = (run.next_package or run.package).vnfd
    vdus = flavour_of(vnfd, basis.flavour_id).vdus
    return msgspec.structs.replace(
        run,
        said=scripted.merged(run.said, scripted.attributes(changes)),
        result=scripted.found(run.instance, run.result, changes, vdus),
    )


def _has_script(phase: str) -> Callable[[Run], bool]:
    return lambda run: _script(run, phase) is not None


def _changes_vim(run: Run) -> bool:
    return operations.OPERATIONS[run.op_occ.operation].changes_vim


def leaves_vim_behind(run: Run) -> bool:
    """Tell whether a VNF that runs gets another package, and nobody makes
    the VIM match it.
    """
    return run.current is not None and run.next_package is not None


GRANT: Final = Step("GRANT", ask_grant)
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
