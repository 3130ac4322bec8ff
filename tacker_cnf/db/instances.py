"""VNF instances as rows, given out as SOL003 VnfInstance."""

import datetime
from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models
from tacker_cnf.db.listing import Position, Wanted
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance

Row = models.VnfInstance

#: what a list leaves out unless it is asked for (SOL003 5.4.2.3.2)
HEAVY: Final = frozenset(
    {
        "vnf_configurable_properties",
        "vim_connection_info",
        "instantiated_vnf_info",
        "extensions",
        "metadata",
    }
)
COLUMNS: Final = {
    name: getattr(Row, "vnf_metadata" if name == "metadata" else name)
    for name in VnfInstance.__struct_fields__
    if name not in {"links", "vnf_pkg_id"}
}


def _value(row: Any) -> VnfInstance:
    given = {name: value for name, value in row.items() if value is not None}
    return VnfInstance(**given)


def add(
    session: orm.Session, instance: VnfInstance, now: datetime.datetime
) -> None:
    """Keep a new VNF instance.

    :raises ReferenceError: its VNFD has gone (at flush)
    """
    values = {
        column.key: getattr(instance, name) for name, column in COLUMNS.items()
    }
    session.add(Row(created_at=now, **values))


def get(session: orm.Session, instance_id: str) -> VnfInstance:
    """Read one VNF instance, whole.

    :raises NotFound: there is none of this id
    """
    columns = [column.label(name) for name, column in COLUMNS.items()]
    row = session.execute(
        sa.select(*columns).where(Row.id == instance_id)
    ).one_or_none()
    if row is None:
        raise errors.NotFound(f"There is no VNF instance {instance_id}.")
    return _value(row._mapping)  # noqa: SLF001


def find(
    session: orm.Session, wanted: Wanted
) -> Iterator[tuple[Position, VnfInstance]]:
    """List VNF instances, the oldest first, and where each stands."""
    order = (Row.created_at, Row.id)
    for position, row in listing.rows(session, COLUMNS, order, wanted):
        yield position, _value(row)


def check_free(session: orm.Session, instance_id: str) -> None:
    """Make sure that no operation holds the instance.

    :raises OperationInProgress: one does
    """
    op_occ = models.VnfLcmOpOcc
    holder = session.execute(
        sa.select(Row.busy_with, op_occ.operation, op_occ.operation_state)
        .outerjoin(op_occ, Row.busy_with == op_occ.id)
        .where(Row.id == instance_id, Row.busy_with.is_not(None))
    ).one_or_none()
    if holder is not None:
        op_occ_id, operation, state = holder
        raise errors.OperationInProgress(
            f"VNF instance {instance_id} is held by the lifecycle operation "
            f"{op_occ_id} ({operation}, {state})."
        )


def reserve(
    session: orm.Session,
    instance_id: str,
    op_occ_id: str,
    state: InstantiationState,
) -> None:
    """Give the instance to one operation until that ends for good.

    :raises OperationInProgress: another one was first
    """
    got = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == instance_id,
            Row.busy_with.is_(None),
            Row.instantiation_state == state,
        )
        .values(busy_with=op_occ_id)
    )
    if got.rowcount != 1:
        raise errors.OperationInProgress(
            f"Another lifecycle operation of VNF instance {instance_id} "
            "was first."
        )


def release(session: orm.Session, op_occ_id: str) -> None:
    """Let the next operation come to the instance this one held.

    An instance that is not instantiated needs no VIM to stay.
    """
    down = sa.select(Row.id).where(
        Row.busy_with == op_occ_id,
        Row.instantiation_state == InstantiationState.NOT_INSTANTIATED,
    )
    session.connection().execute(
        sa.delete(models.VimUse).where(models.VimUse.vnf_instance_id.in_(down))
    )
    session.connection().execute(
        sa.update(Row).where(Row.busy_with == op_occ_id).values(busy_with=None)
    )


def update(session: orm.Session, instance: VnfInstance) -> None:
    """Keep what an operation made of the instance."""
    values = {
        column: getattr(instance, name) for name, column in COLUMNS.items()
    }
    session.connection().execute(
        sa.update(Row)
        .where(Row.id == instance.id)
        .values({**values, Row.generation: Row.generation + 1})
    )


def generation(session: orm.Session, instance_id: str) -> int:
    """Tell how many changes an instance has seen."""
    return session.scalars(
        sa.select(Row.generation).where(Row.id == instance_id)
    ).one()


def refresh(session: orm.Session, instance: VnfInstance, seen: int) -> bool:
    """Keep what the VIM made of an instance by itself, unless an operation
    holds it or has changed it since it was seen; tell whether it was kept.
    """
    got = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == instance.id,
            Row.busy_with.is_(None),
            Row.generation == seen,
        )
        .values(
            instantiated_vnf_info=instance.instantiated_vnf_info,
            generation=seen + 1,
        )
    )
    return bool(got.rowcount == 1)


def delete(session: orm.Session, instance_id: str) -> None:
    """Forget an instance that is free and not instantiated.

    :raises OperationInProgress: an operation was first
    """
    got = session.connection().execute(
        sa.delete(Row).where(
            Row.id == instance_id,
            Row.busy_with.is_(None),
            Row.instantiation_state == InstantiationState.NOT_INSTANTIATED,
        )
    )
    if got.rowcount != 1:
        raise errors.OperationInProgress(
            f"A lifecycle operation of VNF instance {instance_id} was first."
        )
