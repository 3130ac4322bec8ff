"""Streams of events for clients, without a thread or a connection to the
database for each of them.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from oslo_log import log

from tacker_cnf.context import RequestContext
from tacker_cnf.db import events
from tacker_cnf.db.session import DATABASE_ERRORS, Session, Store
from tacker_cnf.lcm import states
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.services import event_messages
from tacker_cnf.services.event_log import EventLog
from tacker_cnf.services.event_messages import EventFilter
from tacker_cnf.services.event_position import EventPosition
from tacker_cnf.services.event_stream import EventStream
from tacker_cnf.services.slots import Slots

LOG = log.getLogger(__name__)

#: seconds between two reads, and at least between them if this process has
#: announced an event
READ_INTERVAL_S: Final = 0.25
MIN_READ_INTERVAL_S: Final = 0.05
#: seconds after an error of this service until it reads again
RETRY_DELAY_S: Final = 5.0
#: events that one statement reads
PAGE_SIZE: Final = 500
#: the most events that are sent to a client that connects again
MAX_BACKLOG: Final = 1000


class EventStreams:
    """The streams of a process; one thread reads for all of them. It exists
    only while there is a stream.

    :param slots: limits the number of streams
    :param retention: seconds for which delivered events are kept
    :param max_time: seconds after which a stream ends
    """

    def __init__(
        self,
        store: Store,
        slots: Slots,
        retention: float,
        max_time: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._store = store
        self._slots = slots
        self._retention = retention
        self._max_time = max_time
        self._clock = clock
        self._streams: set[EventStream] = set()
        #: streams that are open or being opened
        self._users = 0
        self._lock = threading.Lock()
        self._start_lock = threading.Lock()
        self._has_thread = False
        #: wakes the thread
        self._wake = threading.Event()
        self._is_announced = False
        self._log = EventLog()
        self._position = EventPosition(0, clock)
        #: the number of an event up to which the log has all
        self._logged = 0
        #: active operation -> version of its progress
        self._versions: Mapping[str, int] = {}
        store.listeners.append(self._announce)

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
            number = self._logged
            stream = EventStream(
                client,
                wanted,
                Deadline.within(self._max_time, self._clock),
                self._wake.set,
                # before the database is read, so that no event is missed
                self._log.newest,
            )
            if last_event_id is None:
                stream.begin(number, ())
            else:
                self._resume(stream, client, last_event_id, number)
            on_close.callback(self._remove, stream)
            with self._lock:
                self._streams.add(stream)
            stream.on_close = on_close.pop_all().close
        return stream

    def _resume(
        self,
        stream: EventStream,
        client: RequestContext,
        last_event_id: int,
        number: int,
    ) -> None:
        """Read the events after the last one that the client has read, and
        the progress of the operations that have ended since.

        :param number: of an event up to which all can be read
        """
        position = EventPosition(last_event_id, self._clock)
        project_id = None if client.all_projects else client.owner.project_id
        with self._store.reader() as session:
            newest = events.newest(session)
            has_missed = events.has_missed(
                session, last_event_id, self._retention
            )
            found = events.list_new(
                session,
                last_event_id,
                limit=MAX_BACKLOG + 1,
                project_id=project_id,
            )
            if has_missed or len(found) > MAX_BACKLOG:
                missed = event_messages.of_missed(last_event_id, newest)
                stream.begin(newest, (), missed)
                return
            messages = [*event_messages.of_events(found, position)]
            ids = {
                message.vnf_lcm_op_occ_id
                for message in messages
                if message.vnf_lcm_op_occ_id
            }
            stored = events.list_progress(session, ids) if ids else ()
        messages += [
            event_messages.of_progress(progress)
            for progress in stored
            if progress.progress.operation_state not in states.ACTIVE
        ]
        stream.begin(max(number, position.number), messages)

    def _remove(self, stream: EventStream) -> None:
        with self._lock:
            self._streams.discard(stream)

    def _announce(self) -> None:
        self._is_announced = True
        self._wake.set()

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
        self._position = EventPosition(newest, self._clock)
        self._logged = newest
        self._log, self._versions = EventLog(), {}
        self._has_thread = True
        threading.Thread(
            target=self._run, daemon=True, name="event-streams"
        ).start()

    def _is_used(self) -> bool:
        with self._start_lock, self._lock:
            self._has_thread = self._users > 0
            return self._has_thread

    def _run(self) -> None:
        now = self._clock.monotonic
        earliest = latest = now()
        while self._is_used():
            if now() >= (earliest if self._is_announced else latest):
                self._is_announced = False
                pause = READ_INTERVAL_S if self._try_read() else RETRY_DELAY_S
                earliest, latest = now() + MIN_READ_INTERVAL_S, now() + pause
            self._hand_over()
            next_read = earliest if self._is_announced else latest
            self._clock.wait(self._wake, max(0.0, next_read - now()))
            self._wake.clear()

    def _try_read(self) -> bool:
        """Read what is new; return whether that is possible."""
        try:
            self._read()
        except DATABASE_ERRORS:
            pass  # the store has logged it
        except Exception:
            LOG.exception("Events not read, retrying")
            return False
        return True

    def _read(self) -> None:
        """Read what is new."""
        self._position.advance()
        with self._store.reader() as session:
            announced = self._read_events(session)
            versions = events.list_versions(session)
            changed = versions.items() ^ self._versions.items()
            ids = {op_occ_id for op_occ_id, _ in changed}
            # one may have started and ended since the last read
            ids |= announced - versions.keys()
            stored = events.list_progress(session, ids) if ids else ()
        for progress in stored:
            message = event_messages.of_progress(progress)
            op_occ_id = progress.progress.vnf_lcm_op_occ_id
            if op_occ_id in versions:
                self._log.set_progress(op_occ_id, message)
            else:  # it has ended
                self._log.remove_progress(op_occ_id)
                self._log.add(message)
        for op_occ_id in self._versions.keys() - versions.keys():
            self._log.remove_progress(op_occ_id)  # it may be deleted
        self._versions = versions

    def _read_events(self, session: Session) -> set[str]:
        """Read new events; return the operations that they are of."""
        position = self._position
        op_occ_ids = set()
        while True:
            found = events.list_new(
                session, position.number, position.seen, limit=PAGE_SIZE
            )
            for message in event_messages.of_events(found, position):
                self._log.add(message)
                if message.vnf_lcm_op_occ_id:
                    op_occ_ids.add(message.vnf_lcm_op_occ_id)
            if len(found) < PAGE_SIZE:
                self._logged = position.number
                return op_occ_ids

    def _hand_over(self) -> None:
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            try:
                stream.hand_over(self._log)
            except Exception:
                LOG.exception("Event stream ended")
                stream.end()
            if stream.has_ended:
                stream.on_close()
