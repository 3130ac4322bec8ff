"""The stream of events of one client."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Final

from oslo_log import log

from tacker_cnf.context import RequestContext
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.services.event_messages import EventFilter, Message

LOG = log.getLogger(__name__)

#: the most bytes that wait for a client
MAX_WAITING_BYTES: Final = 1024 * 1024
#: milliseconds after which a client connects again
RETRY_MS: Final = 1000


class EventStream:
    """The messages that wait for a client. One thread offers them, another
    one, the server's, takes them.

    :param deadline: when the stream ends: the client connects again, with a
        new token if the former one has expired
    """

    def __init__(
        self,
        client: RequestContext,
        wanted: EventFilter,
        deadline: Deadline,
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._deadline = deadline
        #: called when the stream is closed
        self.on_close: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        #: key of a message -> its text
        self._waiting: dict[tuple[str, str], bytes] = {
            ("retry", ""): f"retry: {RETRY_MS}\n\n".encode()
        }
        self._bytes = 0
        self._next: Future[bytes | None] | None = None
        self._has_ended = False
        #: keys of the events that it has read from the database itself
        self._read: frozenset[tuple[str, str]] = frozenset()

    def begin(self, texts: Iterable[bytes], read: Iterable[Message]) -> None:
        """Add the messages since the last connection of the client."""
        with self._lock:
            for number, text in enumerate(texts):
                self._waiting["begin", str(number)] = text
            for message in self._visible(read):
                self._waiting[message.key] = message.text
            self._read = frozenset(message.key for message in read)

    def offer(self, messages: Iterable[Message]) -> None:
        """Add messages, if the client wants and may read them. End the stream
        if too many wait, or the time is over.
        """
        visible = self._visible(messages)
        with self._lock:
            for message in visible:
                if message.key in self._read:
                    continue
                before = self._waiting.pop(message.key, b"")
                self._waiting[message.key] = message.text
                self._bytes += len(message.text) - len(before)
            is_slow = self._bytes > MAX_WAITING_BYTES
            if is_slow or self._deadline.passed:
                self._has_ended = True
            if is_slow:
                self._waiting.clear()
            self._hand_over()
        if is_slow:
            LOG.info(
                "Event stream ended, client too slow: project=%s",
                self._client.project_id,
            )

    def _visible(self, messages: Iterable[Message]) -> list[Message]:
        return [
            message
            for message in messages
            if message.matches(self._wanted)
            and message.is_visible_to(self._client)
        ]

    def next(self) -> Future[bytes | None]:
        """Return a future with the messages that wait, at once or later; None:
        the stream has ended.
        """
        with self._lock:
            self._next = found = Future[bytes | None]()
            self._hand_over()
            return found

    def _hand_over(self) -> None:
        if self._next is None:
            return
        if self._waiting:
            result = b"".join(self._waiting.values())
        elif self._has_ended:
            result = None
        else:
            return
        with suppress(InvalidStateError):  # the client has left
            self._next.set_result(result)
        self._waiting.clear()
        self._bytes = 0
        self._next = None

    def close(self) -> None:
        """End the stream."""
        with self._lock:
            self._has_ended = True
            self._waiting.clear()
            self._hand_over()
        self.on_close()
