"""The database transactions of the dispatcher.

Every call blocks its thread; none is made in the event loop's thread.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from tacker_cnf.db import deliveries, subscriptions
from tacker_cnf.db.deliveries import Delivery
from tacker_cnf.db.session import Store
from tacker_cnf.db.subscription_types import LIFECYCLE, PACKAGES
from tacker_cnf.db.subscriptions import Contact, Interest
from tacker_cnf.lcm.announcement import Announcement
from tacker_cnf.notification import subscription_filter

#: events that are distributed in one transaction
FAN_OUT_BATCH_SIZE: int = 100
#: events that are deleted in one transaction
DELETE_BATCH_SIZE: int = 500


class NewDeliveries(msgspec.Struct, frozen=True):
    """The deliveries created by one fan-out."""

    deliveries: Sequence[Delivery]
    #: whether there may be more
    is_full: bool


class DeliveryStore:
    """The outbox and the deliveries of one database."""

    def __init__(
        self, store: Store, park_after: float, event_retention: float
    ) -> None:
        self._store = store
        self._park_after = park_after
        self._event_retention = event_retention

    def fan_out(self) -> NewDeliveries:
        """Create a delivery of each new event for every matching subscription.

        It is not repeated automatically: if the response to its commit were
        lost, the deliveries it created would not be returned.

        :raises LeaseLost: another process does the same
        """
        with self._store.reader() as session:
            events = deliveries.new_events(session, FAN_OUT_BATCH_SIZE)
        if not events:
            return NewDeliveries((), is_full=False)
        with self._store.writer() as session:
            interests = subscriptions.list_interests(session)
            made = [
                Delivery(interest.subscription_id, event_id, announcement)
                for event_id, project_id, announcement in events
                for interest in interests
                if _matches(interest, project_id, announcement)
            ]
            ids = [event_id for event_id, _, _ in events]
            deliveries.fan_out(session, ids, made)
        return NewDeliveries(made, is_full=len(events) == FAN_OUT_BATCH_SIZE)

    def list_resent_subscriptions(self) -> Sequence[str]:
        """Requeue deliveries that an operator resends; return their
        subscriptions.
        """
        with self._store.reader() as session:
            if not deliveries.list_resent_subscriptions(session):
                return ()
        with self._store.writer() as session:
            found = deliveries.list_resent_subscriptions(session)
            deliveries.requeue(session, found)
        return found

    def list_pending_subscriptions(self) -> Sequence[str]:
        """List the subscriptions with pending deliveries."""
        return self._store.read(None, deliveries.list_pending_subscriptions)

    def delete_old_events(self) -> None:
        """Delete the events that are not needed any more."""
        while (
            self._store.write(
                None,
                deliveries.delete_old_events,
                self._event_retention,
                DELETE_BATCH_SIZE,
            )
            == DELETE_BATCH_SIZE
        ):
            pass

    def list_pending(
        self, subscription_id: str, after: int, limit: int
    ) -> list[Delivery]:
        """List the pending deliveries of a subscriber, oldest first."""
        return self._store.read(
            None, deliveries.list_pending, subscription_id, after, limit
        )

    def contact(self, subscription_id: str) -> Contact | None:
        """Read a subscriber's address; None: it has unsubscribed."""
        return self._store.read(None, subscriptions.contact, subscription_id)

    def subscribed(self) -> frozenset[str]:
        """Return the ids of all subscriptions."""
        return frozenset(self._store.read(None, subscriptions.list_ids))

    def record_delivered(
        self, done: Mapping[str, Sequence[int]], recovered: Collection[str]
    ) -> None:
        """Record successful deliveries, and subscribers that recovered."""
        self._store.write(None, deliveries.record_delivered, done, recovered)

    def record_failed(
        self, delivery: Delivery, why: str, *, everything: bool
    ) -> frozenset[int]:
        """Record that a delivery failed; return the events that are parked."""
        return self._store.write(
            None,
            deliveries.record_failed,
            delivery,
            why,
            self._park_after,
            everything=everything,
        )


def _matches(
    interest: Interest, project_id: str, announcement: Announcement
) -> bool:
    """Check whether a subscription matches an event.

    :param project_id: the project of the instance or package
    """
    event = announcement.package
    if event is None:
        return (
            interest.api in LIFECYCLE.apis
            and interest.project_id in {None, project_id}
            and subscription_filter.matches(interest.filter, announcement)
        )
    return (
        interest.api in PACKAGES.apis
        and (
            event.is_public
            or interest.project_id in {None, project_id, *event.shared_with}
        )
        and subscription_filter.matches_package(
            interest.package_filter, announcement.subject, event
        )
    )
