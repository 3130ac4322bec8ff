"""The differences between lifecycle operations, as a table."""

from collections.abc import Mapping
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import states
from tacker_cnf.lcm.states import Event
from tacker_cnf.sol import lcm_request
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of one kind of operation."""

    #: the type of its request (SOL003 5.5.2)
    request: type[SolType]
    #: the required state of the instance; None: any
    required_state: InstantiationState | None
    #: whether it changes the VIM, for which the NFVO has to grant it
    changes_vim: bool = True
    #: whether a rollback can restore the state before
    reversible: bool
    #: the prefix of its management script operations
    hook: str


_NOT_INSTANTIATED: Final = InstantiationState.NOT_INSTANTIATED
_INSTANTIATED: Final = InstantiationState.INSTANTIATED

OPERATIONS: Final[Mapping[Op, Operation]] = {
    Op.INSTANTIATE: Operation(
        request=lcm_request.InstantiateVnfRequest,
        required_state=_NOT_INSTANTIATED,
        reversible=True,
        hook="instantiate",
    ),
    Op.SCALE: Operation(
        request=lcm_request.ScaleVnfRequest,
        required_state=_INSTANTIATED,
        reversible=True,
        hook="scale",
    ),
    # the VNFCs before a heal were broken: there is no state to restore
    Op.HEAL: Operation(
        request=lcm_request.HealVnfRequest,
        required_state=_INSTANTIATED,
        reversible=False,
        hook="heal",
    ),
    Op.TERMINATE: Operation(
        request=lcm_request.TerminateVnfRequest,
        required_state=_INSTANTIATED,
        reversible=False,
        hook="terminate",
    ),
    Op.CHANGE_VNFPKG: Operation(
        request=lcm_request.ChangeCurrentVnfPkgRequest,
        required_state=_INSTANTIATED,
        reversible=True,
        hook="change_current_package",
    ),
    Op.CHANGE_EXT_CONN: Operation(
        request=lcm_request.ChangeExtVnfConnectivityRequest,
        required_state=_INSTANTIATED,
        reversible=True,
        hook="change_external_connectivity",
    ),
    Op.MODIFY_INFO: Operation(
        request=lcm_request.VnfInfoModificationRequest,
        required_state=None,
        changes_vim=False,
        reversible=True,
        hook="modify_information",
    ),
}


def first_state(op: Op) -> S:
    """Return the state in which an operation begins (SOL003 5.6.2.2)."""
    return S.STARTING if OPERATIONS[op].changes_vim else S.PROCESSING


def request_of(op_occ: VnfLcmOpOcc) -> SolType:
    """Parse an operation's parameters as the request of its kind."""
    return msgspec.convert(
        op_occ.operation_params, OPERATIONS[op_occ.operation].request
    )


def check_state(op: Op, instance: VnfInstance) -> None:
    """Check that the instance is in the state this operation requires.

    :raises WrongState: it is in another state
    """
    state = instance.instantiation_state
    if OPERATIONS[op].required_state not in {None, state}:
        raise errors.WrongState(
            f"{op} is not possible: VNF instance {instance.id} is {state}."
        )


#: a decision -> the task resource a client posts to (SOL003 5.4.14 to 5.4.17)
TASKS: Final[Mapping[Event, str]] = {
    Event.RETRY: "retry",
    Event.ROLLBACK: "rollback",
    Event.GIVE_UP: "fail",
    Event.CANCEL: "cancel",
}


def format_decisions(op: Op) -> str:
    """List the tasks that are possible when this operation has failed."""
    allowed = decisions(op, S.FAILED_TEMP)
    return ", ".join(task for event, task in TASKS.items() if event in allowed)


def decisions(op: Op, state: S) -> frozenset[Event]:
    """Return the possible decisions about an operation in this state."""
    possible = {e for e in TASKS if (state, e) in states.TRANSITIONS}
    if not OPERATIONS[op].reversible:
        possible.discard(Event.ROLLBACK)
    return frozenset(possible)


def check_decision(op: Op, state: S, event: Event) -> None:
    """Check that a decision is possible now.

    :raises WrongState: not in this state, or not for this operation
    """
    if event in decisions(op, state):
        return
    when = [source for source, e in states.TRANSITIONS if e == event]
    if state in when:
        raise errors.WrongState(f"{op} cannot be rolled back.")
    raise errors.WrongState(
        f"{TASKS[event]} is not possible: the operation is {state}, "
        f"not {' or '.join(when)}."
    )
