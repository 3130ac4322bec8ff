"""What one conductor does for all of them, while its leases last."""

import threading

from tacker_cnf.db import leases
from tacker_cnf.db.session import RowsLocked, Store
from tacker_cnf.runtime.lease import boottime


class LeaseSet:
    """The leases of this conductor."""

    def __init__(self, store: Store, owner: str, lease: float) -> None:
        self._store = store
        self._owner = owner
        self._lease = lease
        #: name -> when its lease ends, by boottime
        self._held: dict[str, float] = {}
        self._lock = threading.Lock()

    def acquire(self, name: str) -> bool:
        """Take a duty, unless another conductor has it; tell whether it is
        this one's now.
        """
        since = boottime()
        if not leases.acquire(self._store, name, self._owner, self._lease):
            return False
        with self._lock:
            self._held[name] = since + self._lease
        return True

    def holds(self, name: str) -> bool:
        """Tell whether a duty is this conductor's, as far as it knows."""
        return boottime() < self._held.get(name, 0.0)

    def renew(self) -> None:
        """Renew all leases, and forget those that were lost.

        :raises RowsLocked: some have to be tried again soon
        """
        with self._lock:
            held = frozenset(self._held)
        if not held:
            return
        since = boottime()
        found = leases.renew(self._store, held, self._owner, self._lease)
        with self._lock:
            # some may have been dropped meanwhile
            for name in held & self._held.keys() - found.locked:
                if name in found.renewed:
                    self._held[name] = since + self._lease
                else:
                    del self._held[name]
        if found.locked:
            raise RowsLocked(", ".join(sorted(found.locked)))

    def release(self, *names: str) -> None:
        """Leave duties to others."""
        with self._lock:
            for name in names:
                self._held.pop(name, None)
        leases.release(self._store, names, self._owner)

    def release_all(self) -> None:
        """Leave every duty to others."""
        with self._lock:
            held = tuple(self._held)
        if held:
            self.release(*held)
