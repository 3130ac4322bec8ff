"""Distribution of deliveries while others are read concurrently."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import fixtures

from tacker_cnf.db import deliveries, models, outbox, subscriptions
from tacker_cnf.db.subscription_types import LIFECYCLE
from tacker_cnf.db.subscriptions import Contact
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.notification.delivery_manager import DeliveryManager
from tacker_cnf.notification.delivery_store import DeliveryStore
from tacker_cnf.notification.subscriber import DeliveryPolicy
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LcmOpOccNotificationVerbosityType,
)
from tests.factories import NOW, an_instance
from tests.fixtures import waiting
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.unit.db.base import StoreTest

PACE = DeliveryPolicy(
    max_requests=2, retry_interval=0.01, max_retry_interval=0.02
)
#: deliveries of a subscriber in memory
CAPACITY = 4


class DeliveryManagerTest(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        for module in ("delivery_manager", "subscriber"):
            name = f"tacker_cnf.notification.{module}.CAPACITY"
            self.useFixture(fixtures.MonkeyPatch(name, CAPACITY))
        self.receiver = self.useFixture(HttpReceiver())
        self.delivery_store = DeliveryStore(self.store, 3600.0, 3600.0)
        #: database call -> what to run before its result is returned
        self.between: dict[Any, Callable[[], Awaitable[None]]] = {}
        subscription = LccnSubscription(
            id="s",
            callback_uri=self.receiver.url,
            verbosity=LcmOpOccNotificationVerbosityType.FULL,
            project_id="a-project",
        )
        with self.store.writer() as session:
            subscriptions.add(
                session,
                Contact(
                    subscription=subscription, authentication=None, api_base=""
                ),
                NOW,
            )

    def create_events(self, *instance_ids: str) -> None:
        with self.store.writer() as session:
            for instance_id in instance_ids:
                instance = an_instance(id=instance_id)
                outbox.announce_creation(session, instance, NOW)

    async def in_thread(self, call: Any, *args: Any, **options: Any) -> Any:
        got = await asyncio.to_thread(call, *args, **options)
        if call in self.between:
            await self.between.pop(call)()
        return got

    @contextlib.asynccontextmanager
    async def run_manager(self) -> AsyncIterator[DeliveryManager]:
        with contextlib.suppress(asyncio.CancelledError):
            async with asyncio.timeout(600), asyncio.TaskGroup() as work:
                self.manager = manager = DeliveryManager(
                    self.delivery_store,
                    self.in_thread,
                    PACE,
                    HttpClientOptions(),
                    SsrfPolicy(allow_loopback=True),
                    None,
                )
                recording = work.create_task(manager.record_deliveries())
                await manager.open(work)
                yield manager
                recording.cancel()
                with self.store.writer() as session:
                    subscriptions.delete(session, "s", LIFECYCLE)
                await manager.stop_unsubscribed()

    async def wait_received(self, count: int) -> list[str]:
        """Wait for exactly so many notifications, and until no delivery is
        queued; return their ids.
        """
        await asyncio.to_thread(self.receiver.wait, count)
        worker = await self.manager._get_worker("s")
        assert worker
        queues = worker.subscriber._queues
        await asyncio.to_thread(
            waiting.until, lambda: not queues, "the end of the deliveries"
        )
        return [request.json["id"] for request in self.receiver.received]

    def assert_delivered_once(self, ids: list[str], count: int) -> None:
        self.assertEqual(count, len(set(ids)))
        self.assertEqual(count, len(ids))


class TestFanOut(DeliveryManagerTest):
    def test_deliveries_that_were_read_before_the_fan_out_are_not_repeated(
        self,
    ) -> None:
        """A worker reads and sends new deliveries from the database before
        the fan-out that created them queues them.
        """

        async def deliver_all() -> None:
            async with self.run_manager() as manager:
                self.receiver.delay = 0.1
                self.create_events(*"abcdefgh")
                await manager.fan_out()

                async def deliver_first() -> None:
                    await self.wait_received(11)

                self.between[self.delivery_store.fan_out] = deliver_first
                self.create_events("a", "b", "a")
                await manager.fan_out()
                self.assert_delivered_once(await self.wait_received(11), 11)

        asyncio.run(deliver_all())
        by_instance = defaultdict(list)
        for request in self.receiver.received:
            notification = request.json
            by_instance[notification["vnfInstanceId"]].append(
                notification["timeStamp"]
            )
        self.assertEqual(3, len(by_instance["a"]))

    def test_deliveries_made_during_a_read_are_not_repeated(self) -> None:
        async def deliver_all() -> None:
            async with self.run_manager() as manager:
                self.create_events("a")
                await manager.fan_out()
                await self.wait_received(1)
                self.receiver.delay = 0.3
                self.create_events("a", "b")
                await manager.fan_out()

                async def deliver_rest() -> None:
                    await self.wait_received(3)

                self.between[self.delivery_store.list_pending] = deliver_rest
                worker = await manager._get_worker("s")
                assert worker
                worker.subscriber.mark_missed(1)
                await manager.refill(worker.subscriber)
                self.assert_delivered_once(await self.wait_received(3), 3)

        asyncio.run(deliver_all())

    def test_late_events_reach_idle_subscribers(self) -> None:
        """An event may have a lower id than one that was delivered before,
        if its transaction took longer.
        """

        async def deliver_all() -> None:
            async with self.run_manager() as manager:
                self.create_events("a", "b")
                with self.store.writer() as session:
                    late = session.get(models.LifecycleEvent, 1)
                    assert late
                    late.fanned_out = True
                await manager.fan_out()
                await self.wait_received(1)
                with self.store.writer() as session:
                    self.create_another_event(session, 1)
                await manager.fan_out()
                self.assert_delivered_once(await self.wait_received(2), 2)

        asyncio.run(deliver_all())

    def create_another_event(self, session: Any, event_id: int) -> None:
        event = session.get(models.LifecycleEvent, event_id)
        event.fanned_out = False


class TestParking(DeliveryManagerTest):
    def test_deliveries_without_an_attempt_do_not_count_as_failing(
        self,
    ) -> None:
        """Otherwise a single later failure would park them."""
        self.delivery_store = DeliveryStore(self.store, 0.4, 3600.0)

        async def deliver_all() -> None:
            async with self.run_manager() as manager:
                self.receiver.delay = 0.2
                self.receiver.next_statuses.extend([503, 204, 204, 500])
                self.create_events(*"aaaa")
                await manager.fan_out()
                self.assert_delivered_once(await self.wait_received(4), 4)

        asyncio.run(deliver_all())
        with self.store.reader() as session:
            self.assertEqual([], deliveries.list_parked(session))


class TestResent(DeliveryManagerTest):
    def test_resent_deliveries_in_memory_are_limited(self) -> None:
        async def deliver_all() -> None:
            async with self.run_manager() as manager:
                self.create_events("a")
                await manager.fan_out()
                await self.wait_received(1)
                self.create_events(*map(str, range(20)))
                with self.store.writer() as session:
                    new = deliveries.new_events(session, 20)
                    made = [
                        deliveries.Delivery("s", event_id, announcement)
                        for event_id, _, announcement in new
                    ]
                    ids = [event_id for event_id, _, _ in new]
                    deliveries.fan_out(session, ids, made)
                    session.query(models.Delivery).update(
                        {"state": models.DeliveryState.RESENT}
                    )
                worker = await manager._get_worker("s")
                assert worker
                queued: list[int] = []

                def respond(request: ReceivedRequest) -> Response:
                    queued.append(len(worker.subscriber._queued_ids))
                    return self.receiver._default_response(request)

                self.receiver.responder = respond
                await manager.fan_out()
                self.assert_delivered_once(await self.wait_received(21), 21)
                self.assertLess(max(queued), 2 * CAPACITY)

        asyncio.run(deliver_all())
