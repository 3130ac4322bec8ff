"""The registered conductors and their leases."""

import dataclasses
import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models, scope
from tacker_cnf.db.session import Store, epoch, transaction
from tacker_cnf.lcm import states

Row = models.Conductor
Operation = models.VnfLcmOpOcc

#: seconds after which a conductor with an expired lease is deleted
DEAD_CONDUCTOR_RETENTION_S: Final = 86400.0
#: shown as progress of an operation if no conductor is alive
NONE_ALIVE: Final = "No conductor is running: operations wait."
_IS_ALIVE: Final = Row.lease_until > epoch()
#: whether a conductor is alive
SOME_ALIVE: Final = sa.exists().where(_IS_ALIVE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiveConductor:
    """A conductor that is alive."""

    #: host, process id and a UUID, with colons between
    owner: str
    started: datetime.datetime
    heartbeat: datetime.datetime
    #: number of operations it runs
    operations: int


@transaction
def report(store: Store, owner: str, seconds: float) -> None:
    """Register a conductor, or renew its lease.

    :param seconds: the length of the lease
    """
    now, until = epoch(), epoch() + seconds
    with store.writer() as session:
        found = session.connection().execute(
            sa.update(Row)
            .where(Row.owner == owner)
            .values(heartbeat=now, lease_until=until)
        )
        if not found.rowcount:
            old = epoch() - DEAD_CONDUCTOR_RETENTION_S
            session.execute(sa.delete(Row).where(Row.lease_until < old))
            values = {"owner": owner, "started": now, "heartbeat": now}
            session.execute(sa.insert(Row).values(**values, lease_until=until))


@transaction
def unregister(store: Store, owner: str) -> None:
    """Delete the registration of a conductor."""
    with store.writer() as session:
        session.execute(sa.delete(Row).where(Row.owner == owner))


def count(session: orm.Session) -> int:
    """Return the number of conductors that are alive."""
    query = sa.select(sa.func.count()).where(_IS_ALIVE)
    return session.scalar(query) or 0


def list_alive(session: orm.Session) -> tuple[LiveConductor, ...]:
    """List the conductors that are alive, the longest-running first."""
    working = (
        sa.select(sa.func.count())
        .where(
            Operation.owner == Row.owner,
            Operation.operation_state.in_(states.ACTIVE),
        )
        .scalar_subquery()
    )
    rows = scope.rows(
        session,
        sa.select(Row.owner, Row.started, Row.heartbeat, working)
        .where(_IS_ALIVE)
        .order_by(Row.started),
    )
    return tuple(
        LiveConductor(
            owner=owner,
            started=_to_datetime(started),
            heartbeat=_to_datetime(heartbeat),
            operations=operations,
        )
        for owner, started, heartbeat, operations in rows
    )


def _to_datetime(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
