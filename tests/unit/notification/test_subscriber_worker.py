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
from tacker_cnf.notification.payload import Recipient
from tacker_cnf.notification.subscriber import DeliveryPolicy, Subscriber
from tacker_cnf.notification.webhook_client import DeliveryResult
from tacker_cnf.sol.subscription import (
    LcmOpOccNotificationVerbosityType,
    NotificationType,
)
from tests.factories import NOW, an_instance

PACE = DeliveryPolicy(
    max_requests=3, retry_interval=0.001, max_retry_interval=0.002
)


def delivery(event_id: int, instance_id: str = "one") -> Delivery:
    happened = Announcement(
        id=f"event-{event_id}",
        type=NotificationType.CREATION,
        time_stamp=NOW,
        subject=announcement.subject(an_instance(id=instance_id)),
    )
    return Delivery("s", event_id, happened)


class FakeStore:
    """Keeps what became of deliveries; has a backlog of its own."""

    def __init__(self, backlog: list[Delivery]) -> None:
        self.delivered: list[int] = []
        self.failures: list[tuple[int, str | None]] = []
        self.parked_events: frozenset[int] = frozenset()
        self.backlog = backlog
        self.reads = self.recoveries = 0
        self.done = asyncio.Event()
        self.count = 0

    def made(self, delivery: Delivery) -> None:
        self.delivered.append(delivery.event_id)
        if len(self.delivered) + len(self.parked_events) >= self.count:
            self.done.set()

    def recovered(self, _: str) -> None:
        self.recoveries += 1

    async def failed(
        self, delivery: Delivery, outcome: DeliveryResult
    ) -> frozenset[int]:
        self.failures.append((delivery.event_id, outcome.problem))
        return (
            self.parked_events
            if delivery.event_id in self.parked_events
            else frozenset()
        )

    async def refill(self, of: Subscriber) -> None:
        self.reads += 1
        after = of.start_reload()
        page = [d for d in self.backlog if d.event_id > after]
        of.load_page(page[: subscriber.CAPACITY], made=self.delivered)


class SubscriberTest(testtools.TestCase):
    def run_worker(
        self,
        deliver: Callable[
            [Subscriber, bytes], Coroutine[Any, Any, DeliveryResult]
        ],
        deliveries: list[Delivery],
        parked_events: frozenset[int] = frozenset(),
        backlog: list[Delivery] | None = None,
    ) -> FakeStore:
        async def run() -> FakeStore:
            store_calls = FakeStore(backlog or [])
            store_calls.parked_events = parked_events
            store_calls.count = len(backlog or deliveries)
            to = Recipient(
                subscription_id="s",
                verbosity=LcmOpOccNotificationVerbosityType.FULL,
                api_base="",
            )
            worker = Subscriber(
                to, lambda body: deliver(worker, body), PACE, store_calls
            )
            worker.offer(deliveries)
            running = asyncio.create_task(worker.run())
            async with asyncio.timeout(20):
                await store_calls.done.wait()
            running.cancel()
            return store_calls

        return asyncio.run(run())


class TestOrder(SubscriberTest):
    def test_notifications_of_an_instance_stay_in_order(self) -> None:
        fails = {1: 3, 4: 2, 9: 1}

        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            event = int(body.split(b'"event-')[1].split(b'"')[0])
            await asyncio.sleep(0.0005 * (event % 3))
            if fails.get(event, 0):
                fails[event] -= 1
                return DeliveryResult(problem="no", everything=event == 4)
            return DeliveryResult()

        given = [delivery(n, "ab"[n % 2]) for n in range(1, 41)]
        store_calls = self.run_worker(deliver, given)
        self.assertEqual(set(range(1, 41)), set(store_calls.delivered))
        self.assertEqual(40, len(store_calls.delivered))
        for parity in (0, 1):
            told = [n for n in store_calls.delivered if n % 2 == parity]
            self.assertEqual(sorted(told), told)
        self.assertEqual(6, len(store_calls.failures))

    def test_what_is_parked_is_passed_over(self) -> None:
        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            is_rejected = b"event-2" in body
            return DeliveryResult(problem="no" if is_rejected else None)

        given = [delivery(n) for n in (1, 2, 3)]
        store_calls = self.run_worker(
            deliver, given, parked_events=frozenset({2})
        )
        self.assertEqual([1, 3], store_calls.delivered)

    def test_all_may_be_parked_at_once(self) -> None:
        """A subscriber that is dead: what waits behind goes as well, and is
        not tried again.
        """
        tries: Counter[int] = Counter()

        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            event = int(body.split(b'"event-')[1].split(b'"')[0])
            tries[event] += 1
            await asyncio.sleep(0.001)
            return DeliveryResult(
                problem=None if event == 9 else "no", everything=True
            )

        given = [delivery(n, f"i-{n}") for n in (1, 2, 3, 4, 5, 9)]
        parked_events = frozenset({1, 2, 3, 4, 5})
        store_calls = self.run_worker(
            deliver, given, parked_events=parked_events
        )
        self.assertEqual([9], store_calls.delivered)
        # the first ones were under way before anybody knew
        self.assertEqual({1: 1, 2: 1, 3: 1, 9: 1}, dict(tries))

    def test_what_cannot_be_encoded_is_a_failure(self) -> None:
        tries = []

        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            tries.append(body)
            if len(tries) == 1:
                raise ZeroDivisionError
            return DeliveryResult()

        store_calls = self.run_worker(deliver, [delivery(1)])
        self.assertEqual(
            [(1, "It cannot be told: ZeroDivisionError()")],
            store_calls.failures,
        )
        self.assertEqual([1], store_calls.delivered)


class TestRoom(SubscriberTest):
    def test_what_finds_no_room_is_read_later(self) -> None:
        async def deliver(_: Subscriber, __: bytes) -> DeliveryResult:
            return DeliveryResult()

        count = 2 * subscriber.CAPACITY + 321
        given = [delivery(n, f"i-{n % 7}") for n in range(1, count + 1)]
        store_calls = self.run_worker(deliver, given, backlog=given)
        self.assertEqual(
            list(range(1, count + 1)), sorted(store_calls.delivered)
        )
        self.assertGreater(store_calls.reads, 1)

    def test_one_request_at_a_time_finds_out(self) -> None:
        """While a subscriber is in trouble it is not called by several."""
        under_way = [0]
        seen: list[int] = []

        async def deliver(_: Subscriber, __: bytes) -> DeliveryResult:
            under_way[0] += 1
            await asyncio.sleep(0.001)
            fails = len(seen) < 12
            if fails:
                seen.append(under_way[0])
            under_way[0] -= 1
            return DeliveryResult(
                problem="no" if fails else None, everything=fails
            )

        given = [delivery(n, f"i-{n}") for n in range(1, 10)]
        store_calls = self.run_worker(deliver, given)
        self.assertEqual(9, len(store_calls.delivered))
        # the first ones were under way before anybody knew
        self.assertEqual([1] * 9, seen[PACE.max_requests :])


class TestPatience(testtools.TestCase):
    def test_pauses_grow_to_an_end_and_are_not_in_step(self) -> None:
        pace = DeliveryPolicy(
            max_requests=1, retry_interval=1.0, max_retry_interval=60.0
        )
        for failures in range(1, 2000):
            longest = min(2.0 ** min(failures - 1, 30), 60.0)
            pause = pace.retry_delay(failures)
            self.assertGreaterEqual(pause, longest / 2)
            self.assertLessEqual(pause, longest)
        self.assertGreater(len({pace.retry_delay(9) for _ in range(20)}), 10)
