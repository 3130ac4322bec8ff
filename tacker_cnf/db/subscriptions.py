"""Subscriptions: rows, returned as SOL003 LccnSubscription or
PkgmSubscription.
"""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models, scope
from tacker_cnf.db.subscription_types import (
    TYPES,
    AnySubscription,
    R,
    S,
    SubscriptionType,
)
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.authentication import SubscriptionAuthentication
from tacker_cnf.sol.package_subscription import PkgmNotificationsFilter
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LcmOpOccNotificationVerbosityType,
    LifecycleChangeNotificationsFilter,
)

Row = models.LccnSubscription


class Contact(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription, and what is needed to send notifications to it."""

    subscription: AnySubscription
    authentication: SubscriptionAuthentication | None
    #: base URL by which the subscriber reaches this API
    api_base: str
    #: by which the subscription was created
    api: Api = Api.LCM_V2
    #: the user that subscribed
    user_id: str | None = None
    #: whether it receives the notifications of all projects
    all_projects: bool = False

    @property
    def verbosity(self) -> LcmOpOccNotificationVerbosityType:
        """The verbosity of the notifications of operations."""
        if isinstance(self.subscription, LccnSubscription):
            return self.subscription.verbosity
        return LcmOpOccNotificationVerbosityType.FULL


def add(
    session: orm.Session, contact: Contact, now: datetime.datetime
) -> None:
    """Add a new subscription."""
    kind: SubscriptionType[Any, Any] = TYPES[contact.api]
    session.add(
        Row(
            **kind.to_row(contact.subscription),
            authentication=contact.authentication,
            api_base=contact.api_base,
            api=contact.api,
            user_id=contact.user_id,
            all_projects=contact.all_projects,
            created_at=now,
        )
    )


def find_duplicate(
    session: orm.Session,
    request: R,
    project_id: str,
    api: Api,
    kind: SubscriptionType[S, R],
) -> S | None:
    """Return a subscription that was created by an equal request of the same
    project and API.
    """
    rows = session.scalars(
        sa.select(Row)
        .where(
            Row.project_id == project_id,
            Row.callback_uri == request.callback_uri,
            Row.api == api,
        )
        .order_by(Row.created_at)
    )
    for row in rows:
        if kind.request_of(row) == request:
            return kind.from_row(row)
    return None


def get_equal(
    session: orm.Session,
    subscription_id: str,
    request: R,
    kind: SubscriptionType[S, R],
) -> S:
    """Return one subscription, which an equal request created.

    :raises NotFound: the subscription does not exist
    :raises Forbidden: the policy does not allow the client this subscription
    :raises Conflict: another request created it
    """
    subscription = get(session, subscription_id, kind)
    row = session.get_one(Row, subscription_id)
    if kind.request_of(row) != request:
        raise errors.Conflict(
            f"Subscription {subscription_id} was created by another request. "
            "To subscribe, send the request to .../subscriptions."
        )
    return subscription


def get(
    session: orm.Session, subscription_id: str, kind: SubscriptionType[S, R]
) -> S:
    """Return one subscription.

    :raises NotFound: the subscription does not exist
    :raises Forbidden: the policy does not allow the client this subscription
    """
    row = scope.rows(
        session,
        sa.select(
            *(c.label(name) for name, c in kind.columns.items()), Row.user_id
        ).where(Row.id == subscription_id, kind.condition),
    ).one_or_none()
    if row is None:
        raise errors.NotFound(f"There is no subscription {subscription_id}.")
    scope.authorize(session, scope.owner_of(row))
    return kind.build(**{name: getattr(row, name) for name in kind.columns})


def contact(session: orm.Session, subscription_id: str) -> Contact | None:
    """Return the contact of a subscription; None: it was deleted."""
    row = session.get(Row, subscription_id)
    if row is None:
        return None
    return Contact(
        subscription=TYPES[row.api].from_row(row),
        authentication=row.authentication,
        api_base=row.api_base,
        api=row.api,
    )


def find(
    session: orm.Session, query: ListQuery, kind: SubscriptionType[S, R]
) -> Iterator[tuple[Position, S]]:
    """List subscriptions, oldest first, with their positions."""
    order = (Row.created_at, Row.id)
    for position, row in listing.rows(
        session, kind.columns, order, query, kind.condition
    ):
        yield position, kind.build(**row)


def list_ids(session: orm.Session) -> Sequence[str]:
    """List the IDs of all subscriptions."""
    return session.scalars(sa.select(Row.id)).all()


class Interest(NamedTuple):
    """The events that a subscription matches."""

    subscription_id: str
    #: None: of all projects
    project_id: str | None
    api: Api
    filter: LifecycleChangeNotificationsFilter | None
    package_filter: PkgmNotificationsFilter | None


def list_interests(session: orm.Session) -> Sequence[Interest]:
    """List the events that each subscription matches."""
    rows = scope.rows(
        session,
        sa.select(
            Row.id,
            Row.project_id,
            Row.all_projects,
            Row.api.label("api"),
            Row.filter,
            Row.package_filter,
        ),
    )
    return [
        Interest(
            row.id,
            None if row.all_projects else row.project_id,
            row.api,
            row.filter,
            row.package_filter,
        )
        for row in rows
    ]


def delete(
    session: orm.Session, subscription_id: str, kind: SubscriptionType[S, R]
) -> None:
    """Delete a subscription and its pending deliveries.

    :raises NotFound: the subscription does not exist
    :raises Forbidden: the policy does not allow the client this subscription
    """
    get(session, subscription_id, kind)
    result = cast(
        "sa.CursorResult[Any]",
        session.execute(sa.delete(Row).where(Row.id == subscription_id)),
    )
    if result.rowcount != 1:
        raise errors.NotFound(f"There is no subscription {subscription_id}.")
