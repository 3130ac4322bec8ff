"""How far the events in the database were read."""

from typing import Final

from tacker_cnf.db.events import StoredEvent
from tacker_cnf.runtime.clock import Clock

#: seconds after which the event of a missing number is not expected any more:
#: its transaction was rolled back
GAP_TIMEOUT_S: Final = 10.0


class EventPosition:
    """How far the events were read. Their numbers do not become visible in
    order: a transaction with a lower number may be committed later.
    """

    def __init__(self, number: int, clock: Clock) -> None:
        #: all events up to this one were read
        self.number = number
        self._clock = clock
        #: later events that were read -> when they were added, on the
        #: monotonic clock
        self.seen: dict[int, float] = {}

    def add(self, event: StoredEvent) -> None:
        """Record that an event was read."""
        self.seen[event.number] = self._clock.monotonic() - event.age
        self.advance()

    def advance(self) -> None:
        """Advance over events that were read, and over missing ones that are
        not expected any more.
        """
        expected_since = self._clock.monotonic() - GAP_TIMEOUT_S
        for number, added_at in sorted(self.seen.items()):
            if number > self.number + 1 and added_at > expected_since:
                return
            self.number = number
            del self.seen[number]
