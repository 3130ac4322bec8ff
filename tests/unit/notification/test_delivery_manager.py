"""What is handed out, beside what is read at the same moment."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import fixtures

from tacker_cnf.db import deliveries, models, outbox, subscriptions
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
from tests.fixtures.http_receiver import HttpReceiver
from tests.unit.db.base import StoreTest

PACE = DeliveryPolicy(
    max_requests=2, retry_interval=0.01, max_retry_interval=0.02
)
#: what a subscriber holds here
CAPACITY = 4


class DeliveryManagerTest(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        for module in ("delivery_manager", "subscriber"):
            name = f"tacker_cnf.notification.{module}.CAPACITY"
            self.useFixture(fixtures.MonkeyPatch(name, CAPACITY))
        self.receiver = self.useFixture(HttpReceiver())
        self.ledger = DeliveryStore(self.store, 3600.0)
        #: what comes between a call to the database and its answer
        self.between: dict[Any, Callable[[], Awaitable[None]]] = {}
        given = LccnSubscription(
            id="s",
            callback_uri=self.receiver.url,
            verbosity=LcmOpOccNotificationVerbosityType.FULL,
        )
        with self.store.writer() as session:
            subscriptions.add(
                session,
                Contact(subscription=given, authentication=None, api_base=""),
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
            async with asyncio.timeout(30), asyncio.TaskGroup() as work:
                manager = DeliveryManager(
                    self.ledger,
                    self.in_thread,
                    PACE,
                    HttpClientOptions(),
                    SsrfPolicy(allow_loopback=True),
                    None,
                )
                books = work.create_task(manager.record_deliveries())
                await manager.open(work)
                yield manager
                books.cancel()
                with self.store.writer() as session:
                    subscriptions.delete(session, "s")
                await manager.stop_unsubscribed()

    async def wait_received(self, count: int) -> list[str]:
        """Give the ids of all that came, when it is so many and no more."""
        await asyncio.to_thread(self.receiver.wait, count)
        await asyncio.sleep(0.3)
        return [request.json["id"] for request in self.receiver.received]

    def assert_delivered_once(self, ids: list[str], count: int) -> None:
        self.assertEqual(count, len(set(ids)))
        self.assertEqual(count, len(ids))


class TestHandingOut(DeliveryManagerTest):
    def test_what_was_read_meanwhile_is_not_sent_again(self) -> None:
        """A worker reads and tells what was just written, before whoever
        wrote it hands it out.
        """

        async def deliver_all() -> None:
            async with self.run_manager() as office:
                self.receiver.delay = 0.1
                self.create_events(*"abcdefgh")
                await office.fan_out()

                async def deliver_first() -> None:
                    await self.wait_received(11)

                self.between[self.ledger.fan_out] = deliver_first
                self.create_events("a", "b", "a")
                await office.fan_out()
                self.assert_delivered_once(await self.wait_received(11), 11)

        asyncio.run(deliver_all())
        by_instance = defaultdict(list)
        for request in self.receiver.received:
            deliver_first = request.json
            by_instance[deliver_first["vnfInstanceId"]].append(
                deliver_first["timeStamp"]
            )
        self.assertEqual(3, len(by_instance["a"]))

    def test_what_is_delivered_while_it_is_read_is_not_sent_again(
        self,
    ) -> None:
        async def deliver_all() -> None:
            async with self.run_manager() as office:
                self.create_events("a")
                await office.fan_out()
                await self.wait_received(1)
                self.receiver.delay = 0.3
                self.create_events("a", "b")
                await office.fan_out()

                async def told() -> None:
                    await self.wait_received(3)

                self.between[self.ledger.list_pending] = told
                desk = await office._get_worker("s")
                assert desk
                desk.subscriber.mark_missed(1)
                await office.refill(desk.subscriber)
                self.assert_delivered_once(await self.wait_received(3), 3)

        asyncio.run(deliver_all())

    def test_late_events_reach_idle_subscribers(self) -> None:
        """The number of an event may be smaller than that of one which was
        told before, when its transaction took longer.
        """

        async def deliver_all() -> None:
            async with self.run_manager() as office:
                self.create_events("a", "b")
                with self.store.writer() as session:
                    late = session.get(models.LifecycleEvent, 1)
                    assert late
                    late.fanned_out = True
                await office.fan_out()
                await self.wait_received(1)
                with self.store.writer() as session:
                    self.create_another_event(session, 1)
                await office.fan_out()
                self.assert_delivered_once(await self.wait_received(2), 2)

        asyncio.run(deliver_all())

    def create_another_event(self, session: Any, event_id: int) -> None:
        event = session.get(models.LifecycleEvent, event_id)
        event.fanned_out = False


class TestTrouble(DeliveryManagerTest):
    def test_what_was_not_tried_does_not_count_as_failing_after_it(
        self,
    ) -> None:
        """Else what fails once, later, would be parked at once."""
        self.ledger = DeliveryStore(self.store, 0.4)

        async def deliver_all() -> None:
            async with self.run_manager() as office:
                self.receiver.delay = 0.2
                self.receiver.next_statuses.extend([503, 204, 204, 500])
                self.create_events(*"aaaa")
                await office.fan_out()
                self.assert_delivered_once(await self.wait_received(4), 4)

        asyncio.run(deliver_all())
        with self.store.reader() as session:
            self.assertEqual([], deliveries.list_parked(session))


class TestResent(DeliveryManagerTest):
    def test_no_more_than_there_is_room_for_is_held(self) -> None:
        async def deliver_all() -> None:
            async with self.run_manager() as office:
                self.create_events("a")
                await office.fan_out()
                await self.wait_received(1)
                self.create_events(*map(str, range(20)))
                with self.store.writer() as session:
                    new = deliveries.new_events(session, 20)
                    made = [deliveries.Delivery("s", *event) for event in new]
                    ids = [event_id for event_id, _ in new]
                    deliveries.fan_out(session, ids, made)
                    session.query(models.Delivery).update(
                        {"state": models.DeliveryState.RESENT}
                    )
                self.receiver.delay = 0.02
                await office.fan_out()
                desk = await office._get_worker("s")
                assert desk
                while len(self.receiver.received) < 21:
                    held = len(desk.subscriber._queued_ids)
                    self.assertLess(held, 2 * CAPACITY)
                    await asyncio.sleep(0.001)
                self.assert_delivered_once(await self.wait_received(21), 21)

        asyncio.run(deliver_all())
