"""The open connections of a process."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Protocol

from oslo_log import log

LOG = log.getLogger(__name__)


class Abortable(Protocol):
    """A connection."""

    def abort(self) -> None:
        """Close the connection at once."""

    def close_if_idle(self) -> None:
        """Close the connection unless a request is being processed."""


class Connections:
    """Limits the number of connections.

    Beyond the limit, the connection is closed that has waited longest for its
    client, so that clients which occupy connections do not exclude others.

    :param limit: maximum number of connections
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        #: those that wait for their client, the one that waits longest first
        self._waiting: dict[Abortable, None] = {}
        self._held: set[Abortable] = set()
        self._is_full = False
        self._closed = asyncio.Event()

    def add(self, connection: Abortable) -> None:
        """Add a connection; abort another one, or this one, at the limit."""
        self._waiting[connection] = None
        is_full = len(self) > self._limit
        if is_full and not self._is_full:
            LOG.warning("Connection limit reached: limit=%d", self._limit)
        self._is_full = is_full
        if is_full:
            oldest = next(iter(self._waiting))
            self.remove(oldest)
            oldest.abort()

    def remove(self, connection: Abortable) -> None:
        """Remove a connection."""
        self._waiting.pop(connection, None)
        self._held.discard(connection)
        if not len(self):
            self._closed.set()

    async def wait_closed(self) -> None:
        """Wait until there is no connection."""
        while len(self):
            self._closed.clear()
            await self._closed.wait()

    @contextlib.contextmanager
    def hold(self, connection: Abortable) -> Iterator[None]:
        """Do not abort a connection: this server works for it. Afterwards it
        is the one that has waited shortest.
        """
        if self._waiting.pop(connection, self) is self:
            yield  # it was closed
            return
        self._held.add(connection)
        try:
            yield
        finally:
            if connection in self._held:
                self._held.discard(connection)
                self._waiting[connection] = None

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._waiting) + len(self._held)

    def __iter__(self) -> Iterator[Abortable]:
        """Iterate over the connections that wait for their client."""
        return iter(tuple(self._waiting))
