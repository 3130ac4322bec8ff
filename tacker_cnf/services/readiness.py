"""Whether a process can do its work."""

import concurrent.futures
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.db import conductors, schema
from tacker_cnf.db.session import Store
from tacker_cnf.rpc import ConductorClient
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

LOG = log.getLogger(__name__)

#: seconds for all checks together
TIMEOUT_S: Final = 2.0
#: seconds for which a result is repeated, however often it is requested
RESULT_LIFETIME_S: Final = 1.0

#: raises an exception if what it checks does not work
Check = Callable[[], object]


class Readiness:
    """Runs the checks, and repeats their result for a moment.

    :param chains: checks, each by its name: a chain ends with the first that
        fails, as those after it need what it checks
    """

    def __init__(
        self,
        chains: Sequence[Mapping[str, Check]],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._chains = [_Chain(checks) for checks in chains]
        self._clock = clock
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(len(self._chains), "readiness")
        self._failed: frozenset[str] = frozenset()
        self._expires = Deadline.within(0.0, clock)

    def check(self) -> None:
        """Check whether all works.

        :raises Unavailable: something does not; the message has its name, and
            no address and no error of a library
        """
        with self._lock:
            if self._expires.passed:
                self._run()
            failed = ", ".join(sorted(self._failed))
        if failed:
            raise errors.Unavailable(f"Not ready: {failed}.")

    def _run(self) -> None:
        futures = [chain.start(self._pool) for chain in self._chains]
        concurrent.futures.wait(futures, TIMEOUT_S)
        failed = frozenset(filter(None, (c.failed for c in self._chains)))
        if failed != self._failed:
            LOG.warning(
                "Readiness changed: failed=%s", ",".join(sorted(failed)) or "-"
            )
        self._failed = failed
        self._expires = Deadline.within(RESULT_LIFETIME_S, self._clock)


class _Chain:
    """Checks that are run one after another, in one thread at a time."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._future: Future[None] | None = None
        #: the check that has failed, or that has not ended
        self.failed: str | None = None

    def start(self, pool: ThreadPoolExecutor) -> Future[None]:
        """Start the checks, unless they are still running."""
        if self._future is None or self._future.done():
            self._future = pool.submit(self._run)
        return self._future

    def _run(self) -> None:
        for name, check in self._checks.items():
            self.failed = name
            try:
                check()
            except Exception as error:  # noqa: BLE001
                LOG.debug("Check failed: check=%s error=%r", name, error)
                return
        self.failed = None


def of_service(
    store: Store,
    client: ConductorClient,
    clock: Clock = SYSTEM_CLOCK,
    others: Mapping[str, Check] | None = None,
) -> Readiness:
    """Build what each process needs: database, schema, conductors and broker.

    :param others: what this process needs besides
    """
    chains = [_of_store(store), {"broker": client.check}]
    return Readiness([*chains, others] if others else chains, clock)


def _of_store(store: Store) -> Mapping[str, Check]:
    """Return the checks of the database: that it answers, its schema, and
    that a conductor is alive.
    """
    version: str | None = None

    def read_version() -> None:
        nonlocal version
        version = schema.version(store)

    def check_version() -> None:
        if not schema.is_usable(version):
            raise errors.Unavailable(f"schema version {version}")

    def check_conductors() -> None:
        if not store.read(None, conductors.count):
            raise errors.Unavailable(conductors.NONE_ALIVE)

    return {
        "database": read_version,
        "schema": check_version,
        "conductors": check_conductors,
    }
