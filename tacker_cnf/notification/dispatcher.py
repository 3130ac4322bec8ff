"""Sends the notifications of the outbox; one process at a time does so.

It is an event loop in its own thread. Woken by an event or when it polls, it
creates deliveries of new events, and passes them to the workers of their
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
from tacker_cnf.db.lease_set import LeaseSet
from tacker_cnf.db.session import DATABASE_DOWN, Store, severity
from tacker_cnf.http_client import clients
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.notification.delivery_manager import DeliveryManager
from tacker_cnf.notification.delivery_store import DeliveryStore
from tacker_cnf.notification.subscriber import DeliveryPolicy

LOG = log.getLogger(__name__)
R = TypeVar("R")

#: the lease of the process that sends
LEASE_NAME: Final = "notifications"
#: concurrent database calls; a low number leaves connections for operations
MAX_DB_THREADS: Final = 2
#: time to write remaining results at shutdown
SHUTDOWN_TIMEOUT_S: Final = 3.0
#: interval of checks for deleted subscriptions
UNSUBSCRIBE_CHECK_INTERVAL_S: Final = 1.0
#: seconds between two deletions of old events
DELETE_INTERVAL_S: Final = 60.0


class Dispatcher:
    """Delivers notifications, while this process owns the lease."""

    def __init__(self, conf: cfg.ConfigOpts, store: Store) -> None:
        self._conf = conf.notification
        self._endpoint = conf.api.endpoint
        self._client_options = clients.options_from_conf(conf)
        self._ssrf_policy = SsrfPolicy.of_callbacks(conf)
        self._store = store
        self._delivery_store = DeliveryStore(
            store, self._conf.park_after, self._conf.event_retention
        )
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}"
        self._policy = DeliveryPolicy(
            max_requests=self._conf.max_requests,
            retry_interval=self._conf.retry_interval,
            max_retry_interval=self._conf.max_retry_interval,
        )
        self._pool = ThreadPoolExecutor(
            MAX_DB_THREADS, thread_name_prefix="notification"
        )
        #: a pool of its own, so that lease renewal never waits
        self._lease_pool = ThreadPoolExecutor(1, thread_name_prefix="lease")
        self._loop = asyncio.new_event_loop()
        self._wake_event = asyncio.Event()
        self._stopping = asyncio.Event()
        self._lease_set = LeaseSet(store, self.owner, self._conf.lease)
        self._thread = threading.Thread(
            target=self._serve, daemon=True, name="dispatcher"
        )

    def start(self) -> None:
        """Start sending, as soon as no other process does."""
        self._thread.start()
        self._store.listeners.append(self.wake)

    def stop(self) -> None:
        """Stop sending; another process may start at once."""
        self._store.listeners.remove(self.wake)
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._pool.shutdown(wait=False)
        self._lease_pool.shutdown(wait=False)

    def wake(self) -> None:
        """Check for new events; may be called from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is being closed
            self._loop.call_soon_threadsafe(self._wake_event.set)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if await self._acquire_lease():
                    LOG.info("Dispatcher lease acquired: owner=%s", self.owner)
                    await self._dispatch()
            except DATABASE_DOWN:
                LOG.debug("Dispatcher lease not acquired, retrying")
            except Exception:
                LOG.exception("Dispatcher failed, restarting")
            await _wait_event(self._stopping, self._conf.lease / 3)
        try:
            async with asyncio.timeout(SHUTDOWN_TIMEOUT_S):
                await self._in_thread(self._lease_set.release, LEASE_NAME)
        except Exception as error:  # noqa: BLE001
            LOG.warning("Dispatcher lease not released: error=%r", error)

    async def _in_thread(
        self, call: Callable[..., R], *args: Any, **options: Any
    ) -> R:
        call = functools.partial(call, *args, **options)
        return await self._loop.run_in_executor(self._pool, call)

    async def _acquire_lease(self) -> bool:
        return await self._loop.run_in_executor(
            self._lease_pool, self._lease_set.acquire, LEASE_NAME
        )

    async def _dispatch(self) -> None:
        """Send until the lease is lost, or this process has to stop."""
        manager = DeliveryManager(
            self._delivery_store,
            self._in_thread,
            self._policy,
            self._client_options,
            self._ssrf_policy,
            self._endpoint,
        )
        try:
            async with asyncio.TaskGroup() as work:
                work.create_task(self._renew_lease())
                work.create_task(self._wait_stop())
                work.create_task(manager.record_deliveries())
                work.create_task(self._delete_old_events())
                await manager.open(work)
                work.create_task(self._poll_outbox(manager))
        except* errors.LeaseLost:
            LOG.info("Dispatcher lease lost: owner=%s", self.owner)
        except* DATABASE_DOWN:
            LOG.debug("Outbox not read, retrying")
        finally:
            await self._close(manager)

    async def _close(self, manager: DeliveryManager) -> None:
        try:
            async with asyncio.timeout(SHUTDOWN_TIMEOUT_S):
                await manager.close()
        except Exception as error:  # noqa: BLE001
            LOG.warning(
                "Deliveries not recorded, some will be repeated: error=%r",
                error,
            )

    async def _wait_stop(self) -> None:
        await self._stopping.wait()
        raise errors.LeaseLost

    async def _renew_lease(self) -> None:
        """Renew the lease, or stop before it expires.

        :raises LeaseLost: it has expired, or will before it can be renewed
        """
        while True:
            await asyncio.sleep(self._conf.lease / 3)
            try:
                async with asyncio.timeout(
                    self._lease_set.remaining(LEASE_NAME)
                ):
                    if not await self._try_renew_lease():
                        raise errors.LeaseLost
            except TimeoutError:
                LOG.warning("Dispatcher lease not renewed in time")
                raise errors.LeaseLost from None

    async def _try_renew_lease(self) -> bool:
        while True:
            try:
                return await self._acquire_lease()
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error),
                    "Dispatcher lease not renewed, retrying: error=%s",
                    error,
                )
                await asyncio.sleep(self._conf.lease / 15)

    async def _delete_old_events(self) -> None:
        while True:
            try:
                await self._in_thread(self._delivery_store.delete_old_events)
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error),
                    "Old events not deleted, retrying: error=%s",
                    error,
                )
            await asyncio.sleep(DELETE_INTERVAL_S)

    async def _poll_outbox(self, manager: DeliveryManager) -> None:
        """Distribute new events.

        :raises LeaseLost: another process does so, too
        """
        last_check = -UNSUBSCRIBE_CHECK_INTERVAL_S
        while True:
            self._wake_event.clear()
            if self._loop.time() >= last_check + UNSUBSCRIBE_CHECK_INTERVAL_S:
                await manager.stop_unsubscribed()
                last_check = self._loop.time()
            try:
                while await manager.fan_out():
                    pass
            except errors.LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001
                LOG.log(
                    severity(error),
                    "Outbox not read, retrying: error=%s",
                    error,
                )
            await _wait_event(self._wake_event, self._conf.poll_interval)


async def _wait_event(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, at most so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
