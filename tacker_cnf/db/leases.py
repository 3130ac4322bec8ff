"""Leases: work that one process at a time does for all of them."""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models
from tacker_cnf.db.session import DuplicateEntry, Store, epoch, transaction

Row = models.Lease


@transaction
def take(store: Store, name: str, owner: str, seconds: float) -> bool:
    """Take or renew a lease; tell whether it is this owner's now.

    :param name: what only one may do
    :param seconds: for how long it is held, unless it is renewed
    """
    try:
        with store.writer() as session:
            if _renew(session, name, owner, seconds):
                return True
            held = session.scalar(
                sa.select(sa.func.count()).where(Row.name == name)
            )
            if not held:
                until = epoch() + seconds
                values = {"name": name, "owner": owner, "lease_until": until}
                session.execute(sa.insert(Row).values(values))
            return not held
    except DuplicateEntry:
        return False  # another was first just now


def _renew(
    session: orm.Session, name: str, owner: str, seconds: float
) -> bool:
    got = session.connection().execute(
        sa.update(Row)
        .where(
            Row.name == name,
            sa.or_(Row.owner == owner, Row.lease_until < epoch()),
        )
        .values(owner=owner, lease_until=epoch() + seconds)
    )
    return bool(got.rowcount == 1)


@transaction
def renew(
    store: Store, names: Collection[str], owner: str, seconds: float
) -> frozenset[str]:
    """Renew leases, and tell which of them are still this owner's."""
    mine = sa.and_(Row.owner == owner, Row.name.in_(names))
    with store.writer() as session:
        session.connection().execute(
            sa.update(Row).where(mine).values(lease_until=epoch() + seconds)
        )
        return frozenset(session.scalars(sa.select(Row.name).where(mine)))


@transaction
def drop(store: Store, names: Collection[str], owner: str) -> None:
    """Let others take some leases at once."""
    with store.writer() as session:
        session.connection().execute(
            sa.delete(Row).where(Row.owner == owner, Row.name.in_(names))
        )


@transaction
def give_back(store: Store, owner: str) -> None:
    """Let others take at once what this owner holds."""
    with store.writer() as session:
        session.connection().execute(sa.delete(Row).where(Row.owner == owner))
