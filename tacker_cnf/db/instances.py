"""VNF instances: rows, returned as SOL003 VnfInstance."""

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models, outbox, scope, vims
from tacker_cnf.db.session import epoch
from tacker_cnf.db.types import SecretJson
from tacker_cnf.db.vims import ProvidedVimRecord
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.preconditions import NO_PRECONDITIONS, Preconditions
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import (
    InstantiationState,
    VnfInstance,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType

Row = models.VnfInstance

COLUMNS: Final = {
    name: getattr(Row, "vnf_metadata" if name == "metadata" else name)
    for name in VnfInstance.__struct_fields__
    if name != "links"
}
#: those that an operation can change
CHANGEABLE: Final = {
    name: column for name, column in COLUMNS.items() if name != "project_id"
}

#: no conductor is deleting leftovers of the instance
NOT_BEING_CLEANED: Final = sa.or_(
    Row.cleanup_until.is_(None), Row.cleanup_until < epoch()
)

_OF_ID: Final = Row.id == sa.bindparam("instance_id")
_TAGGED: Final = sa.select(Row.project_id, Row.user_id, Row.generation).where(
    _OF_ID
)
_STORED: Final = sa.select(
    *(column.label(name) for name, column in COLUMNS.items()),
    Row.user_id,
    Row.generation,
    Row.vnf_package_id,
    Row.busy_with,
    Row.leftovers,
    sa.and_(Row.busy_with.is_(None), NOT_BEING_CLEANED).label("is_free"),
    sa.exists()
    .where(models.VnfdUse.vnf_instance_id == Row.id)
    .label("uses_next_vnfd"),
    sa.exists()
    .where(models.VimProvider.vnf_instance_id == Row.id)
    .label("provides_vims"),
).where(_OF_ID)
_CHANGE: Final = (
    sa.update(Row).where(_OF_ID).values(generation=Row.generation + 1)
)
_RELEASE: Final = sa.update(Row).where(_OF_ID).values(busy_with=None)
_RELEASE_CHANGED: Final = _CHANGE.values(busy_with=None)
_RELEASE_VIMS: Final = sa.delete(models.VimUse).where(
    models.VimUse.vnf_instance_id == sa.bindparam("instance_id"),
    models.VimUse.vim_id.not_in(sa.bindparam("kept_vim_ids", expanding=True)),
)
_RESERVE: Final = (
    sa.update(Row)
    .where(
        _OF_ID,
        Row.busy_with.is_(None),
        NOT_BEING_CLEANED,
        Row.generation == sa.bindparam("expected_generation"),
    )
    .values(
        busy_with=sa.bindparam("op_occ_id"),
        cleanup_owner=None,
        cleanup_until=None,
    )
)


class StoredInstance(NamedTuple):
    """A VNF instance as the database has it."""

    instance: VnfInstance
    #: number of its changes; a VIM that it provides counts when it is
    #: registered, renamed or deleted
    generation: int
    #: the package of its VNFD
    package_id: str
    #: the operation that has it; None: none
    holder: str | None
    #: whether an operation could reserve it now
    is_free: bool
    #: names of known objects that a failed instantiation has left; None: none
    leftovers: Sequence[str] | None
    #: whether the operation that has it changes its VNFD
    uses_next_vnfd: bool
    #: the VIMs that it provides, oldest first
    vims: Sequence[ProvidedVimRecord]

    @property
    def is_terminated(self) -> bool:
        """Whether the instance is not instantiated."""
        state = self.instance.instantiation_state
        return state is InstantiationState.NOT_INSTANTIATED

    @property
    def etag(self) -> str:
        """The entity tag, as the function of this name returns it."""
        return str(self.generation)


def _value(row: Any) -> VnfInstance:
    attributes = {
        name: value for name, value in row.items() if value is not None
    }
    return VnfInstance(**attributes)


def add(
    session: orm.Session,
    instance: VnfInstance,
    package_id: str,
    now: datetime.datetime,
    user_id: str | None = None,
) -> None:
    """Add a new VNF instance.

    :param package_id: the package of its VNFD
    :param user_id: the user that creates it
    :raises ReferenceError: the package was deleted (at flush)
    """
    values = {
        column.key: getattr(instance, name) for name, column in COLUMNS.items()
    }
    session.add(
        Row(
            created_at=now,
            user_id=user_id,
            vnf_package_id=package_id,
            **values,
        )
    )
    outbox.announce_creation(session, instance, now)


def get(session: orm.Session, instance_id: str) -> VnfInstance:
    """Return one VNF instance with all attributes.

    :raises NotFound: the instance does not exist
    :raises Forbidden: the policy does not allow the client this instance
    """
    return load(session, instance_id).instance


def load(session: orm.Session, instance_id: str) -> StoredInstance:
    """Return one VNF instance with all that the database has of it.

    :raises NotFound: the instance does not exist
    :raises Forbidden: the policy does not allow the client this instance
    """
    return _stored(session, _authorized_row(session, _STORED, instance_id))


def etag(session: orm.Session, instance_id: str) -> str:
    """Return the entity tag of one VNF instance: it differs after each change
    of the instance or of the VIMs that it provides.

    :raises NotFound: the instance does not exist
    :raises Forbidden: the policy does not allow the client this instance
    """
    return str(_authorized_row(session, _TAGGED, instance_id).generation)


def _authorized_row(
    session: orm.Session,
    statement: sa.Select[*tuple[Any, ...]],
    instance_id: str,
) -> Any:
    row = scope.rows(
        session, statement, {"instance_id": instance_id}
    ).one_or_none()
    if row is None:
        raise errors.NotFound(f"There is no VNF instance {instance_id}.")
    scope.authorize(session, scope.owner_of(row))
    return row


def load_free(session: orm.Session, instance_id: str) -> StoredInstance:
    """Return one VNF instance that no operation has, as load() does.

    :raises OperationInProgress: an operation or a conductor has it
    """
    stored = load(session, instance_id)
    if not stored.is_free:
        check_not_busy(session, instance_id)
    return stored


def find_reserved(
    session: orm.Session, instance_id: str, op_occ_id: str
) -> StoredInstance | None:
    """Return the instance that an operation has; None: it has none."""
    row = scope.rows(
        session, _STORED, {"instance_id": instance_id}
    ).one_or_none()
    if row is None or row.busy_with != op_occ_id:
        return None
    return _stored(session, row)


def _stored(session: orm.Session, row: Any) -> StoredInstance:
    return StoredInstance(
        instance=_value({name: getattr(row, name) for name in COLUMNS}),
        generation=row.generation,
        package_id=row.vnf_package_id,
        holder=row.busy_with,
        is_free=row.is_free,
        leftovers=row.leftovers,
        uses_next_vnfd=row.uses_next_vnfd,
        vims=vims.list_provided(session, row.id) if row.provides_vims else (),
    )


def package_ids(
    session: orm.Session, instance_ids: Collection[str]
) -> Mapping[str, str]:
    """Return the packages of the VNFDs of instances, by the instances."""
    rows = scope.rows(
        session,
        sa.select(Row.id, Row.vnf_package_id).where(Row.id.in_(instance_ids)),
    )
    return {row.id: row.vnf_package_id for row in rows}


def find(
    session: orm.Session, query: ListQuery
) -> Iterator[tuple[Position, VnfInstance]]:
    """List VNF instances, oldest first, with their positions."""
    order = (Row.created_at, Row.id)
    for position, row in listing.rows(session, COLUMNS, order, query):
        yield position, _value(row)


def check_not_busy(session: orm.Session, instance_id: str) -> None:
    """Check that no operation has the instance, and that no conductor is
    deleting its leftovers.

    :raises OperationInProgress: an operation or a conductor has it
    """
    op_occ = models.VnfLcmOpOcc
    holder = scope.rows(
        session,
        sa.select(Row.busy_with, op_occ.operation, op_occ.operation_state)
        .outerjoin(op_occ, Row.busy_with == op_occ.id)
        .where(
            Row.id == instance_id,
            sa.or_(Row.busy_with.is_not(None), ~NOT_BEING_CLEANED),
        ),
    ).one_or_none()
    if holder is None:
        return
    op_occ_id, operation, state = holder
    if op_occ_id is None:
        raise errors.OperationInProgress(
            f"A conductor is deleting objects of VNF instance {instance_id} "
            "from its VIM; retry in some seconds."
        )
    raise errors.OperationInProgress(
        f"VNF instance {instance_id} is reserved by the lifecycle operation "
        f"{op_occ_id} ({operation}, {state}). {_NEXT.get(state, _WAIT)}"
    )


#: what a client can do while another operation has an instance
_WAIT: Final = "Wait for its end, or cancel it."
_NEXT: Final = {
    LcmOperationStateType.FAILED_TEMP: (
        "Retry that operation, roll it back or fail it; not each can be "
        "rolled back."
    )
}


def reserve(
    session: orm.Session,
    instance_id: str,
    op_occ_id: str,
    expected_generation: int,
) -> None:
    """Reserve the instance for one operation until its final state; drop an
    expired claim of a conductor that deleted leftovers.

    :param expected_generation: for which the request was checked
    :raises OperationInProgress: another operation or a conductor has it
    :raises Stale: the instance has changed since it was checked
    """
    changed = scope.count_changed(
        session,
        _RESERVE,
        {
            "instance_id": instance_id,
            "expected_generation": expected_generation,
            "op_occ_id": op_occ_id,
        },
    )
    if changed != 1:
        check_not_busy(session, instance_id)
        raise errors.Stale(
            f"VNF instance {instance_id} keeps changing; retry the request."
        )


def release(
    session: orm.Session,
    stored: StoredInstance,
    result: VnfInstance | None = None,
    *,
    clears_leftovers: bool = False,
) -> StoredInstance:
    """Release an instance at the end of its operation, in one statement with
    its result; return it.

    Release the packages and VIMs that only the operation used, but not VIMs
    with leftovers.

    :param stored: as it was before the operation
    :param result: the instance after the operation; None: as before
    :param clears_leftovers: whether there can be no leftovers any more
    """
    instance = result or stored.instance
    after = stored._replace(instance=instance, holder=None)
    values: dict[str, Any] = {}
    if result:
        values |= _changed_values(result)
        if after.is_terminated:  # so the memory of its scripts is cleared
            values["script_memory"] = None
        if result.vnfd_id != stored.instance.vnfd_id:
            after = after._replace(package_id=_next_package(session, result))
            values["vnf_package_id"] = after.package_id
    if clears_leftovers:
        values["leftovers"] = None
    if clears_leftovers or stored.leftovers is None:
        release_vims(session, instance.id, instance.vim_connection_info)
    session.connection().execute(
        _RELEASE_CHANGED if result else _RELEASE,
        {"instance_id": instance.id, **models.parameters(Row, values)},
    )
    if stored.uses_next_vnfd:
        use = models.VnfdUse
        session.connection().execute(
            sa.delete(use).where(use.vnf_instance_id == instance.id)
        )
    return after


def _next_package(session: orm.Session, instance: VnfInstance) -> str:
    """Return the package of the VNFD to which an operation has changed an
    instance.
    """
    use = models.VnfdUse
    return session.scalars(
        sa.select(use.vnf_package_id).where(use.vnf_instance_id == instance.id)
    ).one()


def _changed_values(instance: VnfInstance) -> dict[str, Any]:
    return {c.key: getattr(instance, name) for name, c in CHANGEABLE.items()}


def release_vims(
    session: orm.Session,
    instance_id: str,
    connections: Mapping[str, VimConnectionInfo] | None,
) -> None:
    """Release the VIMs of an instance, except those of `connections`."""
    kept = [c.vim_id for c in (connections or {}).values() if c.vim_id]
    session.connection().execute(
        _RELEASE_VIMS, {"instance_id": instance_id, "kept_vim_ids": kept}
    )


def merge_metadata(
    session: orm.Session, instance_id: str, metadata: Mapping[str, Any]
) -> None:
    """Merge values into the metadata of instantiatedVnfInfo."""
    instance = get(session, instance_id)
    info = instance.instantiated_vnf_info
    if info is not None:
        merged = msgspec.structs.replace(
            info, metadata={**info.metadata, **metadata}
        )
        changed = msgspec.structs.replace(
            instance, instantiated_vnf_info=merged
        )
        session.connection().execute(
            _CHANGE,
            {
                "instance_id": instance_id,
                **models.parameters(Row, _changed_values(changed)),
            },
        )


def get_script_memory(
    session: orm.Session, instance_id: str
) -> dict[str, Any] | None:
    """Return the memory of the scripts of an instance; they define its keys."""
    return session.scalar(
        sa.select(Row.script_memory).where(Row.id == instance_id)
    )


def save_script_memory(
    session: orm.Session, instance_id: str, memory: dict[str, Any] | None
) -> None:
    """Save the memory of the scripts of an instance.

    Clients cannot read it, so the generation stays the same.
    """
    session.connection().execute(
        sa.update(Row)
        .where(Row.id == instance_id)
        .values(script_memory=memory)
    )


def check_preconditions(
    session: orm.Session, instance_id: str, preconditions: Preconditions
) -> None:
    """Check the preconditions of a request for an instance.

    :raises NotFound: the instance does not exist
    :raises PreconditionFailed: the instance has another entity tag
    """
    if preconditions.if_match is not None:
        preconditions.check(etag(session, instance_id))


def list_instantiated(
    session: orm.Session, after: str, batch: int
) -> Sequence[tuple[str, int]]:
    """List instantiated instances by ID, with their generations."""
    rows = scope.rows(
        session,
        sa.select(Row.id, Row.generation)
        .where(
            Row.id > after,
            Row.instantiation_state == InstantiationState.INSTANTIATED,
        )
        .order_by(Row.id)
        .limit(batch),
    )
    return [(row.id, row.generation) for row in rows]


def list_idle(session: orm.Session, after: str, batch: int) -> Sequence[str]:
    """List by ID the instances that have objects or leftovers on a VIM, and
    that no operation has.
    """
    return session.scalars(
        sa.select(Row.id)
        .where(
            Row.id > after,
            sa.or_(
                Row.instantiation_state == InstantiationState.INSTANTIATED,
                Row.leftovers.is_not(None),
            ),
            Row.busy_with.is_(None),
        )
        .order_by(Row.id)
        .limit(batch)
    ).all()


def list_busy(
    session: orm.Session, instance_ids: Collection[str]
) -> Sequence[str]:
    """List those of the instances that an operation has."""
    return session.scalars(
        sa.select(Row.id).where(
            Row.id.in_(instance_ids), Row.busy_with.is_not(None)
        )
    ).all()


class _Tenancy(SolType):
    """What is read of an InstantiatedVnfInfo to know where the VNF is."""

    metadata: Mapping[str, Any] = {}


class VimsOfInstance(NamedTuple):
    """Where an instantiated VNF is."""

    instance_id: str
    generation: int
    connections: dict[str, VimConnectionInfo]
    #: its namespace or project on the VIM
    tenant: str | None


def list_vim_connections(
    session: orm.Session, instance_ids: Collection[str]
) -> Iterator[VimsOfInstance]:
    """List the VIMs of instances; skip those that are not instantiated."""
    rows = scope.rows(
        session,
        sa.select(
            Row.id,
            Row.generation,
            Row.vim_connection_info,
            # the resources are not decoded
            sa.type_coerce(Row.instantiated_vnf_info, SecretJson(_Tenancy)),
        ).where(
            Row.id.in_(instance_ids),
            Row.vim_connection_info.is_not(None),
            Row.instantiated_vnf_info.is_not(None),
        ),
    )
    for instance_id, generation, connections, tenancy in rows:
        tenant = tenancy.metadata.get("tenant")
        yield VimsOfInstance(
            instance_id, generation, connections or {}, tenant and str(tenant)
        )


def refresh(
    session: orm.Session, instance: VnfInstance, expected_generation: int
) -> bool:
    """Store the resources that a synchronization has found, unless an
    operation has the instance or changed it since; return whether it was
    stored.
    """
    result = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == instance.id,
            Row.busy_with.is_(None),
            Row.generation == expected_generation,
        )
        .values(
            instantiated_vnf_info=instance.instantiated_vnf_info,
            generation=expected_generation + 1,
        )
    )
    return bool(result.rowcount == 1)


def delete(
    session: orm.Session,
    instance_id: str,
    preconditions: Preconditions = NO_PRECONDITIONS,
) -> None:
    """Delete an instance that is not instantiated and has no operation.

    :raises NotFound: the instance has just been deleted
    :raises OperationInProgress: an operation has just reserved the instance
    :raises PreconditionFailed: the instance has another entity tag
    """
    stored = load(session, instance_id)
    preconditions.check(stored.etag)
    deleted = scope.count_changed(
        session,
        sa.delete(Row).where(
            Row.id == instance_id,
            Row.busy_with.is_(None),
            Row.instantiation_state == InstantiationState.NOT_INSTANTIATED,
            Row.leftovers.is_(None),
            Row.generation == stored.generation,
        ),
    )
    if deleted != 1:
        raise errors.OperationInProgress(
            f"A lifecycle operation of VNF instance {instance_id} has just "
            "started."
        )
    outbox.announce_deletion(session, stored.instance)
