"""What a conductor measures for its metrics, periodically."""

import datetime
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from oslo_log import log

from tacker_cnf import metrics
from tacker_cnf.db import conductors, statistics, vims
from tacker_cnf.db.models import Vim
from tacker_cnf.db.session import Store, severity, transaction
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.runtime.periodic_tasks import PeriodicTasks
from tacker_cnf.services.vim_connections import VimConnections

LOG = log.getLogger(__name__)

#: seconds between two reads of the database
INTERVAL_S: Final = 10.0
#: VIMs that are checked at once
MAX_CONCURRENT_CHECKS: Final = 4


class Measurements:
    """Reads the database and checks the VIMs, in threads of its own: a
    scraper waits for neither.

    :param vim_check_interval: seconds; 0: VIMs are not checked
    """

    def __init__(
        self,
        store: Store,
        drivers: DriverRegistry,
        vim_check_interval: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._store = store
        self._vim_connections = VimConnections(drivers)
        self._vim_check_interval = vim_check_interval
        self._clock = clock
        self._periodic_tasks = PeriodicTasks(severity, clock)
        self._pool = ThreadPoolExecutor(MAX_CONCURRENT_CHECKS, "vim-check")
        #: VIMs whose last check failed, for the log
        self._unreachable: set[str] = set()

    def start(self) -> None:
        """Measure now, and periodically."""
        self._periodic_tasks.start(self._read_periodically)
        if self._vim_check_interval:
            self._periodic_tasks.start(self._check_periodically)

    def stop(self) -> None:
        """Stop, without waiting for checks."""
        self._periodic_tasks.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _read_periodically(self) -> None:
        self.read_database()
        self._wait(INTERVAL_S)

    def _check_periodically(self) -> None:
        self.check_vims()
        self._wait(self._vim_check_interval)

    def _wait(self, seconds: float) -> None:
        self._clock.wait(self._periodic_tasks.stopped, seconds)

    @transaction
    def read_database(self) -> None:
        """Set the gauges of what all conductors share."""
        now = datetime.datetime.now(datetime.UTC)
        with self._store.reader() as session:
            alive = conductors.count(session)
            counts = statistics.count_operations(session)
            waiting = statistics.get_oldest_waiting(session)
            outbox = statistics.read_outbox(session)
            registered = statistics.list_vims(session)
        metrics.CONDUCTORS.set(alive)
        for state, count in counts.items():
            metrics.OPERATIONS_OPEN.set(count, state)
        metrics.QUEUE_AGE.set(_age_s(waiting, now))
        metrics.OUTBOX_LAG.set(_age_s(outbox.oldest, now))
        metrics.OUTBOX_PENDING.set(outbox.events, "event")
        metrics.OUTBOX_PENDING.set(outbox.waiting, "delivery")
        metrics.OUTBOX_PENDING.set(outbox.parked, "parked")
        metrics.set_vims(registered)
        metrics.MEASURED.set(now.timestamp())

    def check_vims(self) -> None:
        """Check whether each registered VIM answers."""
        registered = self._list_vims()
        reachable = tuple(self._pool.map(self._is_reachable, registered))
        for vim, is_reachable in zip(registered, reachable, strict=True):
            metrics.VIM_REACHABLE.set(is_reachable, vim.id)

    @transaction
    def _list_vims(self) -> Sequence[Vim]:
        with self._store.reader() as session:
            return vims.find(session)

    def _is_reachable(self, vim: Vim) -> bool:
        try:
            self._vim_connections.check(vim)
        except Exception as error:  # noqa: BLE001  # of any driver
            if vim.id not in self._unreachable:
                LOG.warning("VIM check failed: vim=%s error=%r", vim.id, error)
            self._unreachable.add(vim.id)
            return False
        self._unreachable.discard(vim.id)
        return True


def _age_s(since: datetime.datetime | None, now: datetime.datetime) -> float:
    return max((now - since).total_seconds(), 0.0) if since else 0.0
