"""Synchronizes VNF instances with their VIMs.

It does so when a watch reports a change, periodically, and on request.
"""

import concurrent.futures
import math
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor.busy_instances import BusyInstances
from tacker_cnf.conductor.instance_sync import InstanceSync
from tacker_cnf.conductor.vim_usage import VimUsage
from tacker_cnf.conductor.watches import Watches
from tacker_cnf.db import instances
from tacker_cnf.db.lease_set import LeaseSet
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    Store,
    first_line,
    severity,
    transaction,
)
from tacker_cnf.drivers.base import SearchTask
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.runtime.debouncer import Debouncer
from tacker_cnf.runtime.periodic_tasks import (
    DEFAULT_RETRY_DELAY_S,
    RENEWAL_RETRY_DELAY_S,
    PeriodicTasks,
)
from tacker_cnf.runtime.work_queue import WorkQueue
from tacker_cnf.services.vim_connections import VimConnections

LOG = log.getLogger(__name__)
T = TypeVar("T")

#: instances that one conductor synchronizes at once
MAX_CONCURRENT_SYNCS: Final = 4
#: instances that a full synchronization queues at once
BATCH_SIZE: Final = 100
#: seconds between two checks which instances are busy no longer
BUSY_POLL_INTERVAL_S: Final = 5.0
#: seconds that a thread has to end
STOP_TIMEOUT_S: Final = 1.0
#: the lease of the conductor that synchronizes every instance periodically
RESYNC_LEASE: Final = "sync"


class Synchronizer:
    """Synchronizes instances, in its own threads."""

    def __init__(
        self,
        conf: Any,
        store: Store,
        drivers: DriverRegistry,
        sync: InstanceSync,
        owner: str,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._conf = conf
        self._clock = clock
        self._store = store
        self.sync = sync
        self.lease_set = LeaseSet(store, owner, conf.lease, clock)
        self._queue = WorkQueue(self._sync_now, MAX_CONCURRENT_SYNCS, "sync")
        # separate, so that an unreachable VIM delays a full synchronization
        # only
        self._resync_pool = ThreadPoolExecutor(
            MAX_CONCURRENT_SYNCS, thread_name_prefix="resync"
        )
        self._debouncer = Debouncer(self._queue.put, clock)
        self._busy = BusyInstances(store)
        self.watches = Watches(
            VimUsage(store, VimConnections(drivers)),
            drivers,
            self.lease_set,
            self._debouncer.schedule,
            clock,
        )
        self._lock = threading.Lock()
        #: set when instances may have changed their VIMs, and these instances
        self._watch_refresh = threading.Event()
        self._changed: set[str] = set()
        #: Clock.monotonic() when all instances are read again
        self._refresh_all_at = -math.inf
        self._periodic_tasks = PeriodicTasks(severity, clock)
        self._stopped = self._periodic_tasks.stopped

    def start(self) -> None:
        """Start the watches and the periodic synchronization."""
        self._debouncer.start()
        self._periodic_tasks.start(
            self.lease_set.renew, self._conf.lease / 3, RENEWAL_RETRY_DELAY_S
        )
        self._periodic_tasks.start(self._resync_freed)
        if self._conf.sync_watch:
            self._periodic_tasks.start(self._watch)
        if self._conf.sync_interval:
            self._periodic_tasks.start(self._resync_periodically)

    def stop(self) -> None:
        """Stop at once, and release the leases."""
        with self._lock:
            self._periodic_tasks.stop()
        self._watch_refresh.set()
        self._busy.wake()
        self._debouncer.stop()
        self.sync.stop()
        self._queue.close()
        self._resync_pool.shutdown(wait=False, cancel_futures=True)
        self._periodic_tasks.join(STOP_TIMEOUT_S)
        self.watches.stop()
        try:
            self.lease_set.release_all()
        except DATABASE_DOWN as error:
            LOG.warning(
                "Leases not released, they expire: error=%s", first_line(error)
            )
        except Exception:
            LOG.exception("Leases not released, they expire")

    def refresh_watches(self, instance_id: str) -> None:
        """Check soon which VIMs are in use: an instance may have changed."""
        with self._lock:
            self._changed.add(instance_id)
        self._watch_refresh.set()

    def begin_operation(self, instance_id: str) -> None:
        """Delay the synchronization of an instance that an operation of this
        conductor has.
        """
        self._debouncer.hold(instance_id)

    def end_operation(self, instance_id: str) -> None:
        """Synchronize an instance if it has changed meanwhile."""
        self._debouncer.release(instance_id)

    def synchronize(self, instance_id: str) -> None:
        """Queue the synchronization of an instance."""
        self._queue.put(instance_id)

    def suspect(self, instance_id: str) -> None:
        """Queue a check whether a request of a lost operation has created
        objects of an instance.
        """
        self.sync.orphans.suspect(instance_id)
        self._queue.put(instance_id)

    def _sync_now(self, instance_id: str) -> None:
        try:
            self.sync.sync_instance(instance_id)
        except errors.NotFound:
            LOG.debug("VNF instance not found: instance=%s", instance_id)
        except errors.OperationInProgress:
            self._busy.add(instance_id)
        except DATABASE_DOWN:
            self._busy.add(instance_id)  # synchronized after the outage
        except errors.VnfmError as error:
            LOG.warning(
                "Synchronization failed: instance=%s error=%s",
                instance_id,
                error,
            )
        except Exception:
            LOG.exception("Synchronization failed: instance=%s", instance_id)

    def _resync_freed(self) -> None:
        self._busy.wait()
        if not self._clock.wait(self._stopped, BUSY_POLL_INTERVAL_S):
            self._debouncer.schedule(self._busy.pop_freed())

    def _watch(self) -> None:
        self._watch_refresh.clear()
        with self._lock:
            changed, self._changed = self._changed, set()
        now = self._clock.monotonic()
        refresh_all_at, self._refresh_all_at = self._refresh_all_at, -math.inf
        if now < refresh_all_at:
            self.watches.refresh(changed)
        else:
            # another conductor may have changed an instance
            self.watches.refresh()
            refresh_all_at = now + self._conf.lease / 3
        self._refresh_all_at = refresh_all_at  # at once if it has failed
        self._clock.wait(self._stopped, DEFAULT_RETRY_DELAY_S)
        self._clock.wait(self._watch_refresh, self._conf.lease / 3)

    def _resync_periodically(self) -> None:
        """Synchronize all instances every `sync_interval`, while this
        conductor has the lease. The first time is random, so that conductors
        started together do not do it together.
        """
        pause = random.uniform(0, self._conf.sync_interval)  # noqa: S311
        while self._wait_for_resync(pause):
            self.full_resync()
            pause = self._conf.sync_interval

    def _wait_for_resync(self, pause: float) -> bool:
        """Wait; return whether this conductor still has the lease.

        :param pause: seconds
        """
        due = self._clock.monotonic() + pause
        while self.lease_set.acquire(RESYNC_LEASE):
            left = due - self._clock.monotonic()
            if left <= 0:
                return True
            seconds = min(left, self._conf.lease / 3)
            if self._clock.wait(self._stopped, seconds):
                return False
        self._clock.wait(self._stopped, self._conf.lease / 3)
        return False

    def full_resync(self) -> None:
        """Synchronize every instance that is not busy, and search every VIM
        for objects that no instance should have.
        """
        for batch in self._idle():
            self._finish(self._submit(self._sync_now, batch))
            if not self._holds_resync_lease():
                return
        searches = self.sync.orphans.build_search_tasks(
            self._holds_resync_lease
        )
        self._finish(self._submit(self._search, searches.items()))

    def _search(self, item: tuple[str, SearchTask]) -> None:
        """Find orphaned objects on a VIM, and queue their instances.

        :param item: key of the VIM, and its search task
        """
        try:
            for instance_id in self.sync.orphans.search(*item):
                self.synchronize(instance_id)
        except errors.VnfmError as error:
            LOG.warning("VIM search failed: error=%s", error)
        except DATABASE_DOWN:
            LOG.debug("VIM search interrupted, database unreachable")
        except Exception:
            LOG.exception("VIM search failed")

    def _finish(self, futures: set[Future[None]]) -> None:
        """Wait for futures; cancel them if the lease is lost."""
        while futures:
            if not self._holds_resync_lease():
                for future in futures:
                    future.cancel()
                return
            futures = concurrent.futures.wait(futures, STOP_TIMEOUT_S).not_done

    def _holds_resync_lease(self) -> bool:
        return not self._stopped.is_set() and self.lease_set.owns(RESYNC_LEASE)

    def _submit(
        self, func: Callable[[T], None], arguments: Iterable[T]
    ) -> set[Future[None]]:
        with self._lock:
            if not self._holds_resync_lease():
                return set()
            return {
                self._resync_pool.submit(func, argument)
                for argument in arguments
            }

    def _idle(self) -> Iterator[Sequence[str]]:
        after = ""
        while batch := self._idle_after(after):
            yield batch
            after = batch[-1]

    @transaction
    def _idle_after(self, after: str) -> Sequence[str]:
        with self._store.reader() as session:
            return instances.list_idle(session, after, BATCH_SIZE)
