"""The pending deliveries of one subscriber, and the workers that send them.

An instance queue has the deliveries about one VNF instance or package, in order; a few
workers take the head of one queue after another. When the subscriber as a
whole fails, one worker at a time probes it.
"""

import asyncio
import bisect
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol

import msgspec
from oslo_log import log

from tacker_cnf.db.deliveries import Delivery
from tacker_cnf.notification import payload
from tacker_cnf.notification.payload import Recipient
from tacker_cnf.notification.webhook_client import DeliveryResult
from tacker_cnf.sol import base

LOG = log.getLogger(__name__)

#: deliveries in memory; further ones wait in the database
CAPACITY: Final = 500


class DeliveryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how fast a subscriber is called; times in seconds."""

    max_requests: int
    retry_interval: float
    max_retry_interval: float

    def retry_delay(self, failures: int) -> float:
        """Return the delay before a retry: exponential, with jitter."""
        delay = self.retry_interval * 2.0 ** min(failures - 1, 30)
        max_delay = min(delay, self.max_retry_interval)
        return max_delay * random.uniform(0.5, 1.0)  # noqa: S311


class DeliveryRecorder(Protocol):
    """Records the results of deliveries."""

    def record_delivered(self, delivery: Delivery) -> None:
        """Record that a delivery succeeded."""

    def record_recovered(self, subscription_id: str) -> None:
        """Record that a subscriber recovered."""

    async def record_failed(
        self, delivery: Delivery, result: DeliveryResult
    ) -> frozenset[int]:
        """Record that a delivery failed; return the events now parked."""

    async def refill(self, subscriber: "Subscriber") -> None:
        """Load pending deliveries from the database."""


class InstanceQueue:
    """The deliveries about one VNF instance or package, in order."""

    def __init__(self, instance_id: str) -> None:
        self.instance_id = instance_id
        self.failures = 0
        #: whether the first one is being sent
        self.is_busy = False
        self.deliveries: list[Delivery] = []

    def put(self, delivery: Delivery) -> None:
        bisect.insort(
            self.deliveries,
            delivery,
            lo=int(self.is_busy),
            key=lambda waiting: waiting.event_id,
        )


class Subscriber:
    """Delivers to one subscriber."""

    def __init__(
        self,
        recipient: Recipient,
        deliver: Callable[[bytes], Awaitable[DeliveryResult]],
        policy: DeliveryPolicy,
        recorder: DeliveryRecorder,
    ) -> None:
        self.id = recipient.subscription_id
        self._recipient = recipient
        self._deliver = deliver
        self._policy = policy
        self._recorder = recorder
        self._queues: dict[str, InstanceQueue] = {}
        self._queued_ids: set[int] = set()
        self._ready: asyncio.Queue[InstanceQueue] = asyncio.Queue()
        #: the last event that was loaded in order
        self.last_event_id = 0
        #: whether the database has further pending deliveries
        self.has_backlog = False
        #: the first event that was missed since the last read
        self._missed: int | None = None
        self._failures = 0
        #: whether the stored deliveries may be marked as failing, as another
        #: process may have left them
        self._may_be_failing = True
        self._paused_until = 0.0
        self._probe_lock = asyncio.Lock()

    async def run(self) -> None:
        """Deliver until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._policy.max_requests):
                workers.create_task(self._work())

    def offer(self, deliveries: Iterable[Delivery]) -> None:
        """Queue deliveries, unless there is no room, or they may have been
        loaded already: then they are read from the database later.
        """
        for delivery in deliveries:
            is_late = delivery.event_id <= self.last_event_id
            is_full = len(self._queued_ids) >= CAPACITY
            if is_late or is_full or self.has_backlog:
                self.mark_missed(delivery.event_id)
            else:
                self.last_event_id = delivery.event_id
                self.put(delivery)

    def mark_missed(self, event_id: int) -> None:
        """Have all events from this one on read from the database again."""
        self.has_backlog = True
        self.last_event_id = min(self.last_event_id, event_id - 1)
        before = self._missed
        self._missed = event_id if before is None else min(before, event_id)

    def start_reload(self) -> int:
        """Return the event after which to read."""
        self._missed = None
        return self.last_event_id

    def load_page(
        self, page: Sequence[Delivery], *, made: Iterable[int]
    ) -> None:
        """Queue the deliveries that were read.

        :param made: events that were delivered during the read
        """
        for delivery in page:
            if delivery.event_id not in made:
                self.put(delivery)
        missed, self._missed = self._missed, None
        self.has_backlog = len(page) == CAPACITY
        if page:
            self.last_event_id = page[-1].event_id
        if missed is not None:
            self.mark_missed(missed)

    @property
    def has_room(self) -> bool:
        """Whether it is time to read more from the database."""
        return self.has_backlog and len(self._queued_ids) < CAPACITY // 2

    def put(self, delivery: Delivery) -> None:
        """Queue a delivery, unless it is queued."""
        if delivery.event_id in self._queued_ids:
            return
        self._queued_ids.add(delivery.event_id)
        instance_id = delivery.announcement.subject.id
        queue = self._queues.get(instance_id)
        if queue is None:
            queue = self._queues[instance_id] = InstanceQueue(instance_id)
            self._ready.put_nowait(queue)
        queue.put(delivery)

    async def _work(self) -> None:
        while True:
            queue = await self._ready.get()
            if not queue.deliveries:  # they were parked in the meantime
                del self._queues[queue.instance_id]
                continue
            queue.is_busy = True
            delivery = queue.deliveries[0]
            result = await self._attempt(delivery)
            queue.is_busy = False
            if result is None:
                self._requeue(queue)
            elif result.problem is None:
                queue.failures = 0
                self._record_delivered(delivery)
                self._drop(queue, frozenset({delivery.event_id}))
                self._requeue(queue)
            else:
                await self._schedule_retry(queue, delivery, result)
            while self.has_room:
                await self._recorder.refill(self)

    def _record_delivered(self, delivery: Delivery) -> None:
        if self._may_be_failing:
            self._may_be_failing = False
            self._recorder.record_recovered(self.id)
        self._recorder.record_delivered(delivery)

    async def _attempt(self, delivery: Delivery) -> DeliveryResult | None:
        """Deliver when it is time; None: it was parked before."""
        if not self._failures:
            return await self._send(delivery)
        async with self._probe_lock:
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(self._paused_until - now, 0.0))
            if delivery.event_id not in self._queued_ids:
                return None
            return await self._send(delivery)

    async def _send(self, delivery: Delivery) -> DeliveryResult:
        try:
            notification = payload.build_notification(
                delivery.announcement, self._recipient
            )
            result = await self._deliver(base.encode(notification))
        except Exception as error:
            LOG.exception(
                "Notification not built: event=%d", delivery.event_id
            )
            return DeliveryResult(
                problem=f"The notification cannot be built: {error!r}"
            )
        now = asyncio.get_running_loop().time()
        if not result.everything:
            self._failures = 0
            return result
        self._may_be_failing = True
        if now >= self._paused_until:
            self._failures += 1
            retry_delay = self._policy.retry_delay(self._failures)
            self._paused_until = now + max(retry_delay, result.retry_after)
        return result

    async def _schedule_retry(
        self, queue: InstanceQueue, delivery: Delivery, result: DeliveryResult
    ) -> None:
        queue.failures += 1
        LOG.log(
            log.WARNING if queue.failures == 1 else log.DEBUG,
            "Notification delivery failed: subscription=%s event=%d "
            "request_id=%s error=%s",
            self.id,
            delivery.event_id,
            delivery.announcement.request_id,
            result.problem,
        )
        parked = await self._recorder.record_failed(delivery, result)
        if parked:
            LOG.warning(
                "Deliveries parked: subscription=%s count=%d",
                self.id,
                len(parked),
            )
            affected = self._queues.values() if result.everything else [queue]
            for affected_queue in affected:
                self._drop(affected_queue, parked)
        if result.everything or delivery.event_id in parked:
            self._requeue(queue)  # _attempt waits
        else:
            asyncio.get_running_loop().call_later(
                self._policy.retry_delay(queue.failures), self._requeue, queue
            )

    def _drop(self, queue: InstanceQueue, events: frozenset[int]) -> None:
        """Remove deliveries that succeeded or were parked."""
        queue.deliveries = [
            delivery
            for delivery in queue.deliveries
            if delivery.event_id not in events
        ]
        self._queued_ids -= events

    def _requeue(self, queue: InstanceQueue) -> None:
        """Make a queue ready again, if it is not empty."""
        if queue.deliveries:
            self._ready.put_nowait(queue)
        else:
            del self._queues[queue.instance_id]
