"""Operation occurrences: their state, and the conductor that runs each.

Only `record` and `decide` change a state. A conductor writes with the fencing
token of its claim; the write fails if another conductor has claimed since.
"""

import datetime
import hashlib
from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.context import RequestContext
from tacker_cnf.db import (
    conductors,
    instances,
    leftovers,
    listing,
    models,
    outbox,
    plans,
    quotas,
    scope,
    vims,
)
from tacker_cnf.db.instances import StoredInstance
from tacker_cnf.db.scope import CONTEXT
from tacker_cnf.db.session import RowsLocked, epoch
from tacker_cnf.lcm import states, vim_group
from tacker_cnf.lcm.operations import registry
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.script_output import InstanceChanges, ProvidedVim
from tacker_cnf.lcm.states import Event
from tacker_cnf.lcm.vnf_plan import VnfPlan
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.preconditions import NO_PRECONDITIONS, Preconditions
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.timeline import TimelineStep
from tacker_cnf.sol.virtual_link import ExtVirtualLinkInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    LcmOperationStateType,
    LcmOperationType,
    ModificationsTriggeredByVnfPkgChange,
    ResourceChanges,
    VnfLcmOpOcc,
)

Row = models.VnfLcmOpOcc
#: the most characters of the log of the scripts of an operation
MAX_SCRIPT_LOG_CHARS: Final = 256 * 1024

COLUMNS: Final = {
    name: getattr(Row, name)
    for name in VnfLcmOpOcc.__struct_fields__
    if hasattr(Row, name)
}

_OF_ID: Final = Row.id == sa.bindparam("op_occ_id")
_READ: Final = sa.select(*COLUMNS.values()).where(_OF_ID)
_LOCK_READ: Final = _READ.with_for_update()
#: the row of a claimed operation, by the parameters of _own()
_OWN: Final = (
    Row.id == sa.bindparam("own_id"),
    Row.fence == sa.bindparam("own_fence"),
)
_LOCK: Final = sa.select(Row.id).where(*_OWN).with_for_update()
_LOCK_ALL: Final = (
    sa.select(*COLUMNS.values(), Row.recorded).where(*_OWN).with_for_update()
)
_UPDATE: Final = sa.update(Row).where(*_OWN)
_RECORD: Final = _UPDATE.values(progress_version=Row.progress_version + 1)
_ADD: Final = sa.insert(Row).values(
    lease_until=epoch() + sa.bindparam("wakeup_timeout", type_=sa.Double)
)
_UNCLAIMED: Final = sa.select(Row).where(
    _OF_ID,
    Row.operation_state.in_(states.ACTIVE),
    sa.or_(Row.owner.is_(None), Row.lease_until < epoch()),
)
_IS_UNCLAIMED: Final = _UNCLAIMED.with_only_columns(Row.id)
_LOCK_UNCLAIMED: Final = _UNCLAIMED.with_for_update(skip_locked=True)
_CLAIM: Final = (
    sa.update(Row)
    .where(_OF_ID)
    .values(lease_until=epoch() + sa.bindparam("lease", type_=sa.Double))
)

#: the columns of a forgotten operation
_FORGOTTEN: Final[Mapping[str, Any]] = {
    "grant": None,
    "changed_info": None,
    "modifications_triggered_by_vnf_pkg_change": None,
    "checkpoint": {},
    "script_changes": None,
    "script_log": None,
    "timeline": None,
    "progress_version": Row.progress_version + 1,
}


class Progress(Protocol):
    """The progress of a step that runs."""

    @property
    def line(self) -> str:
        """The step, and its last line of progress."""

    @property
    def timeline(self) -> tuple[TimelineStep, ...]:
        """The timeline of the operation."""


P = TypeVar("P", bound=Progress)


class WaitingOperation(NamedTuple):
    """An operation that waits for a conductor, and its groups: these take
    turns.
    """

    id: str
    project_id: str
    vim_group: str


class ClaimedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that a conductor has claimed."""

    op_occ: VnfLcmOpOcc
    #: the instance that it has reserved, which nothing else changes; None: it
    #: has none
    stored: StoredInstance | None
    #: the user that started it, or retried or rolled it back last
    requested_by: str | None = None
    vim_connections: Mapping[str, VimConnectionInfo]
    grant_request: GrantRequest | None
    grant: Grant | None
    script_changes: InstanceChanges | None = None
    #: the step to run, or that a lost conductor was running
    step: str | None
    #: of the driver, in an earlier attempt, as JSON values
    checkpoint: Mapping[str, Any] | None
    #: the fencing token of this claim
    fence: int
    #: number of ends of steps recorded before this claim
    recorded: int
    #: the conductor whose lease of it has expired
    lost_owner: str | None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one step of an operation."""

    #: the next step, or the one that failed
    step: str | None
    #: the last progress of a failed step
    progress: str | None = None
    timeline: tuple[TimelineStep, ...] | None = None
    error: ProblemDetails | None = None
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    resource_changes: ResourceChanges | None = None
    changed_ext_connectivity: tuple[ExtVirtualLinkInfo, ...] | None = None
    changed_info: VnfInfoModifications | None = None
    modifications_triggered_by_vnf_pkg_change: (
        ModificationsTriggeredByVnfPkgChange | None
    ) = None
    #: all changes of the instance by scripts so far
    script_changes: InstanceChanges | None = None
    #: the VIMs that the instance provides from now on; None: no longer
    vims: Mapping[str, ProvidedVim | None] = {}
    #: the instance after a completed operation
    instance: VnfInstance | None = None
    #: the plan that the step executed, with its outcomes
    plan: VnfPlan | None = None


def _value(row: Mapping[Any, Any]) -> VnfLcmOpOcc:
    attributes = {
        name: value for name, value in row.items() if value is not None
    }
    return VnfLcmOpOcc(**attributes)


def add(
    session: orm.Session,
    op_occ: VnfLcmOpOcc,
    stored: StoredInstance,
    vim_connections: Mapping[str, VimConnectionInfo],
    now: datetime.datetime,
    wakeup_timeout: float,
) -> None:
    """Add a new operation, which waits for a conductor.

    :param stored: the instance that it has reserved
    :param now: start time, with microseconds
    :param wakeup_timeout: seconds after which the sweep finds it, because its
        wake-up message must have been lost
    """
    values = {
        **{name: getattr(op_occ, name) for name in COLUMNS},
        "start_time": now,
        "state_entered_time": now,
        "vim_connections": dict(vim_connections),
        "vim_group": vim_group.of_connections(vim_connections),
        "requested_by": op_occ.user_id,
        "checkpoint": {},
        "fence": 0,
    }
    session.connection().execute(
        _ADD,
        {**models.parameters(Row, values), "wakeup_timeout": wakeup_timeout},
    )
    outbox.announce(session, op_occ, stored.instance, stored.package_id, now)


def get(
    session: orm.Session, op_occ_id: str, *, lock: bool = False
) -> VnfLcmOpOcc:
    """Return one operation occurrence with all attributes.

    :param lock: lock its row until the end of the transaction; it has to be
        the first read of the transaction, to see the newest values
    :raises NotFound: the operation does not exist
    :raises Forbidden: the policy does not allow the client this operation
    """
    row = _authorized_row(session, _LOCK_READ if lock else _READ, op_occ_id)
    return _value({name: getattr(row, name) for name in COLUMNS})


def list_instantiation_params(
    session: orm.Session, instance_ids: Collection[str]
) -> Mapping[str, Mapping[str, Any]]:
    """Return the additionalParams of the requests that instantiated VNF
    instances, by the instances; an operation may have been deleted.
    """
    rows = scope.rows(
        session,
        sa.select(Row.vnf_instance_id, Row.operation_params)
        .where(
            Row.vnf_instance_id.in_(instance_ids),
            Row.operation == LcmOperationType.INSTANTIATE,
            Row.operation_state == LcmOperationStateType.COMPLETED,
        )
        .order_by(Row.start_time),
    )
    return {
        row.vnf_instance_id: row.operation_params.get("additionalParams", {})
        for row in rows
    }


def _not_found(op_occ_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no lifecycle operation occurrence {op_occ_id}."
    )


#: columns one of which changes whenever the shown resource changes
_VERSION: Final = (
    Row.operation_state,
    Row.state_entered_time,
    Row.step,
    Row.progress,
    Row.progress_version,
    Row.cancel_mode,
    Row.fence,
    # the shown progress depends on whether a conductor is alive
    sa.case(
        (Row.operation_state.in_(states.ACTIVE), conductors.SOME_ALIVE)
    ).label("has_conductor"),
)
_TAGGED: Final = sa.select(Row.project_id, Row.user_id, *_VERSION).where(
    _OF_ID
)
_SHOWN: Final = (
    sa.select(
        *COLUMNS.values(),
        models.VnfInstance.vnf_package_id,
        *_VERSION,
    )
    .outerjoin(
        models.VnfInstance, models.VnfInstance.id == Row.vnf_instance_id
    )
    .where(_OF_ID)
)


class StoredOpOcc(NamedTuple):
    """An operation occurrence, and what else a client is shown of it."""

    op_occ: VnfLcmOpOcc
    #: differs after each change
    etag: str
    #: the package of the VNF instance; None: the instance was deleted
    package_id: str | None
    #: whether it is active and no conductor is alive
    is_waiting: bool


def _tag(row: Sequence[Any]) -> str:
    """Return the entity tag of a row that ends with the version."""
    text = "|".join(map(str, row[-len(_VERSION) :]))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def load_shown(session: orm.Session, op_occ_id: str) -> StoredOpOcc:
    """Return one operation occurrence with all that a client is shown of it.

    :raises NotFound: the operation does not exist
    :raises Forbidden: the policy does not allow the client this operation
    """
    row = _authorized_row(session, _SHOWN, op_occ_id)
    return StoredOpOcc(
        op_occ=_value({name: getattr(row, name) for name in COLUMNS}),
        etag=_tag(row),
        package_id=row.vnf_package_id,
        is_waiting=row.has_conductor is False,
    )


def etag(session: orm.Session, op_occ_id: str) -> str:
    """Return the entity tag of an operation; it differs after each change.

    :raises NotFound: the operation does not exist
    :raises Forbidden: the policy does not allow the client this operation
    """
    return _tag(_authorized_row(session, _TAGGED, op_occ_id))


def get_state(session: orm.Session, op_occ_id: str) -> LcmOperationStateType:
    """Return the state of an operation.

    :raises NotFound: the operation does not exist
    :raises Forbidden: the policy does not allow the client this operation
    """
    state: LcmOperationStateType = _authorized_row(
        session, _TAGGED, op_occ_id
    ).operation_state
    return state


def _authorized_row(
    session: orm.Session,
    statement: sa.Select[*tuple[Any, ...]],
    op_occ_id: str,
) -> Any:
    row = scope.rows(
        session, statement, {"op_occ_id": op_occ_id}
    ).one_or_none()
    if row is None:
        raise _not_found(op_occ_id)
    scope.authorize(session, scope.owner_of(row))
    return row


def list_states(
    session: orm.Session, op_occ_ids: Collection[str]
) -> Mapping[str, LcmOperationStateType]:
    """Return the states of operations; one may have been deleted."""
    rows = scope.rows(
        session,
        sa.select(Row.id, Row.operation_state).where(Row.id.in_(op_occ_ids)),
    )
    return {row.id: row.operation_state for row in rows}


def exists(session: orm.Session, op_occ_id: str) -> bool:
    """Return whether an operation occurrence exists."""
    query = sa.select(Row.id).where(Row.id == op_occ_id)
    return session.scalar(query) is not None


def find(
    session: orm.Session, query: ListQuery
) -> Iterator[tuple[Position, VnfLcmOpOcc]]:
    """List operation occurrences, oldest first, with their positions."""
    order = (Row.start_time, Row.id)
    for position, row in listing.rows(session, COLUMNS, order, query):
        yield position, _value(row)


def claim(
    session: orm.Session, op_occ_id: str, owner: str, lease: float
) -> ClaimedOperation | None:
    """Claim an operation; return None if a live conductor has it.

    :param lease: seconds
    :raises RowsLocked: another transaction locks its row
    """
    key = {"op_occ_id": op_occ_id}
    row = session.scalars(_LOCK_UNCLAIMED, key).one_or_none()
    if row is None:
        if session.scalar(_IS_UNCLAIMED, key):
            raise RowsLocked(op_occ_id)
        return None
    fence = row.fence + 1
    session.connection().execute(
        _CLAIM, {**key, "owner": owner, "fence": fence, "lease": lease}
    )
    stored = instances.find_reserved(session, row.vnf_instance_id, op_occ_id)
    return _claimed(row, fence=fence, stored=stored)


def load(session: orm.Session, op_occ_id: str) -> ClaimedOperation:
    """Return what a conductor would claim, without claiming it, and without
    its instance.

    :raises NotFound: the operation does not exist
    """
    get(session, op_occ_id)
    row = session.get_one(Row, op_occ_id)
    return _claimed(row, fence=row.fence)


def _claimed(
    row: Row, fence: int, stored: StoredInstance | None = None
) -> ClaimedOperation:
    return ClaimedOperation(
        stored=stored,
        op_occ=_value({name: getattr(row, name) for name in COLUMNS}),
        requested_by=row.requested_by,
        vim_connections=row.vim_connections,
        grant_request=row.grant_request,
        grant=row.grant,
        # a retry starts without the changes of the earlier attempt
        script_changes=row.script_changes if row.owner else None,
        step=row.step,
        checkpoint=row.checkpoint
        if isinstance(row.checkpoint, dict) and row.checkpoint
        else None,
        fence=fence,
        recorded=row.recorded,
        lost_owner=row.owner,
    )


def record(
    session: orm.Session,
    claimed_op: ClaimedOperation,
    number: int,
    event: Event,
    result: Result,
    now: datetime.datetime,
) -> LcmOperationStateType:
    """Record the end of a step, and return the new state.

    It can be repeated when the result of the commit is unknown.

    A cancelled operation fails even if its step completed: an accepted cancel
    never ends in COMPLETED.

    :param number: of this end of a step, counted from 1 for the operation
    :raises LeaseLost: another conductor has claimed the operation
    :raises ScriptFailed: the instance cannot provide one of the VIMs
    """
    row = _lock_own(session, claimed_op, _LOCK_ALL)
    op_occ = _value({name: getattr(row, name) for name in COLUMNS})
    before = op_occ.operation_state
    if row.recorded == number:
        return before
    if op_occ.cancel_mode and event != Event.FAIL:
        event, result = Event.FAIL, _as_cancelled(result, op_occ.cancel_mode)
    new = states.advance(before, event)
    values = {
        **_result_columns(_with_previous_data(op_occ.error, result)),
        **_state_columns(new),
        "operation_state": new,
    }
    if new != before:
        values["state_entered_time"] = now
    _update_own(session, claimed_op, {"recorded": number, **values}, _RECORD)
    if result.plan:
        plans.save(session, op_occ.id, result.plan)
    if event != Event.FAIL:
        _update_provided_vims(session, op_occ, result, now)
    stored = claimed_op.stored
    if new in states.FINAL and stored:
        stored = _release(session, op_occ.operation, stored, event, result)
    if new != before and stored:
        shown = {n: v for n, v in values.items() if n in COLUMNS}
        op_occ = msgspec.structs.replace(op_occ, **shown)
        outbox.announce(
            session, op_occ, stored.instance, stored.package_id, now
        )
    return new


def _update_provided_vims(
    session: orm.Session,
    op_occ: VnfLcmOpOcc,
    result: Result,
    now: datetime.datetime,
) -> None:
    if any(result.vims.values()):
        quotas.lock(session, op_occ.project_id)
    vims.update_provided(session, op_occ.vnf_instance_id, result.vims, now)


def _release(
    session: orm.Session,
    operation: LcmOperationType,
    stored: StoredInstance,
    event: Event,
    result: Result,
) -> StoredInstance:
    """Release the instance, and store it as it is after the operation."""
    changed = result.instance if event == Event.DONE else None
    is_clean = bool(changed) and OPERATIONS[operation].changes_vim
    after = instances.release(
        session, stored, changed, clears_leftovers=is_clean
    )
    if changed and after.is_terminated:
        # the resources that provided them were deleted
        vims.delete_provided(session, changed.id)
    return after


def _with_previous_data(
    previous: ProblemDetails | None, result: Result
) -> Result:
    """Copy the userScriptErrHandlingData of the previous error into a new
    error without it: the script was killed, or had not run.
    """
    error = result.error
    if error is None or error.user_script_err_handling_data is not None:
        return result
    if previous is None or previous.user_script_err_handling_data is None:
        return result
    data = previous.user_script_err_handling_data
    error = msgspec.structs.replace(error, user_script_err_handling_data=data)
    return msgspec.structs.replace(result, error=error)


def _as_cancelled(result: Result, mode: CancelModeType) -> Result:
    error = errors.Cancelled(
        f"The operation was cancelled ({mode}) when one of its steps had just "
        "completed."
    )
    return msgspec.structs.replace(
        result,
        error=errors.problem_details(error),
        changed_info=None,
        changed_ext_connectivity=None,
        modifications_triggered_by_vnf_pkg_change=None,
    )


def _state_columns(state: LcmOperationStateType) -> dict[str, Any]:
    """Return the columns to set with a state: name -> value."""
    if state in states.ACTIVE:
        return {}
    # no conductor runs it any more
    ended = {"owner": None, "is_cancel_pending": False, "cancel_mode": None}
    if state == LcmOperationStateType.COMPLETED:
        ended["error"] = None  # of an earlier attempt
    return ended


def _own(claimed_op: ClaimedOperation) -> Mapping[str, Any]:
    """Return the parameters of _OWN."""
    return {"own_id": claimed_op.op_occ.id, "own_fence": claimed_op.fence}


def _lock_own(
    session: orm.Session,
    claimed_op: ClaimedOperation,
    statement: sa.Select[Any] = _LOCK,
) -> Any:
    """Lock the row of a claimed operation; return columns of it.

    :raises LeaseLost: another conductor has claimed the operation
    """
    row = scope.rows(session, statement, _own(claimed_op)).one_or_none()
    if row is None:
        raise errors.LeaseLost
    return row


def _result_columns(result: Result) -> dict[str, Any]:
    values = {
        name: getattr(result, name)
        for name in result.__struct_fields__
        if hasattr(Row, name) and getattr(result, name) is not None
    }
    # the next step, or the failed one
    values["step"] = result.step
    values["progress"] = result.progress or result.step
    if result.grant:
        values["grant_id"] = result.grant.id
    return values


def decide(
    session: orm.Session,
    op_occ_id: str,
    event: Event,
    now: datetime.datetime,
    wakeup_timeout: float,
    preconditions: Preconditions = NO_PRECONDITIONS,
) -> VnfLcmOpOcc:
    """Record the decision of a client about a failed operation.

    :raises NotFound: the operation does not exist
    :raises WrongState: the state does not allow it; another request may have
        changed it first
    :raises PreconditionFailed: the operation has another entity tag
    """
    op_occ = get(session, op_occ_id, lock=True)
    state = op_occ.operation_state
    registry.check_decision(op_occ.operation, state, event)
    if preconditions.if_match is not None:
        preconditions.check(etag(session, op_occ_id))
    new = states.advance(state, event)
    scope.count_changed(
        session,
        sa.update(Row)
        .where(Row.id == op_occ_id)
        .values(
            operation_state=new,
            state_entered_time=now,
            step=None,  # no step of the new attempt has started
            progress=None,
            **_request_columns(session.info.get(CONTEXT)),
            owner=None,
            # the conductor of the failed attempt can write no more
            fence=Row.fence + 1,
            lease_until=epoch() + wakeup_timeout,
        ),
    )
    is_final = new in states.FINAL
    if is_final and op_occ.operation == LcmOperationType.INSTANTIATE:
        leftovers.mark(session, op_occ.vnf_instance_id)
    stored = instances.find_reserved(
        session, op_occ.vnf_instance_id, op_occ_id
    )
    if is_final and stored:
        stored = instances.release(session, stored)
    decided = get(session, op_occ_id)
    if stored:
        outbox.announce(
            session, decided, stored.instance, stored.package_id, now
        )
    return decided


def _request_columns(client: RequestContext | None) -> dict[str, Any]:
    """Return the columns of the request that an operation runs for.

    :param client: None: it is not known
    """
    return {
        "request_id": client.request_id if client else None,
        "requested_by": client.user_id if client else None,
    }


def forget_parameters(session: orm.Session, instance_id: str) -> None:
    """Delete the parameters of the operations of a deleted instance, and all
    that was made of them: plans, checkpoints, changes, grants, logs and
    credentials.

    Of its instantiations those remain by which `leftovers` finds objects that
    a lost conductor may still create.
    """
    of_instance = Row.vnf_instance_id == instance_id
    session.execute(
        sa.delete(models.OperationPlan).where(
            models.OperationPlan.vnf_lcm_op_occ_id.in_(
                sa.select(Row.id).where(of_instance)
            )
        ),
        execution_options={"synchronize_session": False},
    )
    for row in session.scalars(
        sa.select(Row).where(
            of_instance, Row.operation == LcmOperationType.INSTANTIATE
        )
    ):
        leftovers.reduce_to_record(row)
    for row in session.scalars(
        sa.select(Row).where(of_instance, Row.error.is_not(None))
    ):
        row.error = row.error and msgspec.structs.replace(
            row.error, user_script_err_handling_data=None
        )
    session.flush()
    scope.count_changed(
        session, sa.update(Row).where(of_instance).values(**_FORGOTTEN)
    )
    scope.count_changed(
        session,
        sa.update(Row)
        .where(of_instance, Row.operation != LcmOperationType.INSTANTIATE)
        .values(operation_params={}, grant_request=None, vim_connections={}),
    )


def save_checkpoint(
    session: orm.Session,
    claimed_op: ClaimedOperation,
    checkpoint: Mapping[str, Any],
) -> None:
    """Save a checkpoint of the driver, before it acts.

    :raises LeaseLost: another conductor has claimed the operation
    """
    _update_own(session, claimed_op, {"checkpoint": dict(checkpoint)})


def save_plan(
    session: orm.Session, claimed_op: ClaimedOperation, plan: VnfPlan
) -> None:
    """Save the plan of an operation, before it is executed.

    :raises LeaseLost: another conductor has claimed the operation
    """
    _lock_own(session, claimed_op)
    plans.save(session, claimed_op.op_occ.id, plan)


def save_script_memory(
    session: orm.Session,
    claimed_op: ClaimedOperation,
    memory: dict[str, Any] | None,
) -> None:
    """Save the memory of the scripts of the VNF instance.

    :param memory: the scripts define its keys
    :raises LeaseLost: another conductor has claimed the operation
    """
    _lock_own(session, claimed_op)
    instances.save_script_memory(
        session, claimed_op.op_occ.vnf_instance_id, memory
    )


def get_script_log(session: orm.Session, claimed_op: ClaimedOperation) -> str:
    """Return the log of the scripts of the operation.

    :raises LeaseLost: another conductor has claimed the operation
    """
    row = scope.rows(
        session, sa.select(Row.script_log).where(*_OWN), _own(claimed_op)
    ).first()
    if row is None:
        raise errors.LeaseLost
    return row[0] or ""


def write_script_log(
    session: orm.Session, claimed_op: ClaimedOperation, text: str
) -> None:
    """Replace the log of the scripts by the end of a text.

    :raises LeaseLost: another conductor has claimed the operation
    """
    log = text[-MAX_SCRIPT_LOG_CHARS:]
    _update_own(session, claimed_op, {"script_log": log}, _RECORD)


def _update_own(
    session: orm.Session,
    claimed_op: ClaimedOperation,
    values: Mapping[str, Any],
    statement: sa.Update = _UPDATE,
) -> None:
    result = session.connection().execute(
        statement, {**_own(claimed_op), **models.parameters(Row, values)}
    )
    if result.rowcount != 1:
        raise errors.LeaseLost


def cancel(
    session: orm.Session,
    op_occ_id: str,
    mode: CancelModeType,
    preconditions: Preconditions = NO_PRECONDITIONS,
) -> None:
    """Record that an operation is cancelled; its conductor reads it.

    GRACEFUL can be changed to FORCEFUL, but not back.

    :raises NotFound: the operation does not exist
    :raises WrongState: the operation is not running
    :raises PreconditionFailed: the operation has another entity tag
    """
    op_occ = get(session, op_occ_id, lock=True)
    state = op_occ.operation_state
    registry.check_decision(op_occ.operation, state, Event.CANCEL)
    if preconditions.if_match is not None:
        preconditions.check(etag(session, op_occ_id))
    if op_occ.cancel_mode == CancelModeType.FORCEFUL:
        return
    scope.count_changed(
        session,
        sa.update(Row)
        .where(Row.id == op_occ_id)
        .values(is_cancel_pending=True, cancel_mode=mode),
    )


def get_cancel_mode(
    session: orm.Session, op_occ_id: str
) -> CancelModeType | None:
    """Return the cancel mode of an operation; None: not cancelled."""
    return session.scalar(
        sa.select(Row.cancel_mode).where(Row.id == op_occ_id)
    )


class RenewedOperations(msgspec.Struct, frozen=True):
    """The result of a renewal of the leases of an owner."""

    #: operation with a renewed lease -> its cancel mode
    cancel_modes: Mapping[str, CancelModeType | None]
    #: operations of the owner whose rows other transactions lock
    locked: frozenset[str]


def heartbeat(
    session: orm.Session, owner: str, op_occ_ids: Sequence[str], lease: float
) -> RenewedOperations:
    """Renew the leases of a conductor; skip locked rows, so that they do not
    delay the others.

    :param lease: seconds
    """
    owned = (Row.owner == owner, Row.id.in_(op_occ_ids))
    found = scope.rows(
        session,
        sa.select(Row.id, Row.cancel_mode)
        .where(*owned)
        .with_for_update(skip_locked=True),
    )
    renewed = dict(found.tuples().all())
    _update(session, renewed, lease_until=epoch() + lease)
    skipped = session.scalars(
        sa.select(Row.id).where(*owned, Row.id.not_in(renewed))
    )
    return RenewedOperations(renewed, frozenset(skipped))


def publish_progress(
    session: orm.Session,
    owner: str,
    op_occ_ids: Collection[str],
    progress: Callable[[str], P | None],
) -> Mapping[str, P]:
    """Write the progress of the operations of an owner; skip locked rows.

    :param progress: called with an ID when the row is locked, so that no step
        ends meanwhile
    :returns: ID of the operation -> its written progress
    """
    owned = _lock(session, Row.owner == owner, Row.id.in_(op_occ_ids))
    published = {
        op_occ_id: found
        for op_occ_id in owned
        if (found := progress(op_occ_id))
    }
    if published:
        lines = {key: found.line for key, found in published.items()}
        timelines = {
            key: sa.literal(found.timeline, Row.timeline.type)
            for key, found in published.items()
        }
        _update(
            session,
            published,
            progress=sa.case(lines, value=Row.id),
            timeline=sa.case(timelines, value=Row.id),
            progress_version=Row.progress_version + 1,
        )
    return published


def expire_leases(session: orm.Session, owner: str) -> None:
    """Expire the leases of a conductor, so that others can claim at once."""
    owned = _lock(
        session, Row.owner == owner, Row.operation_state.in_(states.ACTIVE)
    )
    _update(session, owned, lease_until=0.0)


def _lock(
    session: orm.Session, *where: sa.ColumnElement[bool]
) -> Sequence[str]:
    """Lock the rows that no other transaction has locked; return their ids."""
    free = sa.select(Row.id).where(*where).with_for_update(skip_locked=True)
    return session.scalars(free).all()


def _update(
    session: orm.Session, op_occ_ids: Collection[str], **values: Any
) -> None:
    if op_occ_ids:
        session.connection().execute(
            sa.update(Row).where(Row.id.in_(op_occ_ids)).values(**values)
        )


def requeue(session: orm.Session, owner: str, op_occ_id: str) -> bool:
    """Release a claimed operation of which no step has begun, so that another
    conductor claims it; return whether it was released.
    """
    result = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == op_occ_id,
            Row.owner == owner,
            Row.operation_state == LcmOperationStateType.STARTING,
        )
        .values(owner=None, fence=Row.fence + 1, lease_until=0.0)
    )
    return bool(result.rowcount == 1)


def lock_waiting(session: orm.Session, op_occ_id: str) -> WaitingOperation:
    """Lock the row of an operation, and return its groups.

    :raises NotFound: the operation does not exist
    """
    row = scope.rows(
        session,
        sa.select(*_WAITING).where(Row.id == op_occ_id).with_for_update(),
    ).one_or_none()
    if row is None:
        raise _not_found(op_occ_id)
    return _waiting(*row)


def list_unclaimed(session: orm.Session) -> Sequence[WaitingOperation]:
    """Find the operations that wait and that no living conductor has: all
    of them, so that their groups can take turns.
    """
    rows = scope.rows(
        session,
        sa.select(*_WAITING)
        .where(
            Row.operation_state.in_(states.ACTIVE),
            Row.lease_until < epoch(),
        )
        .order_by(Row.start_time),
    )
    return [_waiting(*row) for row in rows]


_WAITING: Final = (Row.id, Row.project_id, Row.vim_group)


def _waiting(
    op_occ_id: str, project_id: str, group: str | None
) -> WaitingOperation:
    return WaitingOperation(op_occ_id, project_id, group or "")
