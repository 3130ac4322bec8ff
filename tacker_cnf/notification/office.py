"""Where the deliveries of all subscribers are handed out and booked."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.db.deliveries import Delivery
from tacker_cnf.db.session import severity
from tacker_cnf.notification.content import Addressee
from tacker_cnf.notification.delivery import Courier, Outcome
from tacker_cnf.notification.ledger import Ledger
from tacker_cnf.notification.subscriber import CAPACITY, Pace, Subscriber
from tacker_cnf.outgoing.clients import Manners
from tacker_cnf.outgoing.guard import Guard

LOG = log.getLogger(__name__)

#: seconds for which deliveries that were made are gathered
GATHER: Final = 0.1
#: seconds after which a database that did not answer is asked again
PAUSE: Final = 1.0
#: the number of the first event there may be
FIRST: Final = 1

InThread = Callable[..., Awaitable[Any]]


class Desk:
    """One subscriber, the way to it, and the task that tells it."""

    def __init__(self, subscriber: Subscriber, courier: Courier) -> None:
        self.subscriber = subscriber
        self.courier = courier
        self.task: asyncio.Task[None]

    async def run(self) -> None:
        try:
            await self.subscriber.run()
        finally:
            self.courier.close()


class Office:
    """All subscribers, while this process tells them."""

    def __init__(
        self,
        ledger: Ledger,
        in_thread: InThread,
        pace: Pace,
        manners: Manners,
        guard: Guard,
        endpoint: str | None,
    ) -> None:
        self._ledger = ledger
        self._in_thread = in_thread
        self._pace = pace
        self._manners = manners
        self._guard = guard
        self._endpoint = endpoint
        self._desks: dict[str, Desk] = {}
        self._tasks: asyncio.TaskGroup
        self._done: defaultdict[str, list[int]] = defaultdict(list)
        #: who has just got out of trouble
        self._recovered: set[str] = set()
        self._has_done = asyncio.Event()
        #: whether there may be deliveries that were never handed out
        self._is_in_doubt = False
        #: held while what was made is booked, or what waits is read
        self._books = asyncio.Lock()

    async def open(self, tasks: asyncio.TaskGroup) -> None:
        """Begin with what waits."""
        self._tasks = tasks
        for subscription_id in await self._in_thread(self._ledger.owed):
            await self._desk(subscription_id)

    async def close(self) -> None:
        """Book what was made up to here."""
        if self._done:
            async with self._books:
                await self._book()

    async def look(self) -> bool:
        """Hand out what is new; tell whether there may be more.

        :raises LostClaim: somebody else does so
        """
        if self._is_in_doubt:
            # some may have been handed out before the database failed
            await self._read_again(await self._in_thread(self._ledger.owed))
        # whoever reads no answer does not know what it was
        self._is_in_doubt = True
        found = await self._in_thread(self._ledger.fan_out)
        for subscription_id, deliveries in _sorted(found.deliveries):
            desk = await self._desk(subscription_id)
            if desk:
                desk.subscriber.offer(deliveries)
        await self._read_again(await self._in_thread(self._ledger.resent))
        self._is_in_doubt = False
        for desk in list(self._desks.values()):
            if desk.subscriber.has_room:  # its workers may be idle
                await self.refill(desk.subscriber)
        return bool(found.is_full)

    async def _read_again(self, subscription_ids: Iterable[str]) -> None:
        """Have all that waits for these subscribers read."""
        for subscription_id in subscription_ids:
            desk = await self._desk(subscription_id)
            if desk:
                desk.subscriber.miss(FIRST)

    async def dismiss(self) -> None:
        """Tell nothing more to who has unsubscribed."""
        try:
            subscribed = await self._in_thread(self._ledger.subscribed)
        except Exception as error:  # noqa: BLE001
            LOG.log(
                severity(error), "Subscriptions not read, retrying: %s", error
            )
            return
        for subscription_id in self._desks.keys() - subscribed:
            self._desks.pop(subscription_id).task.cancel()

    async def _desk(self, subscription_id: str) -> Desk | None:
        """Give a subscriber's desk; one that is new begins with what waits
        in the database.
        """
        if subscription_id in self._desks:
            return self._desks[subscription_id]
        try:
            contact = await self._in_thread(
                self._ledger.contact, subscription_id
            )
            courier = contact and Courier(
                contact.subscription.callback_uri,
                contact.authentication,
                self._manners,
                self._guard,
            )
        except errors.VnfmError as error:  # a key is missing, or a file
            LOG.warning("%s cannot be told: %s", subscription_id, error)
            return None
        if courier is None:
            return None
        addressee = Addressee(
            subscription_id=subscription_id,
            verbosity=contact.subscription.verbosity,
            api_base=(self._endpoint or contact.api_base).rstrip("/"),
        )
        subscriber = Subscriber(addressee, courier.deliver, self._pace, self)
        desk = self._desks[subscription_id] = Desk(subscriber, courier)
        desk.task = self._tasks.create_task(desk.run())
        subscriber.is_behind = True
        await self.refill(subscriber)
        return desk

    async def refill(self, subscriber: Subscriber) -> None:
        """Put in what waits in the database, if there is room by now."""
        async with self._books:
            if not subscriber.has_room:
                return
            try:
                await self._book()
                page = await self._in_thread(
                    self._ledger.waiting,
                    subscriber.id,
                    subscriber.begin_to_read(),
                    CAPACITY,
                )
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error),
                    "Backlog of subscription %s not read, retrying: %s",
                    subscriber.id,
                    error,
                )
                await asyncio.sleep(PAUSE)
                return
            made = frozenset(self._done.get(subscriber.id, ()))
            subscriber.take(page, made=made)

    def made(self, delivery: Delivery) -> None:
        """Keep that a delivery was made."""
        self._done[delivery.subscription_id].append(delivery.event_id)
        self._has_done.set()

    def recovered(self, subscription_id: str) -> None:
        """Keep that a subscriber is out of trouble; a delivery that was made
        says so, and is booked at the same time.
        """
        self._recovered.add(subscription_id)

    async def failed(
        self, delivery: Delivery, outcome: Outcome
    ) -> frozenset[int]:
        """Keep that a delivery failed; tell the events that are parked."""
        try:
            async with self._books:  # nobody reads what is being parked
                parked: frozenset[int] = await self._in_thread(
                    self._ledger.failed,
                    delivery,
                    outcome.problem,
                    everything=outcome.everything,
                )
        except Exception as error:  # noqa: BLE001
            LOG.log(
                severity(error),
                "Failed delivery of event %d not recorded: %s",
                delivery.event_id,
                error,
            )
            return frozenset()
        return parked

    async def keep_books(self) -> None:
        """Book what was made, some at a time."""
        while True:
            await self._has_done.wait()
            await asyncio.sleep(GATHER)
            async with self._books:
                try:
                    await self._book()
                except Exception as error:  # noqa: BLE001
                    LOG.log(
                        severity(error),
                        "Deliveries not recorded, retrying: %s",
                        error,
                    )
                    await asyncio.sleep(PAUSE)

    async def _book(self) -> None:
        self._has_done.clear()
        done, self._done = self._done, defaultdict(list)
        recovered, self._recovered = self._recovered, set()
        if not done:
            return
        try:
            await self._in_thread(self._ledger.made, done, recovered)
        except Exception:
            self._recovered |= recovered
            for subscription_id, events in done.items():
                self._done[subscription_id] += events
            self._has_done.set()
            raise


def _sorted(
    deliveries: Sequence[Delivery],
) -> list[tuple[str, list[Delivery]]]:
    """Sort by subscription."""
    by_subscription: dict[str, list[Delivery]] = {}
    for delivery in deliveries:
        by_subscription.setdefault(delivery.subscription_id, []).append(
            delivery
        )
    return list(by_subscription.items())
