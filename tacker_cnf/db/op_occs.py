"""Operation occurrences as rows: who works on which, and how each ended.

Only `record` and `decide` change a state. A conductor proves that an
operation is still its own by the fencing token it got with the claim.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import instances, listing, models
from tacker_cnf.db.listing import Position, Wanted
from tacker_cnf.db.session import epoch
from tacker_cnf.lcm import operations, states
from tacker_cnf.lcm.states import Event
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    ResourceChanges,
    VnfLcmOpOcc,
)

Row = models.VnfLcmOpOcc

#: what a list leaves out unless it is asked for (SOL003 5.4.12.3.2)
HEAVY: Final = frozenset(
    {
        "operation_params",
        "error",
        "resource_changes",
        "changed_info",
        "changed_ext_connectivity",
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
    #: the step at which it stood
    step: str | None
    notes: tuple[str, ...]
    #: the fencing token of this claim
    fence: int
    #: the conductor that had it and was not heard of again
    lost_owner: str | None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one step of an operation left behind."""

    #: the step that comes next, or the one that failed
    step: str | None
    error: ProblemDetails | None = None
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    resource_changes: ResourceChanges | None = None


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


def get(session: orm.Session, op_occ_id: str) -> VnfLcmOpOcc:
    """Read one operation occurrence, whole.

    :raises NotFound: there is none of this id
    """
    row = session.execute(
        sa.select(*COLUMNS.values()).where(Row.id == op_occ_id)
    ).one_or_none()
    if row is None:
        raise errors.NotFound(
            f"There is no lifecycle operation occurrence {op_occ_id}."
        )
    return _value(row._mapping)  # noqa: SLF001


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
    """Make an operation this conductor's own, if nobody living has it."""
    row = session.get(Row, op_occ_id)
    if row is None or row.operation_state not in states.ACTIVE:
        return None
    got = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == op_occ_id,
            Row.fence == row.fence,
            Row.operation_state == row.operation_state,
            sa.or_(Row.owner.is_(None), Row.lease_until < epoch()),
        )
        .values(
            owner=owner,
            fence=row.fence + 1,
            lease_until=epoch() + lease,
        )
    )
    if got.rowcount != 1:
        return None
    return Work(
        op_occ=_value({name: getattr(row, name) for name in COLUMNS}),
        vim_connections=row.vim_connections,
        grant_request=row.grant_request,
        grant=row.grant,
        step=row.step,
        notes=row.notes,
        fence=row.fence + 1,
        lost_owner=row.owner,
    )


def record(
    session: orm.Session,
    work: Work,
    event: Event,
    result: Result,
    now: datetime.datetime,
) -> LcmOperationStateType:
    """Keep how a step ended; the one door to another state while it runs.

    :raises LostClaim: the operation is another conductor's by now
    """
    op_occ_id = work.op_occ.id
    before = session.scalar(
        sa.select(Row.operation_state).where(
            Row.id == op_occ_id, Row.fence == work.fence
        )
    )
    if before is None:
        raise errors.LostClaim
    new = states.advance(before, event)
    values = _given(result)
    if new != before:
        values["state_entered_time"] = now
    if new not in states.ACTIVE:
        values["owner"] = None
    if new == LcmOperationStateType.COMPLETED:
        values["error"] = None  # that of an earlier try
    got = session.connection().execute(
        sa.update(Row)
        .where(Row.id == op_occ_id, Row.fence == work.fence)
        .values(operation_state=new, **values)
    )
    if got.rowcount != 1:
        raise errors.LostClaim
    if new in states.FINAL:
        instances.release(session, op_occ_id)
    return new


def _given(result: Result) -> dict[str, Any]:
    values = {
        name: value
        for name, value in msgspec.structs.asdict(result).items()
        if value is not None
    }
    values["step"] = result.step
    if result.grant:
        values["grant_id"] = result.grant.id
    return values


def decide(
    session: orm.Session,
    op_occ_id: str,
    event: Event,
    now: datetime.datetime,
    patience: float,
) -> VnfLcmOpOcc:
    """Keep what a caller decided about a failed operation.

    :raises NotFound: there is no such operation
    :raises WrongState: this cannot be decided now, or another caller was
        first
    """
    op_occ = get(session, op_occ_id)
    state = op_occ.operation_state
    operations.check_decision(op_occ.operation, state, event)
    new = states.advance(state, event)
    got = session.connection().execute(
        sa.update(Row)
        .where(Row.id == op_occ_id, Row.operation_state == state)
        .values(
            operation_state=new,
            state_entered_time=now,
            step=None,  # nothing of the new try has begun
            owner=None,
            lease_until=epoch() + patience,
        )
    )
    if got.rowcount != 1:
        raise errors.WrongState("Another decision about this was first.")
    if new in states.FINAL:
        instances.release(session, op_occ_id)
    return get(session, op_occ_id)


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


def heartbeat(
    session: orm.Session, owner: str, held: Sequence[str], lease: float
) -> None:
    """Say that this conductor lives and goes on with what it holds."""
    session.connection().execute(
        sa.update(Row)
        .where(Row.owner == owner, Row.id.in_(held))
        .values(lease_until=epoch() + lease)
    )


def give_back(session: orm.Session, owner: str) -> None:
    """Let others take over at once what this conductor still has."""
    session.connection().execute(
        sa.update(Row)
        .where(Row.owner == owner, Row.operation_state.in_(states.ACTIVE))
        .values(lease_until=0.0)
    )


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
