"""What the dispatcher reads and writes, each in one transaction.

Every call blocks its thread; none is made in the event loop's own.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from tacker_cnf.db import deliveries, subscriptions
from tacker_cnf.db.deliveries import Delivery
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.db.subscriptions import Contact
from tacker_cnf.notification import subscription_filter

#: events that are fanned out in one transaction
FAN_OUT_BATCH_SIZE: int = 100


class NewDeliveries(msgspec.Struct, frozen=True):
    """What is new."""

    deliveries: Sequence[Delivery]
    #: whether there may be more
    is_full: bool


class DeliveryStore:
    """The outbox and the deliveries of one database."""

    def __init__(self, store: Store, park_after: float) -> None:
        self._store = store
        self._park_after = park_after

    def fan_out(self) -> NewDeliveries:
        """Make a delivery of each new event for whoever wants to know it.

        It is not run again by itself: when the answer to its commit was
        lost, nobody would hear of the deliveries it made.

        :raises LostClaim: somebody else does the same
        """
        with self._store.reader() as session:
            events = deliveries.new_events(session, FAN_OUT_BATCH_SIZE)
        if not events:
            return NewDeliveries((), is_full=False)
        with self._store.writer() as session:
            filters = subscriptions.list_filters(session)
            made = [
                Delivery(subscription_id, event_id, announcement)
                for event_id, announcement in events
                for subscription_id, filter_ in filters
                if subscription_filter.matches(filter_, announcement)
            ]
            ids = [event_id for event_id, _ in events]
            deliveries.fan_out(session, ids, made)
        return NewDeliveries(made, is_full=len(events) == FAN_OUT_BATCH_SIZE)

    def list_resent_subscriptions(self) -> Sequence[str]:
        """Let what an operator wants to be tried again wait; tell the
        subscriptions.
        """
        with self._store.reader() as session:
            if not deliveries.list_resent_subscriptions(session):
                return ()
        with self._store.writer() as session:
            found = deliveries.list_resent_subscriptions(session)
            deliveries.requeue(session, found)
        return found

    @transaction
    def list_pending_subscriptions(self) -> Sequence[str]:
        """Tell which subscriptions have deliveries that wait, and forget the
        events of subscriptions that were deleted.
        """
        with self._store.writer() as session:
            deliveries.delete_completed_events(session)
            return deliveries.list_pending_subscriptions(session)

    @transaction
    def list_pending(
        self, subscription_id: str, after: int, limit: int
    ) -> list[Delivery]:
        """List what a subscriber has to be told, the oldest first."""
        with self._store.reader() as session:
            return deliveries.list_pending(
                session, subscription_id, after, limit
            )

    @transaction
    def contact(self, subscription_id: str) -> Contact | None:
        """Read how to reach a subscriber, unless it has unsubscribed."""
        with self._store.reader() as session:
            return subscriptions.contact(session, subscription_id)

    @transaction
    def subscribed(self) -> frozenset[str]:
        """Tell which subscriptions there are."""
        with self._store.reader() as session:
            return frozenset(subscriptions.list_ids(session))

    @transaction
    def made(
        self, done: Mapping[str, Sequence[int]], recovered: Collection[str]
    ) -> None:
        """Keep which deliveries were made, and who is out of trouble."""
        with self._store.writer() as session:
            deliveries.made(session, done, recovered)

    @transaction
    def failed(
        self, delivery: Delivery, why: str, *, everything: bool
    ) -> frozenset[int]:
        """Keep that a delivery failed; tell the events that are parked."""
        with self._store.writer() as session:
            return deliveries.failed(
                session,
                delivery,
                why,
                self._park_after,
                everything=everything,
            )
