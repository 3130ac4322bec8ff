"""The table of all lifecycle operations, and what follows from it."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import states
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.lcm.operations.change_connectivity import ChangeExtConnectivity
from tacker_cnf.lcm.operations.change_flavour import ChangeFlavour
from tacker_cnf.lcm.operations.change_package import ChangePackage
from tacker_cnf.lcm.operations.heal import Heal
from tacker_cnf.lcm.operations.instantiate import Instantiate
from tacker_cnf.lcm.operations.modify import Modify
from tacker_cnf.lcm.operations.operate import Operate
from tacker_cnf.lcm.operations.scale import Scale
from tacker_cnf.lcm.operations.scale_to_level import ScaleToLevel
from tacker_cnf.lcm.operations.terminate import Terminate
from tacker_cnf.lcm.states import Event
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.vnf_instance import (
    InstantiationState,
    VnfInstance,
    VnfOperationalState,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc

OPERATIONS: Final[Mapping[Op, Operation[Any]]] = {
    operation.kind: operation
    for operation in (
        Instantiate(),
        Scale(),
        ScaleToLevel(),
        Heal(),
        Operate(),
        Terminate(),
        ChangePackage(),
        ChangeFlavour(),
        ChangeExtConnectivity(),
        Modify(),
    )
}

#: the tasks of a VNF instance (SOL003 5.4.4 to 5.4.11a) -> their operations
INSTANCE_TASKS: Final[Mapping[str, Operation[Any]]] = {
    kind.lower(): operation
    for kind, operation in OPERATIONS.items()
    if operation.changes_vim
}


def first_state(op: Op) -> S:
    """Return the state in which an operation begins (SOL003 5.6.2.2)."""
    return S.STARTING if OPERATIONS[op].changes_vim else S.PROCESSING


def request_of(op_occ: VnfLcmOpOcc) -> SolType:
    """Parse an operation's parameters as the request of its kind."""
    request: SolType = msgspec.convert(
        op_occ.operation_params, OPERATIONS[op_occ.operation].request_type
    )
    return request


def check_state(op: Op, instance: VnfInstance) -> None:
    """Check that the instance is in the state this operation requires.

    :raises WrongState: it is in another state
    """
    if obstacle := _obstacle(op, *_states(instance)):
        raise errors.WrongState(
            f"{op} is not possible: VNF instance {instance.id} is {obstacle}."
        )


def allowed_tasks(instance: VnfInstance) -> Sequence[str]:
    """Return the tasks whose operations are possible in the state of the
    instance.
    """
    return _allowed_tasks(*_states(instance))


def _states(
    instance: VnfInstance,
) -> tuple[InstantiationState, VnfOperationalState | None]:
    info = instance.instantiated_vnf_info
    return instance.instantiation_state, info.vnf_state if info else None


@functools.cache
def _allowed_tasks(
    state: InstantiationState, vnf_state: VnfOperationalState | None
) -> Sequence[str]:
    return tuple(
        task
        for task, operation in INSTANCE_TASKS.items()
        if not _obstacle(operation.kind, state, vnf_state)
    )


def _obstacle(
    op: Op, state: InstantiationState, vnf_state: VnfOperationalState | None
) -> str | None:
    """Return the state that does not allow an operation, and a remedy."""
    if OPERATIONS[op].required_state not in {None, state}:
        return state
    is_stopped = vnf_state is VnfOperationalState.STOPPED
    if OPERATIONS[op].requires_started and is_stopped:
        return "STOPPED. Start it first (POST .../operate)"
    return None


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
