"""The named leases of one process, for work that one process does."""

import threading

from tacker_cnf.db import leases
from tacker_cnf.db.session import RowsLocked, Store
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock


class LeaseSet:
    """The leases of this process, each of `lease` seconds."""

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
        self._expirations: dict[str, float] = {}
        self._lock = threading.Lock()

    def acquire(self, name: str) -> bool:
        """Acquire or renew a lease; return whether this process has it."""
        since = self._clock.boottime()
        if not leases.acquire(self._store, name, self._owner, self._lease):
            return False
        with self._lock:
            self._expirations[name] = since + self._lease
        return True

    def owns(self, name: str) -> bool:
        """Return whether a lease has not expired by the clock of this host."""
        return self.remaining(name) > 0.0

    def remaining(self, name: str) -> float:
        """Return the seconds until a lease expires; negative if it has."""
        return self._expirations.get(name, 0.0) - self._clock.boottime()

    def renew(self) -> None:
        """Renew all leases, and drop the lost ones.

        :raises RowsLocked: other transactions lock some; retry these soon
        """
        with self._lock:
            names = frozenset(self._expirations)
        if not names:
            return
        since = self._clock.boottime()
        found = leases.renew(self._store, names, self._owner, self._lease)
        with self._lock:
            # some may have been released meanwhile
            for name in names & self._expirations.keys() - found.locked:
                if name in found.renewed:
                    self._expirations[name] = since + self._lease
                else:
                    del self._expirations[name]
        if found.locked:
            raise RowsLocked(", ".join(sorted(found.locked)))

    def release(self, *names: str) -> None:
        """Release leases."""
        with self._lock:
            for name in names:
                self._expirations.pop(name, None)
        leases.release(self._store, names, self._owner)

    def release_all(self) -> None:
        """Release all leases."""
        with self._lock:
            names = tuple(self._expirations)
        if names:
            self.release(*names)
