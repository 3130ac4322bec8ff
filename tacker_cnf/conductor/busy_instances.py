"""Instances whose synchronization waits for the end of an operation."""

import threading
from collections.abc import Iterator, Sequence
from typing import Final

from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction

#: instances that are read at once
BATCH_SIZE: Final = 500


class BusyInstances:
    """A set of instances that an operation has.

    An operation may stay FAILED_TEMP for days, and another process may end
    it: one query checks all of them periodically.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._ids: set[str] = set()
        self._not_empty = threading.Event()

    def add(self, instance_id: str) -> None:
        """Add an instance that an operation has."""
        with self._lock:
            self._ids.add(instance_id)
            self._not_empty.set()

    def wait(self) -> None:
        """Wait until the set is not empty, or wake() is called."""
        self._not_empty.wait()

    def wake(self) -> None:
        """End every wait()."""
        self._not_empty.set()

    def pop_freed(self) -> Sequence[str]:
        """Remove and return the instances that no operation has any more."""
        with self._lock:
            ids = sorted(self._ids)
        busy = set(self._still_busy(ids))
        freed = [instance_id for instance_id in ids if instance_id not in busy]
        with self._lock:
            self._ids.difference_update(freed)
            if not self._ids:
                self._not_empty.clear()
        return freed

    def _still_busy(self, ids: Sequence[str]) -> Iterator[str]:
        for begin in range(0, len(ids), BATCH_SIZE):
            yield from self._read_busy(ids[begin : begin + BATCH_SIZE])

    @transaction
    def _read_busy(self, batch: Sequence[str]) -> Sequence[str]:
        with self._store.reader() as session:
            return instances.list_busy(session, batch)
