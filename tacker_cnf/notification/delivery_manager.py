"""Distribute deliveries to subscribers, and record their results."""

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

#: interval in which successful deliveries are collected before a write
RECORD_INTERVAL_S: Final = 0.1
#: delay before a failed database call is repeated
RETRY_DELAY_S: Final = 1.0
#: the lowest event id
FIRST_EVENT_ID: Final = 1

InThread = Callable[..., Awaitable[Any]]


class SubscriberWorker:
    """One subscriber, its webhook client, and the task that delivers."""

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
    """All subscribers, while this process is the dispatcher."""

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
        #: subscriptions whose subscriber has just recovered
        self._recovered: set[str] = set()
        self._has_delivered = asyncio.Event()
        #: whether some deliveries may not have been distributed
        self._is_fan_out_uncertain = False
        #: held while results are recorded or pending deliveries are read
        self._record_lock = asyncio.Lock()

    async def open(self, tasks: asyncio.TaskGroup) -> None:
        """Start with the pending deliveries."""
        self._tasks = tasks
        for subscription_id in await self._in_thread(
            self._delivery_store.list_pending_subscriptions
        ):
            await self._get_worker(subscription_id)

    async def close(self) -> None:
        """Record the deliveries made so far."""
        if self._delivered:
            async with self._record_lock:
                await self._write_delivered()

    async def fan_out(self) -> bool:
        """Distribute new events; return whether there may be more.

        :raises LeaseLost: another process distributes events
        """
        if self._is_fan_out_uncertain:
            # some may have been written before the database call failed
            await self._reload(
                await self._in_thread(
                    self._delivery_store.list_pending_subscriptions
                )
            )
        # if the call fails, it is unknown whether its commit succeeded
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
        """Read all pending deliveries of these subscribers again."""
        for subscription_id in subscription_ids:
            worker = await self._get_worker(subscription_id)
            if worker:
                worker.subscriber.mark_missed(FIRST_EVENT_ID)

    async def stop_unsubscribed(self) -> None:
        """Stop delivering to deleted subscriptions."""
        try:
            subscribed = await self._in_thread(self._delivery_store.subscribed)
        except Exception as error:  # noqa: BLE001
            LOG.log(
                severity(error),
                "Subscriptions not read, retrying: error=%s",
                error,
            )
            return
        for subscription_id in self._workers.keys() - subscribed:
            self._workers.pop(subscription_id).task.cancel()

    async def _get_worker(
        self, subscription_id: str
    ) -> SubscriberWorker | None:
        """Return a subscriber's worker; a new one starts with the pending
        deliveries in the database.
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
                contact.api,
            )
        except errors.VnfmError as error:  # a key or a file is missing
            LOG.warning(
                "Subscriber not usable: subscription=%s error=%s",
                subscription_id,
                error,
            )
            return None
        if client is None:
            return None
        recipient = Recipient(
            subscription_id=subscription_id,
            verbosity=contact.verbosity,
            api_base=(self._endpoint or contact.api_base).rstrip("/"),
            api=contact.api,
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
        """Load pending deliveries from the database, if there is room."""
        async with self._record_lock:
            if not subscriber.has_room:
                return
            try:
                await self._write_delivered()
                page = await self._in_thread(
                    self._delivery_store.list_pending,
                    subscriber.id,
                    subscriber.start_reload(),
                    CAPACITY,
                )
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error),
                    "Pending deliveries not read, retrying: subscription=%s "
                    "error=%s",
                    subscriber.id,
                    error,
                )
                await asyncio.sleep(RETRY_DELAY_S)
                return
            made = frozenset(self._delivered.get(subscriber.id, ()))
            subscriber.load_page(page, made=made)

    def record_delivered(self, delivery: Delivery) -> None:
        """Record that a delivery succeeded."""
        self._delivered[delivery.subscription_id].append(delivery.event_id)
        self._has_delivered.set()

    def record_recovered(self, subscription_id: str) -> None:
        """Record that a subscriber recovered; it is written together with the
        delivery that succeeded.
        """
        self._recovered.add(subscription_id)

    async def record_failed(
        self, delivery: Delivery, result: DeliveryResult
    ) -> frozenset[int]:
        """Record that a delivery failed; return the events that are parked."""
        try:
            async with self._record_lock:  # no reads while events are parked
                parked: frozenset[int] = await self._in_thread(
                    self._delivery_store.record_failed,
                    delivery,
                    result.problem,
                    everything=result.everything,
                )
        except Exception as error:  # noqa: BLE001
            LOG.log(
                severity(error),
                "Delivery failure not recorded: event=%d error=%s",
                delivery.event_id,
                error,
            )
            return frozenset()
        return parked

    async def record_deliveries(self) -> None:
        """Record successful deliveries in batches, until cancelled."""
        while True:
            await self._has_delivered.wait()
            await asyncio.sleep(RECORD_INTERVAL_S)
            async with self._record_lock:
                try:
                    await self._write_delivered()
                except Exception as error:  # noqa: BLE001
                    LOG.log(
                        severity(error),
                        "Deliveries not recorded, retrying: error=%s",
                        error,
                    )
                    await asyncio.sleep(RETRY_DELAY_S)

    async def _write_delivered(self) -> None:
        self._has_delivered.clear()
        done, self._delivered = self._delivered, defaultdict(list)
        recovered, self._recovered = self._recovered, set()
        if not done:
            return
        try:
            await self._in_thread(
                self._delivery_store.record_delivered, done, recovered
            )
        except Exception:
            self._recovered |= recovered
            for subscription_id, events in done.items():
                self._delivered[subscription_id] += events
            self._has_delivered.set()
            raise


def _by_subscription(
    deliveries: Sequence[Delivery],
) -> list[tuple[str, list[Delivery]]]:
    """Group by subscription, in order."""
    by_subscription: dict[str, list[Delivery]] = {}
    for delivery in deliveries:
        by_subscription.setdefault(delivery.subscription_id, []).append(
            delivery
        )
    return list(by_subscription.items())
