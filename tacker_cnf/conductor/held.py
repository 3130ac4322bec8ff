"""Instances that could not be looked at while an operation held them."""

import threading
from collections.abc import Iterator, Sequence
from typing import Final

from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction

#: instances that are asked for at once
BATCH: Final = 500


class Held:
    """Remembers instances until no operation holds them any more.

    An operation may stay FAILED_TEMP for days, and another process may end
    it: one question from time to time tells of all of them.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._ids: set[str] = set()
        self._some = threading.Event()

    def note(self, instance_id: str) -> None:
        """Note that an operation holds an instance."""
        with self._lock:
            self._ids.add(instance_id)
            self._some.set()

    def wait(self) -> None:
        """Wait until there is one, or somebody wakes who waits."""
        self._some.wait()

    def wake(self) -> None:
        """Let nobody wait."""
        self._some.set()

    def freed(self) -> Sequence[str]:
        """Give those that no operation holds any more, and forget them."""
        with self._lock:
            noted = sorted(self._ids)
        held = set(self._held(noted))
        freed = [one for one in noted if one not in held]
        with self._lock:
            self._ids.difference_update(freed)
            if not self._ids:
                self._some.clear()
        return freed

    def _held(self, noted: Sequence[str]) -> Iterator[str]:
        for begin in range(0, len(noted), BATCH):
            yield from self._held_of(noted[begin : begin + BATCH])

    @transaction
    def _held_of(self, batch: Sequence[str]) -> Sequence[str]:
        with self._store.reader() as session:
            return instances.held(session, batch)
