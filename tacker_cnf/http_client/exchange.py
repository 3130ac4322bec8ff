"""The limits of an exchange, which is a request and its complete response."""

import contextlib
import dataclasses
import functools
import math
import socket
from collections.abc import Iterator
from typing import Final

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

MEBIBYTE: Final = 1024 * 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExchangeLimits:
    """What one exchange may need."""

    #: seconds from the request to the end of the body
    timeout: float = 120.0
    #: size of the response
    max_bytes: float = 64 * MEBIBYTE
    clock: Clock = SYSTEM_CLOCK

    @classmethod
    def of_file(
        cls, timeout: float, clock: Clock = SYSTEM_CLOCK
    ) -> "ExchangeLimits":
        """Return the limits of a response that is stored as it is read; its
        receiver limits the size.
        """
        return cls(timeout=timeout, max_bytes=math.inf, clock=clock)


#: of a client without options of its own
DEFAULT_LIMITS: Final = ExchangeLimits()


class Exchange:
    """One exchange, which ends at its limits."""

    def __init__(self, limits: ExchangeLimits, host: str) -> None:
        self._host = host
        self._max_bytes = limits.max_bytes
        self._deadline = Deadline.within(limits.timeout, limits.clock)
        self._size = 0

    def shorten(self, timeout: float | None) -> float:
        """Return a timeout that ends with the exchange, in seconds.

        :raises TimeoutError: the time is over
        """
        remaining = self._deadline.remaining
        if not remaining:
            raise TimeoutError("the response is not complete in time")
        return remaining if timeout is None else min(timeout, remaining)

    def count(self, size: int) -> None:
        """Count bytes of the response.

        :raises PeerFailed: the response is too large
        """
        self._size += size
        if self._size > self._max_bytes:
            raise errors.PeerFailed(
                f"The response of {self._host} is larger than "
                f"{self._max_bytes} bytes."
            )

    def check_encoding(self, encoding: str | None) -> None:
        """Check the Content-Encoding of the response, which is not decoded: a
        compressed response may be a thousand times larger.

        :raises PeerFailed: it is not identity
        """
        if encoding not in {None, "", "identity"}:
            raise errors.PeerFailed(
                f"{self._host} answered with a Content-Encoding; only identity "
                "is supported."
            )


@contextlib.contextmanager
def interruptible(sock: socket.socket) -> Iterator[None]:
    """Shut a socket down if the work of this thread is cancelled forcefully
    within this block.

    :raises VnfmError: the work was cancelled
    """
    cancel_token = CancelToken.current()
    if cancel_token is None:
        yield
        return
    with cancel_token.on_cancel(functools.partial(shut_down, sock)):
        yield


def shut_down(sock: socket.socket) -> None:
    """Wake the thread that reads from a socket."""
    with contextlib.suppress(OSError):  # it is closed already
        sock.shutdown(socket.SHUT_RDWR)
