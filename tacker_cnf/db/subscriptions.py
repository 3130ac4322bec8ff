"""Subscriptions: rows, returned as SOL003 LccnSubscription."""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.sol.authentication import SubscriptionAuthentication
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
    LifecycleChangeNotificationsFilter,
)

Row = models.LccnSubscription

COLUMNS: Final = {
    name: getattr(Row, name)
    for name in LccnSubscription.__struct_fields__
    if name != "links"
}


class Contact(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription, and what is needed to send notifications to it."""

    subscription: LccnSubscription
    authentication: SubscriptionAuthentication | None
    #: base URL by which the subscriber reaches this API
    api_base: str


def add(
    session: orm.Session, contact: Contact, now: datetime.datetime
) -> None:
    """Add a new subscription."""
    subscription = contact.subscription
    session.add(
        Row(
            **{name: getattr(subscription, name) for name in COLUMNS},
            authentication=contact.authentication,
            api_base=contact.api_base,
            created_at=now,
        )
    )


def find_duplicate(
    session: orm.Session, request: LccnSubscriptionRequest
) -> LccnSubscription | None:
    """Return a subscription that was created by an equal request."""
    rows = session.scalars(
        sa.select(Row)
        .where(Row.callback_uri == request.callback_uri)
        .order_by(Row.created_at)
    )
    for row in rows:
        original_request = LccnSubscriptionRequest(
            filter=row.filter,
            callback_uri=row.callback_uri,
            authentication=row.authentication,
            verbosity=row.verbosity,
        )
        if original_request == request:
            return _value(row)
    return None


def _value(row: Row) -> LccnSubscription:
    return LccnSubscription(**{name: getattr(row, name) for name in COLUMNS})


def get(session: orm.Session, subscription_id: str) -> LccnSubscription:
    """Return one subscription.

    :raises NotFound: the subscription does not exist
    """
    row = session.execute(
        sa.select(*COLUMNS.values()).where(Row.id == subscription_id)
    ).one_or_none()
    if row is None:
        raise errors.NotFound(f"There is no subscription {subscription_id}.")
    return LccnSubscription(**row._mapping)  # noqa: SLF001


def contact(session: orm.Session, subscription_id: str) -> Contact | None:
    """Return the contact of a subscription; None: it was deleted."""
    row = session.get(Row, subscription_id)
    if row is None:
        return None
    return Contact(
        subscription=_value(row),
        authentication=row.authentication,
        api_base=row.api_base,
    )


def find(
    session: orm.Session, query: ListQuery
) -> Iterator[tuple[Position, LccnSubscription]]:
    """List subscriptions, oldest first, with their positions."""
    order = (Row.created_at, Row.id)
    for position, row in listing.rows(session, COLUMNS, order, query):
        yield position, LccnSubscription(**row)


def list_ids(session: orm.Session) -> Sequence[str]:
    """List the IDs of all subscriptions."""
    return session.scalars(sa.select(Row.id)).all()


def list_filters(
    session: orm.Session,
) -> Sequence[tuple[str, LifecycleChangeNotificationsFilter | None]]:
    """List the ID and filter of each subscription."""
    rows = session.execute(sa.select(Row.id, Row.filter))
    return [(row.id, row.filter) for row in rows]


def delete(session: orm.Session, subscription_id: str) -> None:
    """Delete a subscription and its pending deliveries.

    :raises NotFound: the subscription does not exist
    """
    result = cast(
        "sa.CursorResult[Any]",
        session.execute(sa.delete(Row).where(Row.id == subscription_id)),
    )
    if result.rowcount != 1:
        raise errors.NotFound(f"There is no subscription {subscription_id}.")
