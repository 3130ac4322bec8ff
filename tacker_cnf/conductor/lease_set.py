"""The named leases of one conductor, for work that one conductor does."""

import threading

from tacker_cnf.db import leases
from tacker_cnf.db.session import RowsLocked, Store
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock


class LeaseSet:
    """The leases of this conductor, each of `lease` seconds."""

    def __init__(
        self,
        store: Store,
        owner: str,
        lease: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._store = store
        self._owner = owner
        self._lease = lease
        self._clock = clock
        #: name -> boottime at which its lease expires
        self._held: dict[str, float] = {}
        self._lock = threading.Lock()

    def acquire(self, name: str) -> bool:
        """Acquire or renew a lease; return whether this conductor has it."""
        since = self._clock.boottime()
        if not leases.acquire(self._store, name, self._owner, self._lease):
            return False
        with self._lock:
            self._held[name] = since + self._lease
        return True

    def holds(self, name: str) -> bool:
        """Return whether a lease has not expired by the clock of this host."""
        return self._clock.boottime() < self._held.get(name, 0.0)

    def renew(self) -> None:
        """Renew all leases, and drop the lost ones.

        :raises RowsLocked: other transactions lock some; retry these soon
        """
        with self._lock:
            held = frozenset(self._held)
        if not held:
            return
        since = self._clock.boottime()
        found = leases.renew(self._store, held, self._owner, self._lease)
        with self._lock:
            # some may have been released meanwhile
            for name in held & self._held.keys() - found.locked:
                if name in found.renewed:
                    self._held[name] = since + self._lease
                else:
                    del self._held[name]
        if found.locked:
            raise RowsLocked(", ".join(sorted(found.locked)))

    def release(self, *names: str) -> None:
        """Release leases."""
        with self._lock:
            for name in names:
                self._held.pop(name, None)
        leases.release(self._store, names, self._owner)

    def release_all(self) -> None:
        """Release all leases."""
        with self._lock:
            held = tuple(self._held)
        if held:
            self.release(*held)
