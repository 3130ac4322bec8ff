"""One subscriber: what it has still to be told, and how it takes it.

A lane holds the deliveries about one VNF instance, in order; a few workers
take the head of one lane after another. When the subscriber as a whole is in
trouble, one worker at a time finds out whether it is still so.
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

#: deliveries that are held in memory; the others wait in the database
CAPACITY: Final = 500


class DeliveryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a subscriber is treated."""

    max_requests: int
    retry_interval: float
    max_retry_interval: float

    def retry_delay(self, failures: int) -> float:
        """Tell how long to wait: longer each time, and never in step."""
        delay = self.retry_interval * 2.0 ** min(failures - 1, 30)
        max_delay = min(delay, self.max_retry_interval)
        return max_delay * random.uniform(0.5, 1.0)  # noqa: S311


class DeliveryRecorder(Protocol):
    """Who writes down what became of deliveries."""

    def made(self, delivery: Delivery) -> None:
        """Keep that a delivery was made."""

    def recovered(self, subscription_id: str) -> None:
        """Keep that a subscriber is out of trouble."""

    async def failed(
        self, delivery: Delivery, result: DeliveryResult
    ) -> frozenset[int]:
        """Keep that it failed; tell the events that are parked now."""

    async def refill(self, subscriber: "Subscriber") -> None:
        """Put in what waits in the database."""


class InstanceQueue:
    """The deliveries about one VNF instance, in order."""

    def __init__(self, instance_id: str) -> None:
        self.instance_id = instance_id
        self.failures = 0
        #: whether the first one is on its way
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
    """Tells one subscriber."""

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
        #: the last event that was taken from the database in order
        self.last_event_id = 0
        #: whether the database has more of them than are known here
        self.has_backlog = False
        #: the first event that was missed since they were read
        self._missed: int | None = None
        self._failures = 0
        #: whether all that waits may count as failing, as another process may
        #: have left it
        self._may_be_failing = True
        self._paused_until = 0.0
        self._probe_lock = asyncio.Lock()

    async def run(self) -> None:
        """Tell what there is to tell, until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._policy.max_requests):
                workers.create_task(self._work())

    def offer(self, deliveries: Iterable[Delivery]) -> None:
        """Take deliveries, unless there is no room, or they may have been
        read already: then the database tells what waits.
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
        """Have all from this event on read from the database again."""
        self.has_backlog = True
        self.last_event_id = min(self.last_event_id, event_id - 1)
        before = self._missed
        self._missed = event_id if before is None else min(before, event_id)

    def start_reload(self) -> int:
        """Tell after which event to read."""
        self._missed = None
        return self.last_event_id

    def load_page(
        self, page: Sequence[Delivery], *, made: Iterable[int]
    ) -> None:
        """Take what was read.

        :param made: events of which it was told while they were read
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
        """Take a delivery."""
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
            if not queue.deliveries:  # they were parked meanwhile
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
            self._recorder.recovered(self.id)
        self._recorder.made(delivery)

    async def _attempt(self, delivery: Delivery) -> DeliveryResult | None:
        """Deliver when it is time; None: it was parked until then."""
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
            LOG.exception("Event %d cannot be told", delivery.event_id)
            return DeliveryResult(problem=f"It cannot be told: {error!r}")
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
            "Subscriber %s was not told of event %d: %s",
            self.id,
            delivery.event_id,
            result.problem,
        )
        parked = await self._recorder.failed(delivery, result)
        if parked:
            LOG.warning("%d deliveries to %s parked", len(parked), self.id)
            affected = self._queues.values() if result.everything else [queue]
            for one in affected:
                self._drop(one, parked)
        if result.everything or delivery.event_id in parked:
            self._requeue(queue)  # _attempt waits
        else:
            asyncio.get_running_loop().call_later(
                self._policy.retry_delay(queue.failures), self._requeue, queue
            )

    def _drop(self, queue: InstanceQueue, events: frozenset[int]) -> None:
        """Forget deliveries that were made or parked."""
        queue.deliveries = [
            delivery
            for delivery in queue.deliveries
            if delivery.event_id not in events
        ]
        self._queued_ids -= events

    def _requeue(self, queue: InstanceQueue) -> None:
        """Put a lane in line again, if there is anything in it."""
        if queue.deliveries:
            self._ready.put_nowait(queue)
        else:
            del self._queues[queue.instance_id]
