"""Named leases, for work that one process does at a time."""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models
from tacker_cnf.db.session import DuplicateEntry, Store, epoch, transaction

Row = models.Lease


@transaction
def acquire(store: Store, name: str, owner: str, seconds: float) -> bool:
    """Acquire or renew a lease; return whether this owner has it.

    :param seconds: until it expires, unless it is renewed
    """
    try:
        with store.writer() as session:
            free = sa.or_(Row.owner == owner, Row.lease_until < epoch())
            if _renew(session, owner, seconds, Row.name == name, free):
                return True
            exists = session.scalar(
                sa.select(sa.func.count()).where(Row.name == name)
            )
            if not exists:
                until = epoch() + seconds
                values = {"name": name, "owner": owner, "lease_until": until}
                session.execute(sa.insert(Row).values(values))
            return not exists
    except DuplicateEntry:
        return False  # another process has just acquired it


def get_owner(session: orm.Session, name: str) -> str | None:
    """Return the owner of a lease; None: no process has it."""
    owner: str | None = session.scalar(
        sa.select(Row.owner).where(Row.name == name, Row.lease_until > epoch())
    )
    return owner


def _renew(
    session: orm.Session,
    owner: str,
    seconds: float,
    *where: sa.ColumnElement[bool],
) -> frozenset[str]:
    """Renew the leases that no other transaction has locked; return their
    names.
    """
    found = sa.select(Row.name).where(*where).with_for_update(skip_locked=True)
    names = frozenset(session.scalars(found))
    if names:
        session.connection().execute(
            sa.update(Row)
            .where(Row.name.in_(names))
            .values(owner=owner, lease_until=epoch() + seconds)
        )
    return names


class RenewedLeases(NamedTuple):
    """The result of a renewal: names of leases."""

    renewed: frozenset[str]
    #: of this owner still, whose rows other transactions lock
    locked: frozenset[str]


@transaction
def renew(
    store: Store, names: Collection[str], owner: str, seconds: float
) -> RenewedLeases:
    """Renew leases of an owner; skip locked rows."""
    owned = (Row.owner == owner, Row.name.in_(names))
    with store.writer() as session:
        renewed = _renew(session, owner, seconds, *owned)
        skipped = sa.select(Row.name).where(*owned, Row.name.not_in(renewed))
        return RenewedLeases(renewed, frozenset(session.scalars(skipped)))


@transaction
def release(store: Store, names: Collection[str], owner: str) -> None:
    """Release leases of an owner."""
    with store.writer() as session:
        session.connection().execute(
            sa.delete(Row).where(Row.owner == owner, Row.name.in_(names))
        )
