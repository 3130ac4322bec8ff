"""Sends what the outbox holds: one process at a time does it for all.

An event loop in a thread of its own. It finds out what is new when it is
woken, or when it polls, makes deliveries of it, and hands them to their
subscribers.
"""

import asyncio
import contextlib
import functools
import os
import socket
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.db import leases
from tacker_cnf.db.session import DATABASE_DOWN, Store, severity
from tacker_cnf.notification.ledger import Ledger
from tacker_cnf.notification.office import Office
from tacker_cnf.notification.subscriber import Pace
from tacker_cnf.outgoing import clients, guard

LOG = log.getLogger(__name__)
R = TypeVar("R")

#: the lease of whoever sends
LEASE: Final = "notifications"
#: calls to the database at once; operations have to get their turn there
THREADS: Final = 2
#: seconds the database has for what is left to write at the end
FAREWELL: Final = 3.0
#: seconds between two looks for who has unsubscribed
DISMISSES: Final = 1.0


class Deposed(Exception):
    """Somebody else may send from here on, or this process has to stop."""


class Dispatcher:
    """Tells subscribers, while this process is the one that does."""

    def __init__(self, conf: cfg.ConfigOpts, store: Store) -> None:
        self._conf = conf.notification
        self._endpoint = conf.api.endpoint
        self._manners = clients.manners_of(conf)
        self._guard = guard.guard_of(conf)
        self._store = store
        self._ledger = Ledger(store, self._conf.park_after)
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}"
        self._pace = Pace(
            max_requests=self._conf.max_requests,
            retry_interval=self._conf.retry_interval,
            max_retry_interval=self._conf.max_retry_interval,
        )
        self._pool = ThreadPoolExecutor(
            THREADS, thread_name_prefix="notification"
        )
        #: the lease waits for no other call
        self._lease_pool = ThreadPoolExecutor(1, thread_name_prefix="lease")
        self._loop = asyncio.new_event_loop()
        self._new = asyncio.Event()
        self._told_to_stop = asyncio.Event()
        self._until = 0.0
        self._thread = threading.Thread(
            target=self._serve, daemon=True, name="dispatcher"
        )

    def start(self) -> None:
        """Send from here on, if no other process does."""
        self._thread.start()
        self._store.listeners.append(self.wake)

    def stop(self) -> None:
        """Send no more; another process may do so at once."""
        self._store.listeners.remove(self.wake)
        self._loop.call_soon_threadsafe(self._told_to_stop.set)
        self._thread.join()
        self._pool.shutdown(wait=False)
        self._lease_pool.shutdown(wait=False)

    def wake(self) -> None:
        """Look for what is new, called from any thread."""
        with contextlib.suppress(RuntimeError):  # it is just being closed
            self._loop.call_soon_threadsafe(self._new.set)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        while not self._told_to_stop.is_set():
            try:
                if await self._take_lease():
                    LOG.info("Notifications are sent from here")
                    await self._lead()
            except DATABASE_DOWN:
                LOG.debug("The lease is asked for again")
            except Exception:
                LOG.exception("Notifications will be tried again")
            await _passes(self._told_to_stop, self._conf.lease / 3)
        try:
            async with asyncio.timeout(FAREWELL):
                await self._in_thread(
                    leases.give_back, self._store, self.owner
                )
        except Exception as error:  # noqa: BLE001
            LOG.warning("The lease runs out by itself: %r", error)

    async def _in_thread(
        self, call: Callable[..., R], *args: Any, **options: Any
    ) -> R:
        call = functools.partial(call, *args, **options)
        return await self._loop.run_in_executor(self._pool, call)

    async def _take_lease(self) -> bool:
        seconds = self._conf.lease
        asked = self._loop.time()
        taken = await self._loop.run_in_executor(
            self._lease_pool,
            leases.take,
            self._store,
            LEASE,
            self.owner,
            seconds,
        )
        # others see it run out no earlier than this
        self._until = asked + seconds
        return taken

    async def _lead(self) -> None:
        """Send until somebody else may, or this process has to stop."""
        office = Office(
            self._ledger,
            self._in_thread,
            self._pace,
            self._manners,
            self._guard,
            self._endpoint,
        )
        try:
            async with asyncio.TaskGroup() as work:
                work.create_task(self._keep_lease())
                work.create_task(self._heed_stop())
                work.create_task(office.keep_books())
                await office.open(work)
                work.create_task(self._keep_looking(office))
        except* Deposed:
            LOG.info("Notifications are no longer sent from here")
        finally:
            await self._close(office)

    async def _close(self, office: Office) -> None:
        try:
            async with asyncio.timeout(FAREWELL):
                await office.close()
        except Exception as error:  # noqa: BLE001
            LOG.warning("Some will be told twice: %r", error)

    async def _heed_stop(self) -> None:
        await self._told_to_stop.wait()
        raise Deposed

    async def _keep_lease(self) -> None:
        """Renew the lease in time, or stop before it runs out.

        :raises Deposed: it has, or will before it can be renewed
        """
        while True:
            await asyncio.sleep(self._conf.lease / 3)
            left = self._until - self._loop.time()
            try:
                async with asyncio.timeout(left):
                    if not await self._renewed():
                        raise Deposed
            except TimeoutError:
                LOG.warning("The lease could not be renewed in time")
                raise Deposed from None

    async def _renewed(self) -> bool:
        while True:
            try:
                return await self._take_lease()
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error), "Lease not renewed, retrying: %s", error
                )
                await asyncio.sleep(self._conf.lease / 15)

    async def _keep_looking(self, office: Office) -> None:
        """Hand out what is new.

        :raises Deposed: somebody else does, too
        """
        dismissed = -DISMISSES
        while True:
            self._new.clear()
            if self._loop.time() >= dismissed + DISMISSES:
                await office.dismiss()
                dismissed = self._loop.time()
            try:
                while await office.look():
                    pass
            except errors.LostClaim:
                raise Deposed from None
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error), "Outbox not read, retrying: %s", error
                )
            await _passes(self._new, self._conf.poll_interval)


async def _passes(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, or for so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
