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
from tacker_cnf.conductor.clocks import BREATH, RENEWAL_RETRY, Clocks
from tacker_cnf.conductor.duties import Duties
from tacker_cnf.conductor.held import Held
from tacker_cnf.conductor.lines import Line
from tacker_cnf.conductor.placement import Placement
from tacker_cnf.conductor.settling import Settling
from tacker_cnf.conductor.sync import Sync
from tacker_cnf.conductor.watches import Watches
from tacker_cnf.db import instances
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    Store,
    first_line,
    transaction,
)
from tacker_cnf.drivers.base import SearchTask
from tacker_cnf.drivers.registry import Registry

LOG = log.getLogger(__name__)
T = TypeVar("T")

#: instances that one conductor synchronizes at once
AT_ONCE: Final = 4
#: instances that stand in line in a turn
BATCH: Final = 100
#: seconds between two looks which instances are held no longer
HELD: Final = 5.0
#: seconds that a thread has to see that all is to end
PATIENCE: Final = 1.0
#: the duty to look at every instance
TURN: Final = "sync"


class Upkeep:
    """Synchronizes instances, in threads of its own."""

    def __init__(
        self,
        conf: Any,
        store: Store,
        drivers: Registry,
        sync: Sync,
        owner: str,
    ) -> None:
        self._conf = conf
        self._store = store
        self.sync = sync
        self.duties = Duties(store, owner, conf.lease)
        self._soon = Line(self._sync_now, AT_ONCE, "sync")
        # a VIM that does not answer holds up a turn, and nothing else
        self._turns = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="turn")
        self._settling = Settling(self._soon.put)
        self._held = Held(store)
        self.watches = Watches(
            Placement(store), drivers, self.duties, self._settling.note
        )
        self._lock = threading.Lock()
        #: set when somebody is to look which VIMs are in use
        self._wanted = threading.Event()
        self._clocks = Clocks()
        self._stopped = self._clocks.stopped

    def start(self) -> None:
        """Begin to watch, and to look at every instance from time to time."""
        self._settling.start()
        self._clocks.start(
            self.duties.renew, self._conf.lease / 3, RENEWAL_RETRY
        )
        self._clocks.start(self._return_to_held)
        if self._conf.sync_watch:
            self._clocks.start(self._watch)
        if self._conf.sync_interval:
            self._clocks.start(self._take_turns)

    def stop(self) -> None:
        """End all of it at once; others may go on."""
        with self._lock:
            self._clocks.stop()
        self._wanted.set()
        self._held.wake()
        self._settling.stop()
        self.sync.stop()
        self._soon.close()
        self._turns.shutdown(wait=False, cancel_futures=True)
        self._clocks.join(PATIENCE)
        self.watches.stop()
        try:
            self.duties.drop_all()
        except DATABASE_DOWN as error:
            LOG.warning(
                "Leases not returned, they expire: %s", first_line(error)
            )
        except Exception:
            LOG.exception("Others have to wait until the leases run out")

    def look(self) -> None:
        """Look soon which VIMs are in use: that may have changed."""
        self._wanted.set()

    def synchronize(self, instance_id: str) -> None:
        """Put the synchronization of an instance in line."""
        self._soon.put(instance_id)

    def suspect(self, instance_id: str) -> None:
        """Look soon whether a request of a lost operation came too late."""
        self.sync.orphans.suspect(instance_id)
        self._soon.put(instance_id)

    def _sync_now(self, instance_id: str) -> None:
        try:
            self.sync.once(instance_id)
        except errors.NotFound:
            LOG.debug("There is no VNF instance %s here", instance_id)
        except errors.OperationInProgress:
            self._held.note(instance_id)
        except DATABASE_DOWN:
            self._held.note(instance_id)  # asked for when it answers again
        except errors.VnfmError as error:
            LOG.warning("%s was not synchronized: %s", instance_id, error)
        except Exception:
            LOG.exception("%s was not synchronized", instance_id)

    def _return_to_held(self) -> None:
        self._held.wait()
        if not self._stopped.wait(HELD):
            self._settling.note(self._held.freed())

    def _watch(self) -> None:
        self._wanted.clear()
        self.watches.look()
        self._stopped.wait(BREATH)
        self._wanted.wait(self._conf.lease / 3)

    def _take_turns(self) -> None:
        """Look at every instance from time to time, while it is this
        conductor's duty. The first time is by chance, so that not all that
        were started together do it together.
        """
        pause = random.uniform(0, self._conf.sync_interval)  # noqa: S311
        while self._wait_for_turn(pause):
            self.turn()
            pause = self._conf.sync_interval

    def _wait_for_turn(self, pause: float) -> bool:
        """Wait until it is time; tell whether the duty is still here."""
        due = time.monotonic() + pause
        while self.duties.take(TURN):
            left = due - time.monotonic()
            if left <= 0:
                return True
            if self._stopped.wait(min(left, self._conf.lease / 3)):
                return False
        self._stopped.wait(self._conf.lease / 3)
        return False

    def turn(self) -> None:
        """Look at every instance that no operation holds, and at every VIM
        for what no instance should have there.
        """
        for batch in self._idle():
            self._finish(self._each(self._sync_now, batch))
            if not self._is_on_duty():
                return
        searches = self.sync.orphans.searches(self._is_on_duty)
        self._finish(self._each(self._search, searches.items()))

    def _search(self, asked: tuple[str, SearchTask]) -> None:
        """Remove what is on a VIM of instances that have nothing there."""
        try:
            for instance_id in self.sync.orphans.search(*asked):
                self.synchronize(instance_id)
        except errors.VnfmError as error:
            LOG.warning("VIM search failed: %s", error)
        except DATABASE_DOWN:
            LOG.debug("VIM search ends, the next turn repeats it")
        except Exception:
            LOG.exception("VIM search failed")

    def _finish(self, looks: set[Future[None]]) -> None:
        """Wait for the looks of a turn, while it is this conductor's."""
        while looks:
            if not self._is_on_duty():
                for look in looks:
                    look.cancel()
                return
            looks = concurrent.futures.wait(looks, PATIENCE).not_done

    def _is_on_duty(self) -> bool:
        return not self._stopped.is_set() and self.duties.has(TURN)

    def _each(
        self, look: Callable[[T], None], things: Iterable[T]
    ) -> set[Future[None]]:
        with self._lock:
            if not self._is_on_duty():
                return set()
            return {self._turns.submit(look, one) for one in things}

    def _idle(self) -> Iterator[Sequence[str]]:
        after = ""
        while batch := self._idle_after(after):
            yield batch
            after = batch[-1]

    @transaction
    def _idle_after(self, after: str) -> Sequence[str]:
        with self._store.reader() as session:
            return instances.idle(session, after, BATCH)
