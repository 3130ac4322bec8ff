"""One subscriber: order, room, and patience, without a clock or a wire."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import testtools

from tacker_cnf.db.deliveries import Delivery
from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement
from tacker_cnf.notification import subscriber
from tacker_cnf.notification.content import Addressee
from tacker_cnf.notification.delivery import Outcome
from tacker_cnf.notification.subscriber import Pace, Subscriber
from tacker_cnf.sol.subscription import (
    LcmOpOccNotificationVerbosityType,
    NotificationType,
)
from tests.factories import NOW, an_instance

PACE = Pace(max_requests=3, retry_interval=0.001, max_retry_interval=0.002)


def delivery(event_id: int, instance_id: str = "one") -> Delivery:
    happened = Announcement(
        id=f"event-{event_id}",
        type=NotificationType.CREATION,
        time_stamp=NOW,
        subject=announcement.subject(an_instance(id=instance_id)),
    )
    return Delivery("s", event_id, happened)


class Books:
    """Keeps what became of deliveries; has a backlog of its own."""

    def __init__(self, backlog: list[Delivery]) -> None:
        self.told: list[int] = []
        self.failures: list[tuple[int, str | None]] = []
        self.parks: frozenset[int] = frozenset()
        self.backlog = backlog
        self.reads = self.recoveries = 0
        self.enough = asyncio.Event()
        self.count = 0

    def made(self, delivery: Delivery) -> None:
        self.told.append(delivery.event_id)
        if len(self.told) + len(self.parks) >= self.count:
            self.enough.set()

    def recovered(self, _: str) -> None:
        self.recoveries += 1

    async def failed(
        self, delivery: Delivery, outcome: Outcome
    ) -> frozenset[int]:
        self.failures.append((delivery.event_id, outcome.problem))
        return self.parks if delivery.event_id in self.parks else frozenset()

    async def refill(self, of: Subscriber) -> None:
        self.reads += 1
        after = of.begin_to_read()
        page = [d for d in self.backlog if d.event_id > after]
        of.take(page[: subscriber.CAPACITY], made=self.told)


class SubscriberTest(testtools.TestCase):
    def lead(
        self,
        deliver: Callable[[Subscriber, bytes], Coroutine[Any, Any, Outcome]],
        deliveries: list[Delivery],
        parks: frozenset[int] = frozenset(),
        backlog: list[Delivery] | None = None,
    ) -> Books:
        async def run() -> Books:
            books = Books(backlog or [])
            books.parks = parks
            books.count = len(backlog or deliveries)
            to = Addressee(
                subscription_id="s",
                verbosity=LcmOpOccNotificationVerbosityType.FULL,
                api_base="",
            )
            told = Subscriber(
                to, lambda body: deliver(told, body), PACE, books
            )
            told.offer(deliveries)
            running = asyncio.create_task(told.run())
            async with asyncio.timeout(20):
                await books.enough.wait()
            running.cancel()
            return books

        return asyncio.run(run())


class TestOrder(SubscriberTest):
    def test_of_one_instance_nothing_is_told_before_its_time(self) -> None:
        fails = {1: 3, 4: 2, 9: 1}

        async def deliver(_: Subscriber, body: bytes) -> Outcome:
            event = int(body.split(b'"event-')[1].split(b'"')[0])
            await asyncio.sleep(0.0005 * (event % 3))
            if fails.get(event, 0):
                fails[event] -= 1
                return Outcome(problem="no", everything=event == 4)
            return Outcome()

        given = [delivery(n, "ab"[n % 2]) for n in range(1, 41)]
        books = self.lead(deliver, given)
        self.assertEqual(set(range(1, 41)), set(books.told))
        self.assertEqual(40, len(books.told))
        for parity in (0, 1):
            told = [n for n in books.told if n % 2 == parity]
            self.assertEqual(sorted(told), told)
        self.assertEqual(6, len(books.failures))

    def test_what_is_parked_is_passed_over(self) -> None:
        async def deliver(_: Subscriber, body: bytes) -> Outcome:
            poison = b"event-2" in body
            return Outcome(problem="no" if poison else None)

        given = [delivery(n) for n in (1, 2, 3)]
        books = self.lead(deliver, given, parks=frozenset({2}))
        self.assertEqual([1, 3], books.told)

    def test_all_may_be_parked_at_once(self) -> None:
        """A subscriber that is dead: what waits behind goes as well, and is
        not tried again.
        """
        tries: Counter[int] = Counter()

        async def deliver(_: Subscriber, body: bytes) -> Outcome:
            event = int(body.split(b'"event-')[1].split(b'"')[0])
            tries[event] += 1
            await asyncio.sleep(0.001)
            return Outcome(
                problem=None if event == 9 else "no", everything=True
            )

        given = [delivery(n, f"i-{n}") for n in (1, 2, 3, 4, 5, 9)]
        parks = frozenset({1, 2, 3, 4, 5})
        books = self.lead(deliver, given, parks=parks)
        self.assertEqual([9], books.told)
        # the first ones were under way before anybody knew
        self.assertEqual({1: 1, 2: 1, 3: 1, 9: 1}, dict(tries))

    def test_what_cannot_be_told_is_a_failure(self) -> None:
        tries = []

        async def deliver(_: Subscriber, body: bytes) -> Outcome:
            tries.append(body)
            if len(tries) == 1:
                raise ZeroDivisionError
            return Outcome()

        books = self.lead(deliver, [delivery(1)])
        self.assertEqual(
            [(1, "It cannot be told: ZeroDivisionError()")], books.failures
        )
        self.assertEqual([1], books.told)


class TestRoom(SubscriberTest):
    def test_what_finds_no_room_is_read_later(self) -> None:
        async def deliver(_: Subscriber, __: bytes) -> Outcome:
            return Outcome()

        count = 2 * subscriber.CAPACITY + 321
        given = [delivery(n, f"i-{n % 7}") for n in range(1, count + 1)]
        books = self.lead(deliver, given, backlog=given)
        self.assertEqual(list(range(1, count + 1)), sorted(books.told))
        self.assertGreater(books.reads, 1)

    def test_one_request_at_a_time_finds_out(self) -> None:
        """While a subscriber is in trouble it is not called by several."""
        under_way = [0]
        seen: list[int] = []

        async def deliver(_: Subscriber, __: bytes) -> Outcome:
            under_way[0] += 1
            await asyncio.sleep(0.001)
            fails = len(seen) < 12
            if fails:
                seen.append(under_way[0])
            under_way[0] -= 1
            return Outcome(problem="no" if fails else None, everything=fails)

        given = [delivery(n, f"i-{n}") for n in range(1, 10)]
        books = self.lead(deliver, given)
        self.assertEqual(9, len(books.told))
        # the first ones were under way before anybody knew
        self.assertEqual([1] * 9, seen[PACE.max_requests :])


class TestPatience(testtools.TestCase):
    def test_pauses_grow_to_an_end_and_are_not_in_step(self) -> None:
        pace = Pace(
            max_requests=1, retry_interval=1.0, max_retry_interval=60.0
        )
        for failures in range(1, 2000):
            longest = min(2.0 ** min(failures - 1, 30), 60.0)
            pause = pace.pause(failures)
            self.assertGreaterEqual(pause, longest / 2)
            self.assertLessEqual(pause, longest)
        self.assertGreater(len({pace.pause(9) for _ in range(20)}), 10)
