"""What is handed out, beside what is read at the same moment."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import fixtures

from tacker_cnf.db import deliveries, models, outbox, subscriptions
from tacker_cnf.db.subscriptions import Contact
from tacker_cnf.notification.ledger import Ledger
from tacker_cnf.notification.office import Office
from tacker_cnf.notification.subscriber import Pace
from tacker_cnf.outgoing.clients import Manners
from tacker_cnf.outgoing.guard import Guard
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LcmOpOccNotificationVerbosityType,
)
from tests.factories import NOW, an_instance
from tests.fixtures.receiver import Receiver
from tests.unit.db.base import StoreTest

PACE = Pace(max_requests=2, retry_interval=0.01, max_retry_interval=0.02)
#: what a subscriber holds here
CAPACITY = 4


class OfficeTest(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        for module in ("office", "subscriber"):
            name = f"tacker_cnf.notification.{module}.CAPACITY"
            self.useFixture(fixtures.MonkeyPatch(name, CAPACITY))
        self.receiver = self.useFixture(Receiver())
        self.ledger = Ledger(self.store, 3600.0)
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

    def happens(self, *instance_ids: str) -> None:
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
    async def office(self) -> AsyncIterator[Office]:
        with contextlib.suppress(asyncio.CancelledError):
            async with asyncio.timeout(30), asyncio.TaskGroup() as work:
                office = Office(
                    self.ledger,
                    self.in_thread,
                    PACE,
                    Manners(),
                    Guard(loopback=True),
                    None,
                )
                books = work.create_task(office.keep_books())
                await office.open(work)
                yield office
                books.cancel()
                with self.store.writer() as session:
                    subscriptions.delete(session, "s")
                await office.dismiss()

    async def came(self, count: int) -> list[str]:
        """Give the ids of all that came, when it is so many and no more."""
        await asyncio.to_thread(self.receiver.wait, count)
        await asyncio.sleep(0.3)
        return [request.json["id"] for request in self.receiver.received]

    def told_once(self, ids: list[str], count: int) -> None:
        self.assertEqual(count, len(set(ids)))
        self.assertEqual(count, len(ids))


class TestHandingOut(OfficeTest):
    def test_what_was_read_meanwhile_is_not_told_again(self) -> None:
        """A worker reads and tells what was just written, before whoever
        wrote it hands it out.
        """

        async def lead() -> None:
            async with self.office() as office:
                self.receiver.delay = 0.1
                self.happens(*"abcdefgh")
                await office.look()

                async def told() -> None:
                    await self.came(11)

                self.between[self.ledger.fan_out] = told
                self.happens("a", "b", "a")
                await office.look()
                self.told_once(await self.came(11), 11)

        asyncio.run(lead())
        by_instance = defaultdict(list)
        for request in self.receiver.received:
            told = request.json
            by_instance[told["vnfInstanceId"]].append(told["timeStamp"])
        self.assertEqual(3, len(by_instance["a"]))

    def test_what_is_told_while_it_is_read_is_not_told_again(self) -> None:
        async def lead() -> None:
            async with self.office() as office:
                self.happens("a")
                await office.look()
                await self.came(1)
                self.receiver.delay = 0.3
                self.happens("a", "b")
                await office.look()

                async def told() -> None:
                    await self.came(3)

                self.between[self.ledger.waiting] = told
                desk = await office._desk("s")
                assert desk
                desk.subscriber.miss(1)
                await office.refill(desk.subscriber)
                self.told_once(await self.came(3), 3)

        asyncio.run(lead())

    def test_what_comes_late_is_told_even_to_who_is_idle(self) -> None:
        """The number of an event may be smaller than that of one which was
        told before, when its transaction took longer.
        """

        async def lead() -> None:
            async with self.office() as office:
                self.happens("a", "b")
                with self.store.writer() as session:
                    late = session.get(models.LifecycleEvent, 1)
                    assert late
                    late.fanned_out = True
                await office.look()
                await self.came(1)
                with self.store.writer() as session:
                    self.happens_again(session, 1)
                await office.look()
                self.told_once(await self.came(2), 2)

        asyncio.run(lead())

    def happens_again(self, session: Any, event_id: int) -> None:
        event = session.get(models.LifecycleEvent, event_id)
        event.fanned_out = False


class TestTrouble(OfficeTest):
    def test_what_was_not_tried_does_not_count_as_failing_after_it(
        self,
    ) -> None:
        """Else what fails once, later, would be parked at once."""
        self.ledger = Ledger(self.store, 0.4)

        async def lead() -> None:
            async with self.office() as office:
                self.receiver.delay = 0.2
                self.receiver.once.extend([503, 204, 204, 500])
                self.happens(*"aaaa")
                await office.look()
                self.told_once(await self.came(4), 4)

        asyncio.run(lead())
        with self.store.reader() as session:
            self.assertEqual([], deliveries.parked(session))


class TestResent(OfficeTest):
    def test_no_more_than_there_is_room_for_is_held(self) -> None:
        async def lead() -> None:
            async with self.office() as office:
                self.happens("a")
                await office.look()
                await self.came(1)
                self.happens(*map(str, range(20)))
                with self.store.writer() as session:
                    new = deliveries.new_events(session, 20)
                    made = [deliveries.Delivery("s", *event) for event in new]
                    ids = [event_id for event_id, _ in new]
                    deliveries.fan_out(session, ids, made)
                    session.query(models.Delivery).update(
                        {"state": models.DeliveryState.RESENT}
                    )
                self.receiver.delay = 0.02
                await office.look()
                desk = await office._desk("s")
                assert desk
                while len(self.receiver.received) < 21:
                    held = len(desk.subscriber._known)
                    self.assertLess(held, 2 * CAPACITY)
                    await asyncio.sleep(0.001)
                self.told_once(await self.came(21), 21)

        asyncio.run(lead())
