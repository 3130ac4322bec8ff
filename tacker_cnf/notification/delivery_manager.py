"""Where the deliveries of all subscribers are handed out and booked."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.db.deliveries import Delivery
from tacker_cnf.db.session import severity
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.notification.delivery_store import DeliveryStore
from tacker_cnf.notification.payload import Recipient
from tacker_cnf.notification.subscriber import (
    CAPACITY,
    DeliveryPolicy,
    Subscriber,
)
from tacker_cnf.notification.webhook_client import (
    DeliveryResult,
    WebhookClient,
)

LOG = log.getLogger(__name__)

#: seconds for which deliveries that were made are gathered
RECORD_INTERVAL_S: Final = 0.1
#: seconds after which a database that did not answer is asked again
RETRY_DELAY_S: Final = 1.0
#: the number of the first event there may be
FIRST_EVENT_ID: Final = 1

InThread = Callable[..., Awaitable[Any]]


class SubscriberWorker:
    """One subscriber, the way to it, and the task that tells it."""

    def __init__(self, subscriber: Subscriber, client: WebhookClient) -> None:
        self.subscriber = subscriber
        self.client = client
        self.task: asyncio.Task[None]

    async def run(self) -> None:
        try:
            await self.subscriber.run()
        finally:
            self.client.close()


class DeliveryManager:
    """All subscribers, while this process tells them."""

    def __init__(
        self,
        delivery_store: DeliveryStore,
        in_thread: InThread,
        policy: DeliveryPolicy,
        client_options: HttpClientOptions,
        ssrf_policy: SsrfPolicy,
        endpoint: str | None,
    ) -> None:
        self._delivery_store = delivery_store
        self._in_thread = in_thread
        self._policy = policy
        self._client_options = client_options
        self._ssrf_policy = ssrf_policy
        self._endpoint = endpoint
        self._workers: dict[str, SubscriberWorker] = {}
        self._tasks: asyncio.TaskGroup
        self._delivered: defaultdict[str, list[int]] = defaultdict(list)
        #: who has just got out of trouble
        self._recovered: set[str] = set()
        self._has_delivered = asyncio.Event()
        #: whether there may be deliveries that were never handed out
        self._is_fan_out_uncertain = False
        #: held while what was made is booked, or what waits is read
        self._record_lock = asyncio.Lock()

    async def open(self, tasks: asyncio.TaskGroup) -> None:
        """Begin with what waits."""
        self._tasks = tasks
        for subscription_id in await self._in_thread(
            self._delivery_store.list_pending_subscriptions
        ):
            await self._get_worker(subscription_id)

    async def close(self) -> None:
        """Book what was made up to here."""
        if self._delivered:
            async with self._record_lock:
                await self._record_delivered()

    async def fan_out(self) -> bool:
        """Hand out what is new; tell whether there may be more.

        :raises LostClaim: somebody else does so
        """
        if self._is_fan_out_uncertain:
            # some may have been handed out before the database failed
            await self._reload(
                await self._in_thread(
                    self._delivery_store.list_pending_subscriptions
                )
            )
        # whoever reads no answer does not know what it was
        self._is_fan_out_uncertain = True
        found = await self._in_thread(self._delivery_store.fan_out)
        for subscription_id, deliveries in _by_subscription(found.deliveries):
            worker = await self._get_worker(subscription_id)
            if worker:
                worker.subscriber.offer(deliveries)
        await self._reload(
            await self._in_thread(
                self._delivery_store.list_resent_subscriptions
            )
        )
        self._is_fan_out_uncertain = False
        for worker in list(self._workers.values()):
            if worker.subscriber.has_room:  # its workers may be idle
                await self.refill(worker.subscriber)
        return bool(found.is_full)

    async def _reload(self, subscription_ids: Iterable[str]) -> None:
        """Have all that waits for these subscribers read."""
        for subscription_id in subscription_ids:
            worker = await self._get_worker(subscription_id)
            if worker:
                worker.subscriber.mark_missed(FIRST_EVENT_ID)

    async def stop_unsubscribed(self) -> None:
        """Tell nothing more to who has unsubscribed."""
        try:
            subscribed = await self._in_thread(self._delivery_store.subscribed)
        except Exception as error:  # noqa: BLE001
            LOG.log(
                severity(error), "Subscriptions not read, retrying: %s", error
            )
            return
        for subscription_id in self._workers.keys() - subscribed:
            self._workers.pop(subscription_id).task.cancel()

    async def _get_worker(
        self, subscription_id: str
    ) -> SubscriberWorker | None:
        """Give a subscriber's desk; one that is new begins with what waits
        in the database.
        """
        if subscription_id in self._workers:
            return self._workers[subscription_id]
        try:
            contact = await self._in_thread(
                self._delivery_store.contact, subscription_id
            )
            client = contact and WebhookClient(
                contact.subscription.callback_uri,
                contact.authentication,
                self._client_options,
                self._ssrf_policy,
            )
        except errors.VnfmError as error:  # a key is missing, or a file
            LOG.warning("%s cannot be told: %s", subscription_id, error)
            return None
        if client is None:
            return None
        recipient = Recipient(
            subscription_id=subscription_id,
            verbosity=contact.subscription.verbosity,
            api_base=(self._endpoint or contact.api_base).rstrip("/"),
        )
        subscriber = Subscriber(recipient, client.deliver, self._policy, self)
        worker = self._workers[subscription_id] = SubscriberWorker(
            subscriber, client
        )
        worker.task = self._tasks.create_task(worker.run())
        subscriber.has_backlog = True
        await self.refill(subscriber)
        return worker

    async def refill(self, subscriber: Subscriber) -> None:
        """Put in what waits in the database, if there is room by now."""
        async with self._record_lock:
            if not subscriber.has_room:
                return
            try:
                await self._record_delivered()
                page = await self._in_thread(
                    self._delivery_store.list_pending,
                    subscriber.id,
                    subscriber.start_reload(),
                    CAPACITY,
                )
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error),
                    "Backlog of subscription %s not read, retrying: %s",
                    subscriber.id,
                    error,
                )
                await asyncio.sleep(RETRY_DELAY_S)
                return
            made = frozenset(self._delivered.get(subscriber.id, ()))
            subscriber.load_page(page, made=made)

    def made(self, delivery: Delivery) -> None:
        """Keep that a delivery was made."""
        self._delivered[delivery.subscription_id].append(delivery.event_id)
        self._has_delivered.set()

    def recovered(self, subscription_id: str) -> None:
        """Keep that a subscriber is out of trouble; a delivery that was made
        says so, and is booked at the same time.
        """
        self._recovered.add(subscription_id)

    async def failed(
        self, delivery: Delivery, result: DeliveryResult
    ) -> frozenset[int]:
        """Keep that a delivery failed; tell the events that are parked."""
        try:
            async with self._record_lock:  # nobody reads what is being parked
                parked: frozenset[int] = await self._in_thread(
                    self._delivery_store.failed,
                    delivery,
                    result.problem,
                    everything=result.everything,
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

    async def record_deliveries(self) -> None:
        """Book what was made, some at a time."""
        while True:
            await self._has_delivered.wait()
            await asyncio.sleep(RECORD_INTERVAL_S)
            async with self._record_lock:
                try:
                    await self._record_delivered()
                except Exception as error:  # noqa: BLE001
                    LOG.log(
                        severity(error),
                        "Deliveries not recorded, retrying: %s",
                        error,
                    )
                    await asyncio.sleep(RETRY_DELAY_S)

    async def _record_delivered(self) -> None:
        self._has_delivered.clear()
        done, self._delivered = self._delivered, defaultdict(list)
        recovered, self._recovered = self._recovered, set()
        if not done:
            return
        try:
            await self._in_thread(self._delivery_store.made, done, recovered)
        except Exception:
            self._recovered |= recovered
            for subscription_id, events in done.items():
                self._delivered[subscription_id] += events
            self._has_delivered.set()
            raise


def _by_subscription(
    deliveries: Sequence[Delivery],
) -> list[tuple[str, list[Delivery]]]:
    """Sort by subscription."""
    by_subscription: dict[str, list[Delivery]] = {}
    for delivery in deliveries:
        by_subscription.setdefault(delivery.subscription_id, []).append(
            delivery
        )
    return list(by_subscription.items())
