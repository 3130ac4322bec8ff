"""The latest events and the progress of operations, in memory."""

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Final

from tacker_cnf.services.event_messages import Message

#: the most bytes of events that are kept
MAX_BYTES: Final = 8 * 1024 * 1024


class EventLog:
    """The latest events of a process, which all of its streams send, each from
    its own position, and the progress of each active operation.

    One thread writes and reads it.
    """

    def __init__(self) -> None:
        #: the position of the newest event or progress
        self.newest = 0
        self._events: deque[tuple[int, Message]] = deque()
        self._bytes = 0
        #: the position of the newest event that is not kept
        self._lost = 0
        #: active operation -> its progress; the latest change is last
        self._progress: dict[str, tuple[int, Message]] = {}

    def add(self, message: Message) -> None:
        """Add an event; the oldest ones are not kept if there are too many."""
        self.newest += 1
        self._events.append((self.newest, message))
        self._bytes += len(message.text)
        while self._bytes > MAX_BYTES and len(self._events) > 1:
            self._lost, oldest = self._events.popleft()
            self._bytes -= len(oldest.text)

    def set_progress(self, op_occ_id: str, message: Message) -> None:
        """Replace the progress of an active operation, if it has changed."""
        _, known = self._progress.get(op_occ_id, (0, None))
        if message == known:
            return
        self.newest += 1
        self._progress.pop(op_occ_id, None)
        self._progress[op_occ_id] = self.newest, message

    def remove_progress(self, op_occ_id: str) -> None:
        """Remove the progress of an operation that has ended."""
        self._progress.pop(op_occ_id, None)

    def has_lost(self, position: int) -> bool:
        """Return whether an event after a position is not kept."""
        return self._lost > position

    def events_after(self, position: int) -> Iterator[tuple[int, Message]]:
        """Return the events after a position, oldest first."""
        return itertools.dropwhile(
            lambda entry: entry[0] <= position, self._events
        )

    def progress_after(self, position: int) -> Iterator[tuple[int, Message]]:
        """Return the progress that has changed after a position, oldest
        first.
        """
        changed = itertools.takewhile(
            lambda entry: entry[0] > position,
            reversed(self._progress.values()),
        )
        return reversed([*changed])
