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
from tacker_cnf.notification import content
from tacker_cnf.notification.content import Addressee
from tacker_cnf.notification.delivery import Outcome
from tacker_cnf.sol import base

LOG = log.getLogger(__name__)

#: deliveries that are held in memory; the others wait in the database
CAPACITY: Final = 500


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How a subscriber is treated."""

    max_requests: int
    retry_interval: float
    max_retry_interval: float

    def pause(self, failures: int) -> float:
        """Tell how long to wait: longer each time, and never in step."""
        longest = self.retry_interval * 2.0 ** min(failures - 1, 30)
        most = min(longest, self.max_retry_interval)
        return most * random.uniform(0.5, 1.0)  # noqa: S311


class Books(Protocol):
    """Who writes down what became of deliveries."""

    def made(self, delivery: Delivery) -> None:
        """Keep that a delivery was made."""

    def recovered(self, subscription_id: str) -> None:
        """Keep that a subscriber is out of trouble."""

    async def failed(
        self, delivery: Delivery, outcome: Outcome
    ) -> frozenset[int]:
        """Keep that it failed; tell the events that are parked now."""

    async def refill(self, subscriber: "Subscriber") -> None:
        """Put in what waits in the database."""


class Lane:
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
        addressee: Addressee,
        deliver: Callable[[bytes], Awaitable[Outcome]],
        pace: Pace,
        books: Books,
    ) -> None:
        self.id = addressee.subscription_id
        self._addressee = addressee
        self._deliver = deliver
        self._pace = pace
        self._books = books
        self._lanes: dict[str, Lane] = {}
        self._known: set[int] = set()
        self._ready: asyncio.Queue[Lane] = asyncio.Queue()
        #: the last event that was taken from the database in order
        self.last = 0
        #: whether the database has more of them than are known here
        self.is_behind = False
        #: the first event that was missed since they were read
        self._missed: int | None = None
        self._failures = 0
        #: whether all that waits may count as failing, as another process may
        #: have left it
        self._is_marked = True
        self._rest_until = 0.0
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Tell what there is to tell, until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._pace.max_requests):
                workers.create_task(self._work())

    def offer(self, deliveries: Iterable[Delivery]) -> None:
        """Take deliveries, unless there is no room, or they may have been
        read already: then the database tells what waits.
        """
        for delivery in deliveries:
            is_late = delivery.event_id <= self.last
            is_full = len(self._known) >= CAPACITY
            if is_late or is_full or self.is_behind:
                self.miss(delivery.event_id)
            else:
                self.last = delivery.event_id
                self.put(delivery)

    def miss(self, event_id: int) -> None:
        """Have all from this event on read from the database again."""
        self.is_behind = True
        self.last = min(self.last, event_id - 1)
        before = self._missed
        self._missed = event_id if before is None else min(before, event_id)

    def begin_to_read(self) -> int:
        """Tell after which event to read."""
        self._missed = None
        return self.last

    def take(self, page: Sequence[Delivery], *, made: Iterable[int]) -> None:
        """Take what was read.

        :param made: events of which it was told while they were read
        """
        for delivery in page:
            if delivery.event_id not in made:
                self.put(delivery)
        missed, self._missed = self._missed, None
        self.is_behind = len(page) == CAPACITY
        if page:
            self.last = page[-1].event_id
        if missed is not None:
            self.miss(missed)

    @property
    def has_room(self) -> bool:
        """Whether it is time to read more from the database."""
        return self.is_behind and len(self._known) < CAPACITY // 2

    def put(self, delivery: Delivery) -> None:
        """Take a delivery."""
        if delivery.event_id in self._known:
            return
        self._known.add(delivery.event_id)
        instance_id = delivery.announcement.subject.id
        lane = self._lanes.get(instance_id)
        if lane is None:
            lane = self._lanes[instance_id] = Lane(instance_id)
            self._ready.put_nowait(lane)
        lane.put(delivery)

    async def _work(self) -> None:
        while True:
            lane = await self._ready.get()
            if not lane.deliveries:  # they were parked meanwhile
                del self._lanes[lane.instance_id]
                continue
            lane.is_busy = True
            delivery = lane.deliveries[0]
            outcome = await self._attempt(delivery)
            lane.is_busy = False
            if outcome is None:
                self._go_on(lane)
            elif outcome.problem is None:
                lane.failures = 0
                self._book(delivery)
                self._leave(lane, frozenset({delivery.event_id}))
                self._go_on(lane)
            else:
                await self._postpone(lane, delivery, outcome)
            while self.has_room:
                await self._books.refill(self)

    def _book(self, delivery: Delivery) -> None:
        if self._is_marked:
            self._is_marked = False
            self._books.recovered(self.id)
        self._books.made(delivery)

    async def _attempt(self, delivery: Delivery) -> Outcome | None:
        """Deliver when it is time; None: it was parked until then."""
        if not self._failures:
            return await self._send(delivery)
        async with self._turn:
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(self._rest_until - now, 0.0))
            if delivery.event_id not in self._known:
                return None
            return await self._send(delivery)

    async def _send(self, delivery: Delivery) -> Outcome:
        try:
            told = content.of(delivery.announcement, self._addressee)
            outcome = await self._deliver(base.encode(told))
        except Exception as error:
            LOG.exception("Event %d cannot be told", delivery.event_id)
            return Outcome(problem=f"It cannot be told: {error!r}")
        now = asyncio.get_running_loop().time()
        if not outcome.everything:
            self._failures = 0
            return outcome
        self._is_marked = True
        if now >= self._rest_until:
            self._failures += 1
            pause = self._pace.pause(self._failures)
            self._rest_until = now + max(pause, outcome.retry_after)
        return outcome

    async def _postpone(
        self, lane: Lane, delivery: Delivery, outcome: Outcome
    ) -> None:
        lane.failures += 1
        LOG.log(
            log.WARNING if lane.failures == 1 else log.DEBUG,
            "Subscriber %s was not told of event %d: %s",
            self.id,
            delivery.event_id,
            outcome.problem,
        )
        parked = await self._books.failed(delivery, outcome)
        if parked:
            LOG.warning("%d deliveries to %s parked", len(parked), self.id)
            concerned = self._lanes.values() if outcome.everything else [lane]
            for one in concerned:
                self._leave(one, parked)
        if outcome.everything or delivery.event_id in parked:
            self._go_on(lane)  # _attempt waits
        else:
            asyncio.get_running_loop().call_later(
                self._pace.pause(lane.failures), self._go_on, lane
            )

    def _leave(self, lane: Lane, events: frozenset[int]) -> None:
        """Forget deliveries that were made or parked."""
        lane.deliveries = [
            delivery
            for delivery in lane.deliveries
            if delivery.event_id not in events
        ]
        self._known -= events

    def _go_on(self, lane: Lane) -> None:
        """Put a lane in line again, if there is anything in it."""
        if lane.deliveries:
            self._ready.put_nowait(lane)
        else:
            del self._lanes[lane.instance_id]
