"""What one conductor does for all of them, while its leases last."""

import threading

from tacker_cnf.db import leases
from tacker_cnf.db.session import Store


class Duties:
    """The leases of this conductor."""

    def __init__(self, store: Store, owner: str, lease: float) -> None:
        self._store = store
        self._owner = owner
        self._lease = lease
        self._held: set[str] = set()
        self._lock = threading.Lock()

    def take(self, name: str) -> bool:
        """Take a duty, unless another conductor has it; tell whether it is
        this one's now.
        """
        if not leases.take(self._store, name, self._owner, self._lease):
            return False
        with self._lock:
            self._held.add(name)
        return True

    def has(self, name: str) -> bool:
        """Tell whether a duty is this conductor's, as far as it knows."""
        return name in self._held

    def renew(self) -> None:
        """Renew all leases, and forget those that were lost."""
        with self._lock:
            held = frozenset(self._held)
        if not held:
            return
        kept = leases.renew(self._store, held, self._owner, self._lease)
        with self._lock:
            self._held -= held - kept

    def drop(self, *names: str) -> None:
        """Leave duties to others."""
        with self._lock:
            self._held.difference_update(names)
        leases.drop(self._store, names, self._owner)

    def drop_all(self) -> None:
        """Leave every duty to others."""
        with self._lock:
            held = tuple(self._held)
        if held:
            self.drop(*held)
