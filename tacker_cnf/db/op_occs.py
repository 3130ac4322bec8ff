"""Operation occurrences as rows: who works on which, and how each ended.

Only `record` and `decide` change a state. A conductor proves that an
operation is still its own by the fencing token it got with the claim.
"""

import datetime
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import (
    conductors,
    instances,
    leftovers,
    listing,
    models,
    outbox,
    vims,
)
from tacker_cnf.db.listing import ListQuery, Position
from tacker_cnf.db.session import RowsLocked, epoch
from tacker_cnf.lcm import operations, states
from tacker_cnf.lcm.scripted import InstanceChanges, ProvidedVim
from tacker_cnf.lcm.states import Event
from tacker_cnf.preconditions import NO_PRECONDITIONS, Preconditions
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.virtual_link import ExtVirtualLinkInfo
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    LcmOperationStateType,
    LcmOperationType,
    ModificationsTriggeredByVnfPkgChange,
    ResourceChanges,
    VnfLcmOpOcc,
)

Row = models.VnfLcmOpOcc
#: the most characters that a line of progress has
MAX_PROGRESS_CHARS: Final = 255

#: how much is kept of what the scripts of an operation wrote, in characters
MAX_SCRIPT_LOG_CHARS: Final = 256 * 1024

#: what a list leaves out unless it is asked for (SOL003 5.4.12.3.2)
EXCLUDED_BY_DEFAULT: Final = frozenset(
    {
        "operation_params",
        "error",
        "resource_changes",
        "changed_info",
        "changed_ext_connectivity",
        "script_log",
    }
)
COLUMNS: Final = {
    name: getattr(Row, name)
    for name in VnfLcmOpOcc.__struct_fields__
    if hasattr(Row, name)
}


class ClaimedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that a conductor has claimed."""

    op_occ: VnfLcmOpOcc
    vim_connections: Mapping[str, VimConnectionInfo]
    grant_request: GrantRequest | None
    grant: Grant | None
    script_changes: InstanceChanges | None = None
    #: the step at which it stood
    step: str | None
    notes: tuple[str, ...]
    #: the fencing token of this claim
    fence: int
    #: how many ends of steps were recorded before it
    recorded: int
    #: the conductor that had it and was not heard of again
    lost_owner: str | None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one step of an operation left behind."""

    #: the step that comes next, or the one that failed
    step: str | None
    #: how far that was
    progress: str | None = None
    error: ProblemDetails | None = None
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    resource_changes: ResourceChanges | None = None
    changed_ext_connectivity: tuple[ExtVirtualLinkInfo, ...] | None = None
    changed_info: VnfInfoModifications | None = None
    modifications_triggered_by_vnf_pkg_change: (
        ModificationsTriggeredByVnfPkgChange | None
    ) = None
    #: what its scripts have changed of the instance so far
    script_changes: InstanceChanges | None = None
    #: the VIMs that the instance provides from now on, or no longer does
    vims: Mapping[str, ProvidedVim | None] = {}
    #: what the operation has made of its instance, if it is done
    instance: VnfInstance | None = None


def _value(row: Mapping[Any, Any]) -> VnfLcmOpOcc:
    attributes = {
        name: value for name, value in row.items() if value is not None
    }
    return VnfLcmOpOcc(**attributes)


def add(
    session: orm.Session,
    op_occ: VnfLcmOpOcc,
    vim_connections: Mapping[str, VimConnectionInfo],
    now: datetime.datetime,
    wakeup_timeout: float,
) -> None:
    """Keep a new operation, which waits for a conductor.

    :param now: when it began, more exactly than SOL003 tells it
    :param wakeup_timeout: seconds after which the sweep looks for it, because its
        wake-up message must have been lost
    """
    values = {name: getattr(op_occ, name) for name in COLUMNS}
    values |= {"start_time": now, "state_entered_time": now}
    session.execute(
        sa.insert(Row).values(
            **values,
            vim_connections=dict(vim_connections),
            notes=(),
            fence=0,
            lease_until=epoch() + wakeup_timeout,
        )
    )
    outbox.announce(session, op_occ, now)


def get(
    session: orm.Session, op_occ_id: str, *, lock: bool = False
) -> VnfLcmOpOcc:
    """Read one operation occurrence, whole.

    :param lock: let nobody change it until the end of the transaction; to be
        the first that is read in it, so that all of it is the newest
    :raises NotFound: there is none of this id
    """
    query = sa.select(*COLUMNS.values()).where(Row.id == op_occ_id)
    row = session.execute(
        query.with_for_update() if lock else query
    ).one_or_none()
    if row is None:
        raise _not_found(op_occ_id)
    return _value(row._mapping)  # noqa: SLF001


def _not_found(op_occ_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no lifecycle operation occurrence {op_occ_id}."
    )


#: what of a row changes whenever what is shown of it does
_VERSION: Final = (
    Row.operation_state,
    Row.state_entered_time,
    Row.step,
    Row.progress,
    Row.cancel_mode,
    Row.fence,
    # as it is encrypted, which no two times gives the same
    sa.type_coerce(Row.script_log, sa.Text),
    # its progress says when there is no conductor
    sa.case((Row.operation_state.in_(states.ACTIVE), conductors.SOME_ALIVE)),
)


def etag(session: orm.Session, op_occ_id: str) -> str:
    """Give the entity tag of an operation, another one after each change.

    :raises NotFound: there is none of this id
    """
    row = session.execute(
        sa.select(*_VERSION).where(Row.id == op_occ_id)
    ).one_or_none()
    if row is None:
        raise _not_found(op_occ_id)
    version = "|".join(map(str, row))
    return hashlib.sha256(version.encode()).hexdigest()[:32]


def exists(session: orm.Session, op_occ_id: str) -> bool:
    """Tell whether there is such an operation occurrence."""
    query = sa.select(Row.id).where(Row.id == op_occ_id)
    return session.scalar(query) is not None


def find(
    session: orm.Session, query: ListQuery
) -> Iterator[tuple[Position, VnfLcmOpOcc]]:
    """List operation occurrences, the oldest first, and where each stands."""
    order = (Row.start_time, Row.id)
    for position, row in listing.rows(session, COLUMNS, order, query):
        yield position, _value(row)


def claim(
    session: orm.Session, op_occ_id: str, owner: str, lease: float
) -> ClaimedOperation | None:
    """Make an operation this conductor's own, unless a living one has it.

    :raises RowsLocked: another transaction has locked it
    """
    free = (
        Row.id == op_occ_id,
        Row.operation_state.in_(states.ACTIVE),
        sa.or_(Row.owner.is_(None), Row.lease_until < epoch()),
    )
    row = session.scalars(
        sa.select(Row).where(*free).with_for_update(skip_locked=True)
    ).one_or_none()
    if row is None:
        if session.scalar(sa.select(Row.id).where(*free)):
            raise RowsLocked(op_occ_id)
        return None
    _update(
        session,
        (op_occ_id,),
        owner=owner,
        fence=row.fence + 1,
        lease_until=epoch() + lease,
    )
    return ClaimedOperation(
        op_occ=_value({name: getattr(row, name) for name in COLUMNS}),
        vim_connections=row.vim_connections,
        grant_request=row.grant_request,
        grant=row.grant,
        # an earlier try is no longer what counts
        script_changes=row.script_changes if row.owner else None,
        step=row.step,
        notes=row.notes,
        fence=row.fence + 1,
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
    """Keep how a step ended; the one door to another state while it runs.

    Safe to call again when nobody knows whether the commit came through.

    An operation that was cancelled meanwhile has failed, however well its
    step ended: who cancels it is never told that it is COMPLETED.

    :param number: of this end of a step among all of the operation
    :raises LostClaim: the operation is another conductor's by now
    :raises ScriptFailed: the instance cannot provide one of the VIMs
    """
    before, cancelled_by, recorded = _lock_state(session, claimed_op)
    if recorded == number:
        return before
    if cancelled_by and event != Event.FAIL:
        event, result = Event.FAIL, _as_cancelled(result, cancelled_by)
    new = states.advance(before, event)
    result = _with_previous_data(session, claimed_op, result)
    values = {
        **_result_columns(result),
        **_state_columns(new),
        "recorded": number,
    }
    if new != before:
        values["state_entered_time"] = now
    session.connection().execute(
        sa.update(Row)
        .where(Row.id == claimed_op.op_occ.id)
        .values(operation_state=new, **values)
    )
    if event != Event.FAIL:
        vims.update_provided(
            session, claimed_op.op_occ.vnf_instance_id, result.vims, now
        )
    if event == Event.DONE and result.instance:
        _update_instance(session, claimed_op.op_occ.operation, result.instance)
    if new in states.FINAL:
        instances.release(session, claimed_op.op_occ.id)
    if new != before:
        outbox.announce(session, get(session, claimed_op.op_occ.id), now)
    return new


def _update_instance(
    session: orm.Session, operation: LcmOperationType, instance: VnfInstance
) -> None:
    """Keep what an operation made of its instance."""
    instances.update(session, instance)
    if operations.OPERATIONS[operation].changes_vim:
        leftovers.clear(session, instance.id)
    if instance.instantiation_state == InstantiationState.NOT_INSTANTIATED:
        # what it was made of is gone
        vims.delete_provided(session, instance.id)


def _with_previous_data(
    session: orm.Session, claimed_op: ClaimedOperation, result: Result
) -> Result:
    """Keep what a script left for its next run, if the error that takes the
    place of its own has nothing of the kind: it was killed, or its turn never
    came.
    """
    error = result.error
    if error is None or error.user_script_err_handling_data is not None:
        return result
    previous = session.scalar(
        sa.select(Row.error).where(Row.id == claimed_op.op_occ.id)
    )
    if previous is None or previous.user_script_err_handling_data is None:
        return result
    data = previous.user_script_err_handling_data
    error = msgspec.structs.replace(error, user_script_err_handling_data=data)
    return msgspec.structs.replace(result, error=error)


def _as_cancelled(result: Result, mode: CancelModeType) -> Result:
    error = errors.Cancelled(
        f"The operation was cancelled ({mode}) when one of its steps had just "
        "ended."
    )
    return msgspec.structs.replace(
        result,
        error=errors.problem_details(error),
        changed_info=None,
        changed_ext_connectivity=None,
        modifications_triggered_by_vnf_pkg_change=None,
    )


def _state_columns(state: LcmOperationStateType) -> dict[str, Any]:
    """Tell what goes with a state."""
    if state in states.ACTIVE:
        return {}
    # nobody works on it any more, and nobody can be told to stop
    ended = {"owner": None, "is_cancel_pending": False, "cancel_mode": None}
    if state == LcmOperationStateType.COMPLETED:
        ended["error"] = None  # that of an earlier try
    return ended


def _lock_state(
    session: orm.Session, claimed_op: ClaimedOperation
) -> tuple[LcmOperationStateType, CancelModeType | None, int]:
    """Read the state, how it is cancelled, if it is, and how many ends of
    steps are recorded, and let nobody change them.

    :raises LostClaim: the operation is another conductor's by now
    """
    found = session.execute(
        sa.select(Row.operation_state, Row.cancel_mode, Row.recorded)
        .where(Row.id == claimed_op.op_occ.id, Row.fence == claimed_op.fence)
        .with_for_update()
    ).one_or_none()
    if found is None:
        raise errors.LostClaim
    state, cancelled_by, recorded = found
    return state, cancelled_by, recorded


def _result_columns(result: Result) -> dict[str, Any]:
    values = {
        name: getattr(result, name)
        for name in result.__struct_fields__
        if hasattr(Row, name) and getattr(result, name) is not None
    }
    # where it stands now, or where it failed
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
    """Keep what a caller decided about a failed operation.

    :raises NotFound: there is no such operation
    :raises WrongState: this cannot be decided now, or another caller was
        first
    :raises PreconditionFailed: it is not what the caller saw
    """
    op_occ = get(session, op_occ_id, lock=True)
    state = op_occ.operation_state
    operations.check_decision(op_occ.operation, state, event)
    if preconditions.if_match is not None:
        preconditions.check(etag(session, op_occ_id))
    new = states.advance(state, event)
    session.connection().execute(
        sa.update(Row)
        .where(Row.id == op_occ_id)
        .values(
            operation_state=new,
            state_entered_time=now,
            step=None,  # nothing of the new try has begun
            progress=None,
            owner=None,
            # whoever failed it has nothing more to say
            fence=Row.fence + 1,
            lease_until=epoch() + wakeup_timeout,
        )
    )
    if new in states.FINAL:
        if op_occ.operation == LcmOperationType.INSTANTIATE:
            leftovers.mark(session, op_occ.vnf_instance_id)
        instances.release(session, op_occ_id)
    decided = get(session, op_occ_id)
    outbox.announce(session, decided, now)
    return decided


def save_checkpoint(
    session: orm.Session, claimed_op: ClaimedOperation, notes: tuple[str, ...]
) -> None:
    """Keep what a driver is about to do and could not tell afterwards.

    :raises LostClaim: the operation is another conductor's by now
    """
    result = session.connection().execute(
        sa.update(Row)
        .where(Row.id == claimed_op.op_occ.id, Row.fence == claimed_op.fence)
        .values(notes=notes)
    )
    if result.rowcount != 1:
        raise errors.LostClaim


def save_script_memory(
    session: orm.Session,
    claimed_op: ClaimedOperation,
    memory: dict[str, Any] | None,
) -> None:
    """Keep what a script remembers of the VNF instance.

    :raises LostClaim: the operation is another conductor's by now
    """
    _lock_state(session, claimed_op)
    instances.save_script_memory(
        session, claimed_op.op_occ.vnf_instance_id, memory
    )


def get_script_log(session: orm.Session, claimed_op: ClaimedOperation) -> str:
    """Give what the scripts of the operation wrote.

    :raises LostClaim: the operation is another conductor's by now
    """
    row = session.execute(
        sa.select(Row.script_log).where(*_owned_by(claimed_op))
    ).first()
    if row is None:
        raise errors.LostClaim
    return row[0] or ""


def write_script_log(
    session: orm.Session, claimed_op: ClaimedOperation, text: str
) -> None:
    """Keep what the scripts of the operation wrote, the end of it.

    :raises LostClaim: the operation is another conductor's by now
    """
    result = session.connection().execute(
        sa.update(Row)
        .where(*_owned_by(claimed_op))
        .values(script_log=text[-MAX_SCRIPT_LOG_CHARS:])
    )
    if result.rowcount != 1:
        raise errors.LostClaim


def _owned_by(
    claimed_op: ClaimedOperation,
) -> tuple[sa.ColumnElement[bool], ...]:
    return Row.id == claimed_op.op_occ.id, Row.fence == claimed_op.fence


def cancel(
    session: orm.Session,
    op_occ_id: str,
    mode: CancelModeType,
    preconditions: Preconditions = NO_PRECONDITIONS,
) -> None:
    """Keep that an operation is to stop; who carries it out will see it.

    What is to stop gracefully may be told to stop at once; not the other
    way round.

    :raises NotFound: there is no such operation
    :raises WrongState: nobody carries it out
    :raises PreconditionFailed: it is not what the caller saw
    """
    op_occ = get(session, op_occ_id, lock=True)
    state = op_occ.operation_state
    operations.check_decision(op_occ.operation, state, Event.CANCEL)
    if preconditions.if_match is not None:
        preconditions.check(etag(session, op_occ_id))
    if op_occ.cancel_mode == CancelModeType.FORCEFUL:
        return
    session.connection().execute(
        sa.update(Row)
        .where(Row.id == op_occ_id)
        .values(is_cancel_pending=True, cancel_mode=mode)
    )


def get_cancel_mode(
    session: orm.Session, op_occ_id: str
) -> CancelModeType | None:
    """Tell how an operation is to stop, if it is."""
    return session.scalar(
        sa.select(Row.cancel_mode).where(Row.id == op_occ_id)
    )


class Renewed(msgspec.Struct, frozen=True):
    """What became of the leases of an owner."""

    #: of the operations whose lease was renewed: how each is to stop, if so
    cancel_modes: Mapping[str, CancelModeType | None]
    #: operations that are still the owner's, whose rows are locked
    locked: frozenset[str]


def heartbeat(
    session: orm.Session, owner: str, op_occ_ids: Sequence[str], lease: float
) -> Renewed:
    """Renew the leases of this conductor, of each row that is not locked: one
    that is must not delay the others.
    """
    owned = (Row.owner == owner, Row.id.in_(op_occ_ids))
    found = session.execute(
        sa.select(Row.id, Row.cancel_mode)
        .where(*owned)
        .with_for_update(skip_locked=True)
    )
    renewed = dict(found.tuples().all())
    _update(session, renewed, lease_until=epoch() + lease)
    skipped = session.scalars(
        sa.select(Row.id).where(*owned, Row.id.not_in(renewed))
    )
    return Renewed(renewed, frozenset(skipped))


def publish_progress(
    session: orm.Session,
    owner: str,
    op_occ_ids: Collection[str],
    progress: Callable[[str], str | None],
) -> Mapping[str, str]:
    """Keep how far operations are, of those that are still this owner's and
    whose rows are not locked; return what was kept.

    :param progress: is asked when the row is locked, and no step can end
    """
    owned = _lock(session, Row.owner == owner, Row.id.in_(op_occ_ids))
    published = {one: line for one in owned if (line := progress(one))}
    for op_occ_id, line in published.items():
        _update(session, (op_occ_id,), progress=line)
    return published


def expire_leases(session: orm.Session, owner: str) -> None:
    """Let others take over at once what this conductor still has."""
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
    """Let another conductor begin an operation for which nothing was done
    yet; tell whether that was still so.
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


def list_unclaimed(session: orm.Session) -> Sequence[str]:
    """Find the operations that wait and that no living conductor has."""
    return session.scalars(
        sa.select(Row.id)
        .where(
            Row.operation_state.in_(states.ACTIVE),
            Row.lease_until < epoch(),
        )
        .order_by(Row.start_time)
    ).all()
