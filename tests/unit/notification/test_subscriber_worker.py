"""One subscriber: order, capacity and retries, without a network."""

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
from tests.fixtures.clock import SteppingLoop

POLICY = DeliveryPolicy(
    max_requests=3, retry_interval=10.0, max_retry_interval=20.0
)


def delivery(event_id: int, instance_id: str = "one") -> Delivery:
    event = Announcement(
        id=f"event-{event_id}",
        type=NotificationType.CREATION,
        time_stamp=NOW,
        subject=announcement.subject(an_instance(id=instance_id)),
    )
    return Delivery("s", event_id, event)


class FakeStore:
    """Records the results of deliveries; has a backlog."""

    def __init__(self, backlog: list[Delivery]) -> None:
        self.delivered: list[int] = []
        self.failures: list[tuple[int, str | None]] = []
        self.parked_events: frozenset[int] = frozenset()
        self.backlog = backlog
        self.reads = self.recoveries = 0
        self.done = asyncio.Event()
        self.count = 0

    def record_delivered(self, delivery: Delivery) -> None:
        self.delivered.append(delivery.event_id)
        if len(self.delivered) + len(self.parked_events) >= self.count:
            self.done.set()

    def record_recovered(self, _: str) -> None:
        self.recoveries += 1

    async def record_failed(
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
            store = FakeStore(backlog or [])
            store.parked_events = parked_events
            store.count = len(backlog or deliveries)
            to = Recipient(
                subscription_id="s",
                verbosity=LcmOpOccNotificationVerbosityType.FULL,
                api_base="",
            )
            worker = Subscriber(
                to, lambda body: deliver(worker, body), POLICY, store
            )
            worker.offer(deliveries)
            running = asyncio.create_task(worker.run())
            await store.done.wait()
            running.cancel()
            return store

        with asyncio.Runner(loop_factory=SteppingLoop) as runner:
            return runner.run(run())


class TestOrder(SubscriberTest):
    def test_notifications_of_an_instance_stay_in_order(self) -> None:
        fails = {1: 3, 4: 2, 9: 1}

        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            event = int(body.split(b'"event-')[1].split(b'"')[0])
            await asyncio.sleep(5.0 * (event % 3))
            if fails.get(event, 0):
                fails[event] -= 1
                return DeliveryResult(problem="no", everything=event == 4)
            return DeliveryResult()

        deliveries = [delivery(n, "ab"[n % 2]) for n in range(1, 41)]
        store = self.run_worker(deliver, deliveries)
        self.assertEqual(set(range(1, 41)), set(store.delivered))
        self.assertEqual(40, len(store.delivered))
        for parity in (0, 1):
            delivered = [n for n in store.delivered if n % 2 == parity]
            self.assertEqual(sorted(delivered), delivered)
        self.assertEqual(6, len(store.failures))

    def test_parked_deliveries_are_skipped(self) -> None:
        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            is_rejected = b"event-2" in body
            return DeliveryResult(problem="no" if is_rejected else None)

        deliveries = [delivery(n) for n in (1, 2, 3)]
        store = self.run_worker(
            deliver, deliveries, parked_events=frozenset({2})
        )
        self.assertEqual([1, 3], store.delivered)

    def test_all_deliveries_of_a_subscriber_are_parked(self) -> None:
        """When a subscriber fails as a whole, queued deliveries are parked,
        too, and not attempted.
        """
        tries: Counter[int] = Counter()

        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            event = int(body.split(b'"event-')[1].split(b'"')[0])
            tries[event] += 1
            await asyncio.sleep(10.0)
            return DeliveryResult(
                problem=None if event == 9 else "no", everything=True
            )

        deliveries = [delivery(n, f"i-{n}") for n in (1, 2, 3, 4, 5, 9)]
        parked_events = frozenset({1, 2, 3, 4, 5})
        store = self.run_worker(
            deliver, deliveries, parked_events=parked_events
        )
        self.assertEqual([9], store.delivered)
        # the first ones were in flight before the first failure
        self.assertEqual({1: 1, 2: 1, 3: 1, 9: 1}, dict(tries))

    def test_an_exception_during_delivery_is_a_failure(self) -> None:
        tries = []

        async def deliver(_: Subscriber, body: bytes) -> DeliveryResult:
            tries.append(body)
            if len(tries) == 1:
                raise ZeroDivisionError
            return DeliveryResult()

        store = self.run_worker(deliver, [delivery(1)])
        self.assertEqual(
            [(1, "The notification cannot be built: ZeroDivisionError()")],
            store.failures,
        )
        self.assertEqual([1], store.delivered)


class TestRetryAfter(SubscriberTest):
    def test_it_is_respected_if_it_is_longer_than_the_delay(self) -> None:
        times: list[float] = []

        async def deliver(_: Subscriber, __: bytes) -> DeliveryResult:
            times.append(asyncio.get_running_loop().time())
            if len(times) > 1:
                return DeliveryResult()
            return DeliveryResult(
                problem="no", everything=True, retry_after=100.0
            )

        self.run_worker(deliver, [delivery(1)])
        first, second = times
        self.assertEqual(100.0, second - first)


class TestCapacity(SubscriberTest):
    def test_deliveries_above_the_capacity_are_read_later(self) -> None:
        async def deliver(_: Subscriber, __: bytes) -> DeliveryResult:
            return DeliveryResult()

        count = 2 * subscriber.CAPACITY + 321
        deliveries = [delivery(n, f"i-{n % 7}") for n in range(1, count + 1)]
        store = self.run_worker(deliver, deliveries, backlog=deliveries)
        self.assertEqual(list(range(1, count + 1)), sorted(store.delivered))
        self.assertGreater(store.reads, 1)

    def test_one_request_at_a_time_probes_a_failing_subscriber(self) -> None:
        """A failing subscriber is not called concurrently."""
        in_flight = [0]
        seen: list[int] = []

        async def deliver(_: Subscriber, __: bytes) -> DeliveryResult:
            in_flight[0] += 1
            await asyncio.sleep(10.0)
            fails = len(seen) < 12
            if fails:
                seen.append(in_flight[0])
            in_flight[0] -= 1
            return DeliveryResult(
                problem="no" if fails else None, everything=fails
            )

        deliveries = [delivery(n, f"i-{n}") for n in range(1, 10)]
        store = self.run_worker(deliver, deliveries)
        self.assertEqual(9, len(store.delivered))
        # the first ones were in flight before the first failure
        self.assertEqual([1] * 9, seen[POLICY.max_requests :])


class TestRetryDelay(testtools.TestCase):
    def test_retry_delays_grow_to_a_limit_with_jitter(self) -> None:
        policy = DeliveryPolicy(
            max_requests=1, retry_interval=1.0, max_retry_interval=60.0
        )
        for failures in range(1, 2000):
            longest = min(2.0 ** min(failures - 1, 30), 60.0)
            delay = policy.retry_delay(failures)
            self.assertGreaterEqual(delay, longest / 2)
            self.assertLessEqual(delay, longest)
        self.assertGreater(len({policy.retry_delay(9) for _ in range(20)}), 10)
