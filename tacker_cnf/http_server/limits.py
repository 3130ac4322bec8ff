"""What a client may take: bytes, time, connections."""

import asyncio
import dataclasses
from collections.abc import Awaitable
from typing import Any, Final, Self, TypeVar

T = TypeVar("T")

#: largest request line with all headers, in bytes
MAX_HEAD_BYTES: Final = 65_536
#: largest piece of a response that waits for a client, in bytes
PIECE_BYTES: Final = 65_536
#: seconds for which running requests may go on after SIGTERM
STOP_TIMEOUT_S: Final = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a server process."""

    #: seconds for the head of a request, and for a TLS handshake
    header_timeout: float
    #: seconds for a buffered body, and of a pause in a transfer
    body_timeout: float
    #: bytes per second of uploads and of responses
    min_transfer_rate: int
    max_body_bytes: int
    max_connections: int
    #: requests that are processed at the same time
    threads: int
    #: uploads that are received at the same time
    uploads: int

    @classmethod
    def of(cls, options: Any) -> Self:
        """Return the limits in [api]."""
        return cls(
            header_timeout=options.header_timeout,
            body_timeout=options.body_timeout,
            min_transfer_rate=options.min_transfer_rate,
            max_body_bytes=options.max_body_bytes,
            max_connections=options.max_connections,
            threads=options.threads,
            uploads=options.max_uploads,
        )


class Pace:
    """The time for which a transfer may still wait for its client.

    It decreases while the transfer waits, and increases with each byte that
    was transferred.
    """

    def __init__(self, limits: Limits) -> None:
        self._max = self._left = limits.body_timeout
        self._rate = limits.min_transfer_rate

    async def wait(self, event: Awaitable[T]) -> T:
        """Wait for the client.

        :raises TimeoutError: the client is too slow
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        async with asyncio.timeout(self._left):
            result = await event
        self._left -= loop.time() - start
        return result

    def add(self, size: int) -> None:
        """Count bytes that were transferred."""
        self._left = min(self._left + size / self._rate, self._max)
