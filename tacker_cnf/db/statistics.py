"""Numbers about all operations, events and VIMs, for metrics."""

import datetime
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models, scope
from tacker_cnf.db.models import DeliveryState
from tacker_cnf.db.session import epoch
from tacker_cnf.lcm import states
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType

Operation = models.VnfLcmOpOcc
Event = models.LifecycleEvent
Delivery = models.Delivery


class Outbox(NamedTuple):
    """What is to be delivered."""

    #: events whose subscribers are not known yet
    events: int
    waiting: int
    #: deliveries that failed for too long
    parked: int
    #: when the oldest event was announced that is not delivered; None: all are
    oldest: datetime.datetime | None


def read_clock(session: orm.Session) -> float:
    """Return the time of the database, in seconds since 1970."""
    return float(session.scalars(sa.select(epoch())).one())


def count_operations(
    session: orm.Session,
) -> Mapping[LcmOperationStateType, int]:
    """Count the operations that are running, waiting or FAILED_TEMP."""
    open_states = frozenset(LcmOperationStateType) - states.FINAL
    rows = scope.rows(
        session,
        sa.select(Operation.operation_state, sa.func.count())
        .where(Operation.operation_state.in_(open_states))
        .group_by(Operation.operation_state),
    )
    return dict.fromkeys(open_states, 0) | dict(rows.tuples().all())


def get_oldest_waiting(session: orm.Session) -> datetime.datetime | None:
    """Return since when the oldest unclaimed operation waits; None: there is
    none.
    """
    return session.scalar(
        sa.select(sa.func.min(Operation.state_entered_time)).where(
            Operation.operation_state.in_(states.ACTIVE),
            Operation.owner.is_(None),
        )
    )


def read_outbox(session: orm.Session) -> Outbox:
    """Count what is to be delivered."""
    events, first_event = scope.rows(
        session,
        sa.select(sa.func.count(), sa.func.min(Event.id)).where(
            Event.fanned_out.is_(False)
        ),
    ).one()
    deliveries = {
        state: (count, first)
        for state, count, first in scope.rows(
            session,
            sa.select(
                Delivery.state, sa.func.count(), sa.func.min(Delivery.event_id)
            ).group_by(Delivery.state),
        )
    }
    waiting, first_waiting = deliveries.get(DeliveryState.WAITING, (0, None))
    parked, _ = deliveries.get(DeliveryState.PARKED, (0, None))
    first = min(filter(None, (first_event, first_waiting)), default=None)
    announced = session.scalar(
        sa.select(Event.announcement).where(Event.id == first)
    )
    oldest = announced.time_stamp if announced else None
    return Outbox(events, waiting, parked, oldest)


def list_vims(session: orm.Session) -> Sequence[tuple[str, str, str]]:
    """List the ID, name and type of each registered VIM."""
    table = models.Vim
    rows = scope.rows(session, sa.select(table.id, table.name, table.type))
    return rows.tuples().all()
