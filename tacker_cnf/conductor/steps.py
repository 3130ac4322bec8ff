"""The steps of an operation: values in, values out."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.drivers.base import Deadline, InfraDriver, InfraTask
from tacker_cnf.lcm import grant_plan, operations, outcome, vnfcs
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.target import Target, flavour_of
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.scripts import runner
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.scripts.runner import Bounds
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.lcm_request import (
    HealVnfRequest,
    InstantiateVnfRequest,
    TerminateVnfRequest,
    TerminationType,
)
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """An operation on its way, and all that its steps need."""

    op_occ: VnfLcmOpOcc
    request: SolType
    #: as it was when the operation began
    instance: VnfInstance
    package: PackageTree
    #: the VIMs as they were named, and how to reach them now
    vim_connections: Mapping[str, VimConnectionInfo]
    reached_by: Mapping[str, VimConnectionInfo]
    driver: InfraDriver
    nfvo: Nfvo
    deadline: Deadline
    script_bounds: Bounds
    #: what was there
    current: Target | None
    #: what is to be there at the end
    target: Target | None
    #: what an earlier try noted, and how to note more
    notes: tuple[str, ...]
    note: Callable[[tuple[str, ...]], None]
    #: the step at which a lost conductor stood
    resumes_at: str | None = None
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    result: InfraResult | None = None


class Step(msgspec.Struct, frozen=True):
    """One step: its name, what it does, and whether there is any need."""

    name: str
    do: Callable[[Run], Run]
    needed: Callable[[Run], bool] = lambda _: True


def ask_grant(run: Run) -> Run:
    """Ask the NFVO for leave.

    :raises GrantRefused: the NFVO said no, or not to all; the operation is
        rolled back
    """
    request = grant_plan.build(
        run.op_occ,
        run.request,
        run.instance,
        run.current,
        run.target,
    )
    grant = run.nfvo.grant(request)
    grant_plan.check_granted(request, grant)
    return msgspec.structs.replace(run, grant_request=request, grant=grant)


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
    task = infra_task(
        msgspec.structs.replace(run, current=run.target, target=run.current)
    )
    back = run.driver.destroy if task.target is None else run.driver.apply
    return msgspec.structs.replace(run, result=back(task))


def infra_task(run: Run) -> InfraTask:
    """Write down for a driver what this operation wants of it."""
    return InfraTask(
        instance=run.instance,
        package=run.package,
        vim_connections=run.reached_by,
        current=run.current,
        target=run.target,
        parameters=getattr(run.request, "additional_params", {}),
        deadline=run.deadline,
        heals=isinstance(run.request, HealVnfRequest),
        vnfcs=vnfcs.named(run.request, run.instance),
        grace=_grace(run.request),
        notes=run.notes,
        note=run.note,
    )


def _grace(request: SolType) -> int | None:
    if not isinstance(request, TerminateVnfRequest):
        return None
    if request.termination_type == TerminationType.FORCEFUL:
        return 0
    return request.graceful_termination_timeout


def reached(run: Run) -> VnfInstance:
    """Tell what the instance is once the VIM was changed."""
    back = run.op_occ.operation_state == S.ROLLING_BACK
    now = run.current if back else run.target
    if now is None:
        return outcome.down(run.instance)
    info = outcome.running(
        run.instance.instantiated_vnf_info,
        now,
        flavour_of(run.package.vnfd, now.flavour_id),
        run.result or InfraResult(),
    )
    instance = run.instance
    if isinstance(run.request, InstantiateVnfRequest):
        instance = outcome.configured(instance, run.request)
    return outcome.up(instance, info, run.vim_connections)


def _script(run: Run, phase: str) -> str | None:
    """Find the script that the VNFD names for a phase: start or end."""
    basis = run.target or run.current
    if basis is None:
        return None
    flavour = flavour_of(run.package.vnfd, basis.flavour_id)
    hook = _hook(run, phase)
    return flavour.scripts.get(hook)


def _hook(run: Run, phase: str) -> str:
    name = operations.OPERATIONS[run.op_occ.operation].hook
    back = run.op_occ.operation_state == S.ROLLING_BACK
    return f"{name}_rollback_{phase}" if back else f"{name}_{phase}"


def run_script(run: Run, *, phase: str) -> Run:
    """Run the management script of a phase.

    :raises ScriptFailed: it did not end well
    """
    name = _script(run, phase)
    if name is None:
        return run
    error = run.op_occ.error
    told = ScriptInput(
        operation=_hook(run, phase),
        request=run.op_occ.operation_params or {},
        vnf_instance=reached(run) if phase == "end" else run.instance,
        grant_request=run.grant_request,
        grant_response=run.grant,
        package_dir="",
        user_script_err_handling_data=(
            error.user_script_err_handling_data if error else None
        ),
    )
    runner.run(run.package.path, name, told, run.script_bounds)
    return run


def _has_script(phase: str) -> Callable[[Run], bool]:
    return lambda run: _script(run, phase) is not None


GRANT: Final = Step("GRANT", ask_grant)
PREAMBLE: Final = Step(
    "PREAMBLE",
    functools.partial(run_script, phase="start"),
    _has_script("start"),
)
INFRA: Final = Step("INFRA", change_infra)
RESTORE: Final = Step("RESTORE", restore_infra)
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
