"""Keeps what is known of the VNFs true: by watches, in turns, on demand."""

import concurrent.futures
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor.busy_instances import BusyInstances
from tacker_cnf.conductor.debouncer import Debouncer
from tacker_cnf.conductor.instance_sync import InstanceSync
from tacker_cnf.conductor.lease_set import LeaseSet
from tacker_cnf.conductor.periodic_tasks import (
    DEFAULT_RETRY_DELAY_S,
    RENEWAL_RETRY_DELAY_S,
    PeriodicTasks,
)
from tacker_cnf.conductor.vim_usage import VimUsage
from tacker_cnf.conductor.watches import Watches
from tacker_cnf.db import instances
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    Store,
    first_line,
    transaction,
)
from tacker_cnf.drivers.base import SearchTask
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.runtime.work_queue import WorkQueue

LOG = log.getLogger(__name__)
T = TypeVar("T")

#: instances that one conductor synchronizes at once
MAX_CONCURRENT_SYNCS: Final = 4
#: instances that stand in line in a turn
BATCH_SIZE: Final = 100
#: seconds between two looks which instances are held no longer
BUSY_POLL_INTERVAL_S: Final = 5.0
#: seconds that a thread has to see that all is to end
STOP_TIMEOUT_S: Final = 1.0
#: the duty to look at every instance
RESYNC_LEASE: Final = "sync"


class Synchronizer:
    """Synchronizes instances, in threads of its own."""

    def __init__(
        self,
        conf: Any,
        store: Store,
        drivers: DriverRegistry,
        sync: InstanceSync,
        owner: str,
    ) -> None:
        self._conf = conf
        self._store = store
        self.sync = sync
        self.lease_set = LeaseSet(store, owner, conf.lease)
        self._queue = WorkQueue(self._sync_now, MAX_CONCURRENT_SYNCS, "sync")
        # a VIM that does not answer holds up a turn, and nothing else
        self._resync_pool = ThreadPoolExecutor(
            MAX_CONCURRENT_SYNCS, thread_name_prefix="turn"
        )
        self._debouncer = Debouncer(self._queue.put)
        self._busy = BusyInstances(store)
        self.watches = Watches(
            VimUsage(store), drivers, self.lease_set, self._debouncer.schedule
        )
        self._lock = threading.Lock()
        #: set when somebody is to look which VIMs are in use
        self._watch_refresh = threading.Event()
        self._periodic_tasks = PeriodicTasks()
        self._stopped = self._periodic_tasks.stopped

    def start(self) -> None:
        """Begin to watch, and to look at every instance from time to time."""
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
        """End all of it at once; others may go on."""
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
                "Leases not returned, they expire: %s", first_line(error)
            )
        except Exception:
            LOG.exception("Others have to wait until the leases run out")

    def refresh_watches(self) -> None:
        """Look soon which VIMs are in use: that may have changed."""
        self._watch_refresh.set()

    def synchronize(self, instance_id: str) -> None:
        """Put the synchronization of an instance in line."""
        self._queue.put(instance_id)

    def suspect(self, instance_id: str) -> None:
        """Look soon whether a request of a lost operation came too late."""
        self.sync.orphans.suspect(instance_id)
        self._queue.put(instance_id)

    def _sync_now(self, instance_id: str) -> None:
        try:
            self.sync.sync_instance(instance_id)
        except errors.NotFound:
            LOG.debug("There is no VNF instance %s here", instance_id)
        except errors.OperationInProgress:
            self._busy.add(instance_id)
        except DATABASE_DOWN:
            self._busy.add(instance_id)  # asked for when it answers again
        except errors.VnfmError as error:
            LOG.warning("%s was not synchronized: %s", instance_id, error)
        except Exception:
            LOG.exception("%s was not synchronized", instance_id)

    def _resync_freed(self) -> None:
        self._busy.wait()
        if not self._stopped.wait(BUSY_POLL_INTERVAL_S):
            self._debouncer.schedule(self._busy.pop_freed())

    def _watch(self) -> None:
        self._watch_refresh.clear()
        self.watches.refresh()
        self._stopped.wait(DEFAULT_RETRY_DELAY_S)
        self._watch_refresh.wait(self._conf.lease / 3)

    def _resync_periodically(self) -> None:
        """Look at every instance from time to time, while it is this
        conductor's duty. The first time is by chance, so that not all that
        were started together do it together.
        """
        pause = random.uniform(0, self._conf.sync_interval)  # noqa: S311
        while self._wait_for_resync(pause):
            self.full_resync()
            pause = self._conf.sync_interval

    def _wait_for_resync(self, pause: float) -> bool:
        """Wait until it is time; tell whether the duty is still here."""
        due = time.monotonic() + pause
        while self.lease_set.acquire(RESYNC_LEASE):
            left = due - time.monotonic()
            if left <= 0:
                return True
            if self._stopped.wait(min(left, self._conf.lease / 3)):
                return False
        self._stopped.wait(self._conf.lease / 3)
        return False

    def full_resync(self) -> None:
        """Look at every instance that no operation holds, and at every VIM
        for what no instance should have there.
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
        """Remove what is on a VIM of instances that have nothing there."""
        try:
            for instance_id in self.sync.orphans.search(*item):
                self.synchronize(instance_id)
        except errors.VnfmError as error:
            LOG.warning("VIM search failed: %s", error)
        except DATABASE_DOWN:
            LOG.debug("VIM search ends, the next turn repeats it")
        except Exception:
            LOG.exception("VIM search failed")

    def _finish(self, futures: set[Future[None]]) -> None:
        """Wait for the looks of a turn, while it is this conductor's."""
        while futures:
            if not self._holds_resync_lease():
                for future in futures:
                    future.cancel()
                return
            futures = concurrent.futures.wait(futures, STOP_TIMEOUT_S).not_done

    def _holds_resync_lease(self) -> bool:
        return not self._stopped.is_set() and self.lease_set.holds(
            RESYNC_LEASE
        )

    def _submit(
        self, func: Callable[[T], None], things: Iterable[T]
    ) -> set[Future[None]]:
        with self._lock:
            if not self._holds_resync_lease():
                return set()
            return {self._resync_pool.submit(func, one) for one in things}

    def _idle(self) -> Iterator[Sequence[str]]:
        after = ""
        while batch := self._idle_after(after):
            yield batch
            after = batch[-1]

    @transaction
    def _idle_after(self, after: str) -> Sequence[str]:
        with self._store.reader() as session:
            return instances.list_idle(session, after, BATCH_SIZE)
