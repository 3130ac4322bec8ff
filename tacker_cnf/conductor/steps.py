"""The steps of an operation: values in, values out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.drivers.base import Deadline, InfraDriver, InfraTask
from tacker_cnf.lcm import grant_plan, vnfcs
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.states import Event
from tacker_cnf.lcm.target import Target
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.lcm_request import (
    HealVnfRequest,
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
    vim_connections: Mapping[str, VimConnectionInfo]
    driver: InfraDriver
    nfvo: Nfvo
    deadline: Deadline
    #: what was there
    current: Target | None
    #: what is to be there at the end
    target: Target | None
    #: what an earlier try noted, and how to note more
    notes: tuple[str, ...]
    note: Callable[[tuple[str, ...]], None]
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    result: InfraResult | None = None


class Step(msgspec.Struct, frozen=True):
    """One step: its name, what it does, and what its end means."""

    name: str
    do: Callable[[Run], Run]
    event: Event


def ask_grant(run: Run) -> Run:
    """Ask the NFVO for leave.

    :raises GrantRefused: the NFVO said no; the operation is rolled back
    """
    request = grant_plan.build(
        run.op_occ,
        run.request,
        run.instance,
        run.current,
        run.target,
    )
    grant = run.nfvo.grant(request)
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
        vim_connections=run.vim_connections,
        current=run.current,
        target=run.target,
        parameters=getattr(run.request, "additional_params", {}),
        deadline=run.deadline,
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


GRANT: Final = Step("GRANT", ask_grant, Event.GRANTED)
INFRA: Final = Step("INFRA", change_infra, Event.DONE)
RESTORE: Final = Step("RESTORE", restore_infra, Event.DONE)

#: the state in which a conductor finds an operation -> what it has to do
PLANS: Final[Mapping[S, Sequence[Step]]] = {
    S.STARTING: (GRANT, INFRA),
    S.PROCESSING: (INFRA,),
    S.ROLLING_BACK: (RESTORE,),
}
