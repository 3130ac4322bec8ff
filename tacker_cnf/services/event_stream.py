"""The stream of events of one client."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Final

from oslo_log import log

from tacker_cnf.context import RequestContext
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.services.event_log import EventLog
from tacker_cnf.services.event_messages import EventFilter, Message

LOG = log.getLogger(__name__)

#: bytes after which no further message is added to a chunk
CHUNK_BYTES: Final = 64 * 1024
#: milliseconds after which a client connects again
RETRY_MS: Final = 1000


class EventStream:
    """A position in the log of events. The server requests a chunk, which the
    thread of the log hands over: nothing is stored for a client that does not
    read, and its stream ends when the log has lost what it has not read.

    :param deadline: when the stream ends: the client connects again, with a
        new token if the former one has expired
    :param request: called when a chunk is requested
    :param position: after which it continues in the log
    """

    def __init__(
        self,
        client: RequestContext,
        wanted: EventFilter,
        deadline: Deadline,
        request: Callable[[], None],
        position: int,
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._deadline = deadline
        self._request = request
        self._position = position
        self._progress_position = 0
        #: called when the stream is closed
        self.on_close: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._next: Future[bytes | None] | None = None
        self.has_ended = False
        #: sent before what follows in the log
        self._first = deque([f"retry: {RETRY_MS}\n\n".encode()])
        #: the numbers of the events that are sent first
        self._sent: frozenset[int | None] = frozenset()

    def begin(
        self, number: int, messages: Sequence[Message], missed: bytes = b""
    ) -> None:
        """Set what is sent first, and then the id to continue with, so that
        a client has one even if no event follows.

        :param number: of the last event that the client has read then
        :param messages: those after its last event; the log may have them too
        :param missed: that there are others, which are not sent
        """
        self._first.append(missed)
        self._first.extend(m.text for m in messages if self._may_send(m))
        self._first.append(f"id: {number}\n\n".encode())
        self._sent = frozenset(m.number for m in messages if m.number)

    def next(self) -> Future[bytes | None]:
        """Return a future with the next chunk; None: the stream has ended."""
        found = Future[bytes | None]()
        with self._lock:
            if self.has_ended:
                found.set_result(None)
                return found
            self._next = found
        self._request()
        return found

    def hand_over(self, events: EventLog) -> None:
        """Hand over a chunk if one is requested, and there is something to
        send; end the stream if its time is over, or the client is too slow.
        """
        if self._deadline.passed:
            self.end()
        elif not self._first and events.has_lost(self._position):
            LOG.info(
                "Event stream ended, client too slow: project=%s",
                self._client.project_id,
            )
            self.end()
        elif self._next is not None and (chunk := self._take(events)):
            self._respond(chunk)

    def _take(self, events: EventLog) -> bytes:
        texts: list[bytes] = []
        size = 0
        for text in self._texts(events):
            texts.append(text)
            size += len(text)
            if size >= CHUNK_BYTES:
                break
        return b"".join(texts)

    def _texts(self, events: EventLog) -> Iterator[bytes]:
        """Return what is to be sent, and advance the positions."""
        while self._first:
            yield self._first.popleft()
        for position, message in events.events_after(self._position):
            self._position = position
            if message.number not in self._sent and self._may_send(message):
                yield message.text
        for position, message in events.progress_after(
            self._progress_position
        ):
            self._progress_position = position
            if self._may_send(message):
                yield message.text

    def _may_send(self, message: Message) -> bool:
        return message.matches(self._wanted) and message.is_visible_to(
            self._client
        )

    def _respond(self, chunk: bytes | None) -> None:
        with self._lock:
            requested, self._next = self._next, None
        if requested is not None:
            with suppress(InvalidStateError):  # the client has left
                requested.set_result(chunk)

    def end(self) -> None:
        """End the stream: the client connects again."""
        with self._lock:
            self.has_ended = True
        self._respond(None)

    def close(self) -> None:
        """End the stream, and release what it uses."""
        self.end()
        self.on_close()
