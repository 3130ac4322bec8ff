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
from tacker_cnf.db.listing import Position, Wanted
from tacker_cnf.db.session import RowsLocked, epoch
from tacker_cnf.lcm import operations, states
from tacker_cnf.lcm.scripted import InstanceChanges, ProvidedVim
from tacker_cnf.lcm.states import Event
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
from tacker_cnf.terms import NONE, Terms

Row = models.VnfLcmOpOcc
#: the most characters that a line of progress has
PROGRESS: Final = 255

#: how much is kept of what the scripts of an operation wrote, in characters
SCRIPT_LOG: Final = 256 * 1024

#: what a list leaves out unless it is asked for (SOL003 5.4.12.3.2)
HEAVY: Final = frozenset(
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


class Work(msgspec.Struct, frozen=True, kw_only=True):
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
    given = {name: value for name, value in row.items() if value is not None}
    return VnfLcmOpOcc(**given)


def add(
    session: orm.Session,
    op_occ: VnfLcmOpOcc,
    vim_connections: Mapping[str, VimConnectionInfo],
    now: datetime.datetime,
    patience: float,
) -> None:
    """Keep a new operation, which waits for a conductor.

    :param now: when it began, more exactly than SOL003 tells it
    :param patience: seconds after which the sweep looks for it, because its
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
            lease_until=epoch() + patience,
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
    asked = sa.select(*COLUMNS.values()).where(Row.id == op_occ_id)
    row = session.execute(
        asked.with_for_update() if lock else asked
    ).one_or_none()
    if row is None:
        raise _unknown(op_occ_id)
    return _value(row._mapping)  # noqa: SLF001


def _unknown(op_occ_id: str) -> errors.NotFound:
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


def tag(session: orm.Session, op_occ_id: str) -> str:
    """Give the entity tag of an operation, another one after each change.

    :raises NotFound: there is none of this id
    """
    row = session.execute(
        sa.select(*_VERSION).where(Row.id == op_occ_id)
    ).one_or_none()
    if row is None:
        raise _unknown(op_occ_id)
    told = "|".join(map(str, row))
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def is_there(session: orm.Session, op_occ_id: str) -> bool:
    """Tell whether there is such an operation occurrence."""
    known = sa.select(Row.id).where(Row.id == op_occ_id)
    return session.scalar(known) is not None


def find(
    session: orm.Session, wanted: Wanted
) -> Iterator[tuple[Position, VnfLcmOpOcc]]:
    """List operation occurrences, the oldest first, and where each stands."""
    order = (Row.start_time, Row.id)
    for position, row in listing.rows(session, COLUMNS, order, wanted):
        yield position, _value(row)


def claim(
    session: orm.Session, op_occ_id: str, owner: str, lease: float
) -> Work | None:
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
    return Work(
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
    work: Work,
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
    before, cancelled_by, recorded = _locked(session, work)
    if recorded == number:
        return before
    if cancelled_by and event != Event.FAIL:
        event, result = Event.FAIL, _cancelled(result, cancelled_by)
    new = states.advance(before, event)
    result = _with_former_data(session, work, result)
    values = {**_given(result), **_of_state(new), "recorded": number}
    if new != before:
        values["state_entered_time"] = now
    session.connection().execute(
        sa.update(Row)
        .where(Row.id == work.op_occ.id)
        .values(operation_state=new, **values)
    )
    if event != Event.FAIL:
        vims.provide(session, work.op_occ.vnf_instance_id, result.vims, now)
    if event == Event.DONE and result.instance:
        _keep(session, work.op_occ.operation, result.instance)
    if new in states.FINAL:
        instances.release(session, work.op_occ.id)
    if new != before:
        outbox.announce(session, get(session, work.op_occ.id), now)
    return new


def _keep(
    session: orm.Session, operation: LcmOperationType, instance: VnfInstance
) -> None:
    """Keep what an operation made of its instance."""
    instances.update(session, instance)
    if operations.OPERATIONS[operation].changes_vim:
        leftovers.clear(session, instance.id)
    if instance.instantiation_state == InstantiationState.NOT_INSTANTIATED:
        # what it was made of is gone
        vims.withdraw(session, instance.id)


def _with_former_data(
    session: orm.Session, work: Work, result: Result
) -> Result:
    """Keep what a script left for its next run, if the error that takes the
    place of its own has nothing of the kind: it was killed, or its turn never
    came.
    """
    error = result.error
    if error is None or error.user_script_err_handling_data is not None:
        return result
    former = session.scalar(
        sa.select(Row.error).where(Row.id == work.op_occ.id)
    )
    if former is None or former.user_script_err_handling_data is None:
        return result
    data = former.user_script_err_handling_data
    error = msgspec.structs.replace(error, user_script_err_handling_data=data)
    return msgspec.structs.replace(result, error=error)


def _cancelled(result: Result, mode: CancelModeType) -> Result:
    why = errors.Cancelled(
        f"The operation was cancelled ({mode}) when one of its steps had just "
        "ended."
    )
    return msgspec.structs.replace(
        result,
        error=errors.problem_of(why),
        changed_info=None,
        changed_ext_connectivity=None,
        modifications_triggered_by_vnf_pkg_change=None,
    )


def _of_state(state: LcmOperationStateType) -> dict[str, Any]:
    """Tell what goes with a state."""
    if state in states.ACTIVE:
        return {}
    # nobody works on it any more, and nobody can be told to stop
    ended = {"owner": None, "is_cancel_pending": False, "cancel_mode": None}
    if state == LcmOperationStateType.COMPLETED:
        ended["error"] = None  # that of an earlier try
    return ended


def _locked(
    session: orm.Session, work: Work
) -> tuple[LcmOperationStateType, CancelModeType | None, int]:
    """Read the state, how it is cancelled, if it is, and how many ends of
    steps are recorded, and let nobody change them.

    :raises LostClaim: the operation is another conductor's by now
    """
    found = session.execute(
        sa.select(Row.operation_state, Row.cancel_mode, Row.recorded)
        .where(Row.id == work.op_occ.id, Row.fence == work.fence)
        .with_for_update()
    ).one_or_none()
    if found is None:
        raise errors.LostClaim
    state, cancelled_by, recorded = found
    return state, cancelled_by, recorded


def _given(result: Result) -> dict[str, Any]:
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
    patience: float,
    terms: Terms = NONE,
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
    if terms.tags is not None:
        terms.check(tag(session, op_occ_id))
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
            lease_until=epoch() + patience,
        )
    )
    if new in states.FINAL:
        if op_occ.operation == LcmOperationType.INSTANTIATE:
            leftovers.mark(session, op_occ.vnf_instance_id)
        instances.release(session, op_occ_id)
    decided = get(session, op_occ_id)
    outbox.announce(session, decided, now)
    return decided


def note(session: orm.Session, work: Work, notes: tuple[str, ...]) -> None:
    """Keep what a driver is about to do and could not tell afterwards.

    :raises LostClaim: the operation is another conductor's by now
    """
    got = session.connection().execute(
        sa.update(Row)
        .where(Row.id == work.op_occ.id, Row.fence == work.fence)
        .values(notes=notes)
    )
    if got.rowcount != 1:
        raise errors.LostClaim


def remember(
    session: orm.Session, work: Work, memory: dict[str, Any] | None
) -> None:
    """Keep what a script remembers of the VNF instance.

    :raises LostClaim: the operation is another conductor's by now
    """
    _locked(session, work)
    instances.remember(session, work.op_occ.vnf_instance_id, memory)


def log_of(session: orm.Session, work: Work) -> str:
    """Give what the scripts of the operation wrote.

    :raises LostClaim: the operation is another conductor's by now
    """
    row = session.execute(
        sa.select(Row.script_log).where(*_held_by(work))
    ).first()
    if row is None:
        raise errors.LostClaim
    return row[0] or ""


def write_log(session: orm.Session, work: Work, text: str) -> None:
    """Keep what the scripts of the operation wrote, the end of it.

    :raises LostClaim: the operation is another conductor's by now
    """
    got = session.connection().execute(
        sa.update(Row)
        .where(*_held_by(work))
        .values(script_log=text[-SCRIPT_LOG:])
    )
    if got.rowcount != 1:
        raise errors.LostClaim


def _held_by(work: Work) -> tuple[sa.ColumnElement[bool], ...]:
    return Row.id == work.op_occ.id, Row.fence == work.fence


def cancel(
    session: orm.Session,
    op_occ_id: str,
    mode: CancelModeType,
    terms: Terms = NONE,
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
    if terms.tags is not None:
        terms.check(tag(session, op_occ_id))
    if op_occ.cancel_mode == CancelModeType.FORCEFUL:
        return
    session.connection().execute(
        sa.update(Row)
        .where(Row.id == op_occ_id)
        .values(is_cancel_pending=True, cancel_mode=mode)
    )


def cancelled(session: orm.Session, op_occ_id: str) -> CancelModeType | None:
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
    session: orm.Session, owner: str, held: Sequence[str], lease: float
) -> Renewed:
    """Renew the leases of this conductor, of each row that is not locked: one
    that is must not delay the others.
    """
    mine = (Row.owner == owner, Row.id.in_(held))
    found = session.execute(
        sa.select(Row.id, Row.cancel_mode)
        .where(*mine)
        .with_for_update(skip_locked=True)
    )
    renewed = dict(found.tuples().all())
    _update(session, renewed, lease_until=epoch() + lease)
    skipped = session.scalars(
        sa.select(Row.id).where(*mine, Row.id.not_in(renewed))
    )
    return Renewed(renewed, frozenset(skipped))


def tell(
    session: orm.Session,
    owner: str,
    op_occ_ids: Collection[str],
    progress: Callable[[str], str | None],
) -> Mapping[str, str]:
    """Keep how far operations are, of those that are still this owner's and
    whose rows are not locked; return what was kept.

    :param progress: is asked when the row is locked, and no step can end
    """
    mine = _lock(session, Row.owner == owner, Row.id.in_(op_occ_ids))
    kept = {one: line for one in mine if (line := progress(one))}
    for op_occ_id, line in kept.items():
        _update(session, (op_occ_id,), progress=line)
    return kept


def give_back(session: orm.Session, owner: str) -> None:
    """Let others take over at once what this conductor still has."""
    ours = _lock(
        session, Row.owner == owner, Row.operation_state.in_(states.ACTIVE)
    )
    _update(session, ours, lease_until=0.0)


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


def hand_on(session: orm.Session, owner: str, op_occ_id: str) -> bool:
    """Let another conductor begin an operation for which nothing was done
    yet; tell whether that was still so.
    """
    got = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == op_occ_id,
            Row.owner == owner,
            Row.operation_state == LcmOperationStateType.STARTING,
        )
        .values(owner=None, fence=Row.fence + 1, lease_until=0.0)
    )
    return bool(got.rowcount == 1)


def forgotten(session: orm.Session) -> Sequence[str]:
    """Find the operations that wait and that no living conductor has."""
    return session.scalars(
        sa.select(Row.id)
        .where(
            Row.operation_state.in_(states.ACTIVE),
            Row.lease_until < epoch(),
        )
        .order_by(Row.start_time)
    ).all()
