"""Pending notifications: events, and their deliveries to subscribers.

An event is fanned out once: a delivery for each subscription that matches. A
completed delivery is deleted. Its event is kept for some time, for clients
that read the stream of events.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models, scope
from tacker_cnf.db.models import DeliveryState
from tacker_cnf.db.session import epoch
from tacker_cnf.lcm.announcement import Announcement

Row = models.Delivery
Event = models.LifecycleEvent


class Delivery(NamedTuple):
    """A pending notification of one event to one subscriber."""

    subscription_id: str
    event_id: int
    announcement: Announcement


class ParkedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that failed for too long."""

    subscription_id: str
    event_id: int
    callback_uri: str
    announcement: Announcement
    attempts: int
    error: str | None


def new_events(
    session: orm.Session, limit: int
) -> Sequence[tuple[int, str, Announcement]]:
    """List events to fan out: ID, project, announcement; in order for an
    instance.
    """
    rows = scope.rows(
        session,
        sa.select(Event.id, Event.project_id, Event.announcement)
        .where(Event.fanned_out.is_(False))
        .order_by(Event.id)
        .limit(limit),
    )
    return list(rows.tuples())


def fan_out(
    session: orm.Session,
    event_ids: Sequence[int],
    new_deliveries: Sequence[Delivery],
) -> None:
    """Store the deliveries of events, and mark the events as fanned out.

    :raises LeaseLost: another conductor has fanned out some of the events
    :raises ReferenceError: a subscription was just deleted
    """
    connection = session.connection()
    changed = connection.execute(
        sa.update(Event)
        .where(Event.id.in_(event_ids), Event.fanned_out.is_(False))
        .values(fanned_out=True)
    ).rowcount
    if changed != len(event_ids):
        raise errors.LeaseLost
    if new_deliveries:
        connection.execute(sa.insert(Row), list(map(_values, new_deliveries)))


def _values(delivery: Delivery) -> dict[str, Any]:
    return {
        "subscription_id": delivery.subscription_id,
        "event_id": delivery.event_id,
        "vnf_instance_id": delivery.announcement.subject.id,
        "state": DeliveryState.WAITING,
        "attempts": 0,
    }


def list_pending(
    session: orm.Session, subscription_id: str, after: int, limit: int
) -> list[Delivery]:
    """List the waiting deliveries of a subscription, oldest first."""
    rows = scope.rows(
        session,
        sa.select(Row.subscription_id, Row.event_id, Event.announcement)
        .join(Event, Event.id == Row.event_id)
        .where(
            Row.subscription_id == subscription_id,
            Row.event_id > after,
            Row.state == DeliveryState.WAITING,
        )
        .order_by(Row.event_id)
        .limit(limit),
    )
    return [Delivery(*row) for row in rows]


def list_pending_subscriptions(session: orm.Session) -> Sequence[str]:
    """List the subscriptions with waiting deliveries."""
    return session.scalars(
        sa.select(Row.subscription_id)
        .where(Row.state == DeliveryState.WAITING)
        .distinct()
    ).all()


def record_delivered(
    session: orm.Session,
    done: Mapping[str, Sequence[int]],
    recovered: Iterable[str] = (),
) -> None:
    """Delete completed deliveries.

    :param done: subscription -> events
    :param recovered: reachable subscriptions, whose untried deliveries do not
        count as failing any more
    """
    connection = session.connection()
    for subscription_id in recovered:
        connection.execute(
            sa.update(Row)
            .where(
                Row.subscription_id == subscription_id,
                Row.state == DeliveryState.WAITING,
                Row.attempts == 0,
                Row.failing_since.is_not(None),
            )
            .values(failing_since=None, error=None)
        )
    for subscription_id, event_ids in done.items():
        connection.execute(
            sa.delete(Row).where(
                Row.subscription_id == subscription_id,
                Row.event_id.in_(event_ids),
            )
        )


def delete_old_events(
    session: orm.Session, retention: float, limit: int
) -> int:
    """Delete events that have no deliveries and are old, the oldest ones;
    return their number. The newest event
    is kept: it shows a client whether it has missed some.

    :param retention: seconds for which an event is kept
    :param limit: the most events to delete
    """
    newest = session.scalar(sa.select(sa.func.max(Event.id)))
    pending = sa.select(Row.event_id).where(Row.event_id == Event.id)
    ids = session.scalars(
        sa.select(Event.id)
        .where(
            Event.fanned_out.is_(True),
            sa.func.coalesce(Event.added_at, 0.0) < epoch() - retention,
            Event.id != newest,
            ~pending.exists(),
        )
        .order_by(Event.id)
        .limit(limit)
    ).all()
    session.connection().execute(sa.delete(Event).where(Event.id.in_(ids)))
    return len(ids)


def record_failed(
    session: orm.Session,
    failure: Delivery,
    reason: str,
    retry_period: float,
    *,
    everything: bool,
) -> frozenset[int]:
    """Record a failed delivery, and park deliveries that fail for too long.

    :param retry_period: seconds for which a delivery may fail
    :param everything: whether the subscriber is unreachable, so that all its
        deliveries fail
    :returns: the events whose deliveries were parked
    """
    is_waiting = sa.and_(
        Row.subscription_id == failure.subscription_id,
        Row.state == DeliveryState.WAITING,
    )
    failed_row = sa.and_(is_waiting, Row.event_id == failure.event_id)
    affected = is_waiting if everything else failed_row
    change = sa.update(Row)
    connection = session.connection()
    connection.execute(
        change.where(failed_row).values(
            attempts=Row.attempts + 1, error=reason
        )
    )
    connection.execute(
        change.where(affected, Row.failing_since.is_(None)).values(
            failing_since=epoch(), error=reason
        )
    )
    expired = sa.and_(affected, Row.failing_since <= epoch() - retry_period)
    parked = session.scalars(sa.select(Row.event_id).where(expired)).all()
    if parked:
        connection.execute(
            change.where(affected, Row.event_id.in_(parked)).values(
                state=DeliveryState.PARKED
            )
        )
    return frozenset(parked)


def list_parked(session: orm.Session) -> list[ParkedDelivery]:
    """List the deliveries that failed for too long."""
    subscription = models.LccnSubscription
    rows = scope.rows(
        session,
        sa.select(
            Row.subscription_id,
            Row.event_id,
            subscription.callback_uri,
            Event.announcement,
            Row.attempts,
            Row.error,
        )
        .join(Event, Event.id == Row.event_id)
        .join(subscription, subscription.id == Row.subscription_id)
        .where(Row.state == DeliveryState.PARKED)
        .order_by(Row.subscription_id, Row.event_id),
    )
    return [ParkedDelivery(**row._mapping) for row in rows]  # noqa: SLF001


def _parked_only(subscription_id: str | None) -> sa.ColumnElement[bool]:
    is_parked = Row.state == DeliveryState.PARKED
    if subscription_id is None:
        return is_parked
    return sa.and_(is_parked, Row.subscription_id == subscription_id)


def resend(session: orm.Session, subscription_id: str | None) -> int:
    """Request to resend parked deliveries; return their number.

    :param subscription_id: None: of all subscriptions
    """
    result = session.connection().execute(
        sa.update(Row)
        .where(_parked_only(subscription_id))
        .values(
            state=DeliveryState.RESENT,
            attempts=0,
            failing_since=None,
            error=None,
        )
    )
    return int(result.rowcount)


def delete_parked(session: orm.Session, subscription_id: str | None) -> int:
    """Delete parked deliveries; return their number.

    :param subscription_id: None: of all subscriptions
    """
    result = session.connection().execute(
        sa.delete(Row).where(_parked_only(subscription_id))
    )
    return int(result.rowcount)


def list_resent_subscriptions(session: orm.Session) -> Sequence[str]:
    """List the subscriptions with deliveries to resend."""
    is_resent = Row.state == DeliveryState.RESENT
    return session.scalars(
        sa.select(Row.subscription_id).where(is_resent).distinct()
    ).all()


def requeue(session: orm.Session, subscription_ids: Sequence[str]) -> None:
    """Change the state of deliveries from RESENT to WAITING."""
    session.connection().execute(
        sa.update(Row)
        .where(
            Row.state == DeliveryState.RESENT,
            Row.subscription_id.in_(subscription_ids),
        )
        .values(state=DeliveryState.WAITING)
    )
