"""The connections of httpx: to the addresses of a resolver, and ended by the
limits of the exchange or by a forceful cancellation.
"""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpcore

from tacker_cnf.http_client.exchange import Exchange, interruptible

#: returns the address of a host and port to connect to
Resolver = Callable[[str, int], str]

_local = threading.local()


@contextlib.contextmanager
def scope(exchange: Exchange) -> Iterator[None]:
    """Apply the limits of an exchange to the connections that this thread
    uses within this block.
    """
    _local.exchange = exchange
    try:
        yield
    finally:
        del _local.exchange


class LimitedBackend(httpcore.NetworkBackend):
    """Opens limited connections."""

    def __init__(self, resolve: Resolver | None) -> None:
        self._resolve = resolve
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the address that the resolver returns.

        :raises httpcore.ConnectError: the address accepts no connection
        """
        address = self._resolve(host, port) if self._resolve else host
        timeout = _local.exchange.shorten(timeout)
        stream = self._inner.connect_tcp(
            address, port, timeout, local_address, socket_options
        )
        return _LimitedConnection(stream)


class _LimitedConnection(httpcore.NetworkStream):
    """A connection whose reads are limited."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has arrived.

        :raises TimeoutError: the response is not complete in time
        :raises PeerFailed: the response is too large
        :raises VnfmError: the work was cancelled forcefully
        """
        exchange: Exchange = _local.exchange
        with self._interruptible():
            data = self._inner.read(max_bytes, exchange.shorten(timeout))
        exchange.count(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with self._interruptible():
            self._inner.write(buffer, _local.exchange.shorten(timeout))

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        timeout = _local.exchange.shorten(timeout)
        sock = self._inner.get_extra_info("socket")
        # the TLS socket takes over the descriptor
        with sock.dup() as duplicate, interruptible(duplicate):
            stream = self._inner.start_tls(
                ssl_context, server_hostname, timeout
            )
        return _LimitedConnection(stream)

    def _interruptible(self) -> contextlib.AbstractContextManager[None]:
        return interruptible(self._inner.get_extra_info("socket"))

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
