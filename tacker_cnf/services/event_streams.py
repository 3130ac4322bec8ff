"""Streams of events for clients, without a thread or a connection to the
database for each of them.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from tacker_cnf.context import RequestContext
from tacker_cnf.db import events
from tacker_cnf.db.events import StoredEvent
from tacker_cnf.db.session import DATABASE_ERRORS, Session, Store
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.services import event_messages
from tacker_cnf.services.event_messages import EventFilter, Message
from tacker_cnf.services.event_stream import EventStream
from tacker_cnf.services.slots import Slots

#: seconds between two reads, unless this process has announced an event
READ_INTERVAL_S: Final = 0.25
#: seconds after which the event of a missing number is not expected any more:
#: its transaction was rolled back
GAP_TIMEOUT_S: Final = 10.0
#: events that one statement reads
MAX_EVENTS: Final = 500
#: seconds after which a stream ends, so that the token is checked again
MAX_STREAM_S: Final = 300.0


class Position:
    """How far the events were read. Their numbers do not become visible in
    order: a transaction with a lower number may be committed later.
    """

    def __init__(self, number: int, clock: Clock = SYSTEM_CLOCK) -> None:
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


class EventStreams:
    """The streams of a process; one thread reads for all of them. It exists
    only while there is a stream.

    :param slots: limits the number of streams
    """

    def __init__(
        self, store: Store, slots: Slots, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._store = store
        self._slots = slots
        self._clock = clock
        self._streams: set[EventStream] = set()
        #: streams that are open or being opened
        self._users = 0
        self._lock = threading.Lock()
        self._start_lock = threading.Lock()
        self._has_thread = False
        self._announced = threading.Event()
        self._position = Position(0, clock)
        #: active operation -> version of its timeline
        self._versions: Mapping[str, int] = {}
        #: active operation -> message of its progress
        self._progress: dict[str, Message] = {}
        store.listeners.append(self._announced.set)

    def open(
        self,
        client: RequestContext,
        wanted: EventFilter,
        last_event_id: int | None = None,
    ) -> EventStream:
        """Open a stream; the caller has to close it.

        :param last_event_id: the last event that the client has read; None:
            it reads new ones only
        :raises Unavailable: too many clients read
        """
        with contextlib.ExitStack() as on_close:
            on_close.enter_context(self._slots.take(client.owner.project_id))
            on_close.enter_context(self._reading())
            stream = EventStream(
                client, wanted, Deadline.within(MAX_STREAM_S, self._clock)
            )
            if last_event_id is not None:
                self._begin(stream, last_event_id)
            with self._lock:
                self._streams.add(stream)
                stream.offer(self._progress.values())
            on_close.callback(self._remove, stream)
            stream.on_close = on_close.pop_all().close
        return stream

    def _begin(self, stream: EventStream, last_event_id: int) -> None:
        """Add the events after the last one that the client has read."""
        with self._store.reader() as session:
            has_missed = events.has_missed(session, last_event_id)
            position = Position(last_event_id, self._clock)
            read = _read(session, position)
        missed = [event_messages.of_missed(last_event_id)]
        stream.begin(missed if has_missed else [], read)

    def _remove(self, stream: EventStream) -> None:
        with self._lock:
            self._streams.discard(stream)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Have the thread read within this block."""
        with self._lock:
            self._users += 1
        try:
            with self._start_lock:
                if not self._has_thread:
                    self._start()
            yield
        finally:
            with self._lock:
                self._users -= 1

    def _start(self) -> None:
        newest = self._store.read(None, events.newest)
        self._position = Position(newest, self._clock)
        self._versions, self._progress = {}, {}
        self._has_thread = True
        threading.Thread(
            target=self._run, daemon=True, name="event-streams"
        ).start()

    def _run(self) -> None:
        while self._is_used():
            with contextlib.suppress(*DATABASE_ERRORS):  # it reads again
                self._poll()
            self._announced.wait(READ_INTERVAL_S)
            self._announced.clear()

    def _is_used(self) -> bool:
        with self._start_lock, self._lock:
            self._has_thread = self._users > 0
            return self._has_thread

    def _poll(self) -> None:
        """Read what is new, and offer it to all streams."""
        self._position.advance()
        with self._store.reader() as session:
            messages = _read(session, self._position)
            versions = events.list_versions(session)
            changed = versions.items() ^ self._versions.items()
            stored = events.list_progress(session, {key for key, _ in changed})
        progress = {
            message.key[1]: message
            for message in map(event_messages.of_progress, stored)
        }
        with self._lock:
            self._versions = versions
            self._progress = {
                op_occ_id: message
                for op_occ_id, message in (self._progress | progress).items()
                if op_occ_id in versions
            }
            streams = list(self._streams)
        for stream in streams:
            stream.offer([*messages, *progress.values()])


def _read(session: Session, position: Position) -> list[Message]:
    """Read the events after a position, and advance it."""
    messages = []
    while True:
        found = events.list_new(
            session, position.number, position.seen, MAX_EVENTS
        )
        for event in found:
            position.add(event)
            messages.append(event_messages.of_event(event, position.number))
        if len(found) < MAX_EVENTS:
            return messages
