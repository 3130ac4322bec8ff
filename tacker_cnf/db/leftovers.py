"""Leftovers: objects on VIMs of instances that are not instantiated.

An instance is marked when a failed instantiation of it is ended with ``fail``,
until a conductor has deleted its leftovers. Where an instance may have
objects is read from its operations, which stay when it is deleted.
"""

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import instances, models, scope
from tacker_cnf.db.session import epoch
from tacker_cnf.lcm import grant_overrides
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.shown_names import DRIVER_NAMES
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import InstantiationState
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op

Row = models.VnfInstance
OpOcc = models.VnfLcmOpOcc

#: leftovers that are stored and named in an error, at most
MAX_LISTED: Final = 20
#: the columns of an operation for an InstantiationRecord
RECORD_COLUMNS: Final = (
    OpOcc.project_id,
    OpOcc.operation,
    OpOcc.operation_params,
    OpOcc.vim_connections,
    OpOcc.grant,
    OpOcc.grant_request,
)


class InstantiationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where an operation may have created objects of an instance."""

    op_occ_id: str
    project_id: str
    vnfd_id: str | None
    vim_connections: Mapping[str, VimConnectionInfo]
    parameters: Mapping[str, Any]
    request: SolType


def get_last_instantiation(
    session: orm.Session, instance_id: str
) -> InstantiationRecord | None:
    """Return where the last instantiation of an instance, deleted or not, may
    have created objects; None: it was never instantiated.
    """
    row = _last_op_occ(session, instance_id, OpOcc.operation == Op.INSTANTIATE)
    if row is None:
        return None
    found = _to_record(row)
    # credentials may have been replaced since
    last = _last_op_occ(
        session, instance_id, OpOcc.operation != Op.INSTANTIATE
    )
    if last is None or last.start_time < row.start_time:
        return found
    connections = {**found.vim_connections, **last.vim_connections}
    return msgspec.structs.replace(found, vim_connections=connections)


def _last_op_occ(
    session: orm.Session, instance_id: str, criteria: sa.ColumnElement[bool]
) -> Any:
    return session.scalars(
        sa.select(OpOcc)
        .where(OpOcc.vnf_instance_id == instance_id, criteria)
        .order_by(OpOcc.start_time.desc())
        .limit(1)
    ).one_or_none()


def _to_record(row: Any) -> InstantiationRecord:
    operation = OPERATIONS[row.operation]
    request: SolType = msgspec.convert(
        row.operation_params, operation.request_type
    )
    return InstantiationRecord(
        op_occ_id=row.id,
        project_id=row.project_id,
        vnfd_id=row.grant_request.vnfd_id if row.grant_request else None,
        vim_connections=grant_overrides.vim_connections(
            operation, request, row.vim_connections, row.grant
        ),
        parameters=grant_overrides.parameters(
            operation.parameters(request), row.grant
        ),
        request=request,
    )


def reduce_to_record(row: models.VnfLcmOpOcc) -> None:
    """Reduce the operation of a deleted instance to where it may have created
    objects: the parameters of the driver, and the registered VIMs.
    """
    record = _to_record(row)
    parameters = {
        name: value
        for name, value in record.parameters.items()
        if name in DRIVER_NAMES
    }
    row.operation_params = {
        "flavourId": row.operation_params["flavourId"],
        **({"additionalParams": parameters} if parameters else {}),
    }
    row.vim_connections = {
        key: VimConnectionInfo(
            vim_id=connection.vim_id, vim_type=connection.vim_type
        )
        for key, connection in record.vim_connections.items()
        if connection.vim_id
    }
    if row.grant_request:
        row.grant_request = msgspec.structs.replace(
            row.grant_request, additional_params={}
        )


def recent(
    session: orm.Session, since: datetime.datetime, after: str, batch: int
) -> Sequence[InstantiationRecord]:
    """Return where instances that were deleted, or are not instantiated, may
    have objects, if they had an operation since a time; ordered by operation.

    :param after: the ID of the last operation of the previous batch
    """
    ended = sa.select(OpOcc.vnf_instance_id).where(
        OpOcc.operation.in_((Op.INSTANTIATE, Op.TERMINATE)),
        OpOcc.state_entered_time > since,
    )
    rows = session.scalars(
        sa.select(OpOcc)
        .options(orm.load_only(*RECORD_COLUMNS))
        .outerjoin(Row, Row.id == OpOcc.vnf_instance_id)
        .where(
            OpOcc.id > after,
            OpOcc.operation == Op.INSTANTIATE,
            OpOcc.vnf_instance_id.in_(ended),
            sa.or_(
                Row.id.is_(None),
                Row.instantiation_state != InstantiationState.INSTANTIATED,
            ),
        )
        .order_by(OpOcc.id)
        .limit(batch)
    )
    return [_to_record(row) for row in rows.all()]


def list_in_use(
    session: orm.Session, instance_ids: Collection[str]
) -> frozenset[str]:
    """Return those that are instantiated, or that an operation has."""
    rows = session.scalars(
        sa.select(Row.id).where(
            Row.id.in_(instance_ids),
            sa.or_(
                Row.busy_with.is_not(None),
                Row.instantiation_state == InstantiationState.INSTANTIATED,
            ),
        )
    )
    return frozenset(rows)


def mark(session: orm.Session, instance_id: str) -> None:
    """Mark that an instance may have leftovers; an earlier claim no longer
    removes the mark.
    """
    _update(session, Row.id == instance_id, leftovers=(), cleanup_owner=None)


def get(session: orm.Session, instance_id: str) -> Sequence[str] | None:
    """Return the known leftovers of an instance; None: it is not marked."""
    found: Sequence[str] | None = session.scalar(
        sa.select(Row.leftovers).where(Row.id == instance_id)
    )
    return found


def list_marked(session: orm.Session) -> Mapping[str, Sequence[str]]:
    """Return the marked instances: ID -> names of known leftovers."""
    rows = scope.rows(
        session,
        sa.select(Row.id, Row.leftovers)
        .where(Row.leftovers.is_not(None))
        .order_by(Row.created_at),
    )
    return dict(rows.tuples().all())  # type: ignore[arg-type]


def check(
    session: orm.Session, instance_id: str, request: SolType | None = None
) -> None:
    """Check that an instance has no leftovers.

    :param request: allowed despite leftovers if the failed instantiation had
        an equal one
    :raises Leftovers: the instance is marked
    """
    left = get(session, instance_id)
    if left is None:
        return
    last = get_last_instantiation(session, instance_id)
    if (
        last
        and last.request == request
        and _same_vnfd(session, instance_id, last)
    ):
        return
    listed = f": {', '.join(left)}" if left else ""
    operation = f" {last.op_occ_id}" if last else ""
    raise errors.Leftovers(
        f"VNF instance {instance_id} may still have objects of the failed "
        f"instantiation{operation} on its VIM{listed}. A conductor is deleting "
        "them; then request the deletion again, or another instantiation. "
        "The same instantiation is possible at once; roll it back or "
        "terminate it to delete them."
    )


def _same_vnfd(
    session: orm.Session, instance_id: str, last: InstantiationRecord
) -> bool:
    now = session.scalar(sa.select(Row.vnfd_id).where(Row.id == instance_id))
    return last.vnfd_id in {None, now}


def claim(
    session: orm.Session, instance_id: str, token: str, seconds: float
) -> bool:
    """Reserve an instance for the deletion of its leftovers; no operation of
    it can start meanwhile. Return whether it is reserved.
    """
    return _update(
        session,
        Row.id == instance_id,
        Row.busy_with.is_(None),
        Row.instantiation_state == InstantiationState.NOT_INSTANTIATED,
        instances.NOT_BEING_CLEANED,
        cleanup_owner=token,
        cleanup_until=epoch() + seconds,
    )


def release(
    session: orm.Session,
    instance_id: str,
    token: str,
    left: Sequence[str] | None,
) -> None:
    """Release a reserved instance, and record its leftovers.

    Without effect if the claim expired and an operation or another conductor
    has reserved the instance since.

    :param left: names of the leftovers; None: unknown
    """
    claimed = (Row.id == instance_id, Row.cleanup_owner == token)
    if left:
        is_marked = Row.leftovers.is_not(None)
        _update(
            session, *claimed, is_marked, leftovers=tuple(left[:MAX_LISTED])
        )
    elif left is not None and _update(session, *claimed, leftovers=None):
        _release_vims(session, instance_id)
    _update(session, *claimed, cleanup_owner=None, cleanup_until=None)


def unmark(session: orm.Session, instance_id: str) -> bool:
    """Remove the mark of an instance that no operation has, even if it has
    leftovers; return whether it was marked.
    """
    was_marked = _update(
        session,
        Row.id == instance_id,
        Row.leftovers.is_not(None),
        Row.busy_with.is_(None),
        leftovers=None,
    )
    if was_marked:
        _release_vims(session, instance_id)
    return was_marked


def _release_vims(session: orm.Session, instance_id: str) -> None:
    """Release the VIMs on which a free instance had leftovers."""
    row = scope.rows(
        session,
        sa.select(Row.vim_connection_info, Row.busy_with).where(
            Row.id == instance_id
        ),
    ).one()
    if row.busy_with is None:
        instances.release_vims(session, instance_id, row.vim_connection_info)


def _update(
    session: orm.Session, *criteria: sa.ColumnElement[bool], **values: Any
) -> bool:
    result = session.connection().execute(
        sa.update(Row).where(*criteria).values(**values)
    )
    return bool(result.rowcount == 1)
