"""Connections for client libraries that are built on urllib3.

They are made to allowed addresses only, send changes only within a lease, and
end with the limits of an exchange or a forceful cancellation.
"""

import contextlib
import dataclasses
import functools
import http.client
import io
import socket
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    NameResolutionError,
    NewConnectionError,
)

from tacker_cnf import context, errors, tracing
from tacker_cnf.http_client.exchange import (
    Exchange,
    ExchangeLimits,
    interruptible,
)
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

#: methods of requests that change nothing
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class _Reader(io.RawIOBase):
    """A response, read from its socket within the limits of the exchange."""

    def __init__(
        self, raw: io.RawIOBase, sock: socket.socket, exchange: Exchange
    ) -> None:
        self._raw = raw
        self._sock = sock
        self._exchange = exchange
        self._timeout = sock.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what the socket has.

        :raises TimeoutError: a part, or the complete response, is late
        :raises PeerFailed: the response is too large
        :raises VnfmError: the work was cancelled forcefully
        """
        self._sock.settimeout(self._exchange.shorten(self._timeout))
        with interruptible(self._sock):
            size: int | None = self._raw.readinto(buffer)
        self._exchange.count(size or 0)
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(
        self,
        sock: socket.socket,
        *args: Any,
        exchange: Exchange,
        **options: Any,
    ) -> None:
        super().__init__(sock, *args, **options)
        reader = _Reader(self.fp.detach(), sock, exchange)
        self.fp = io.BufferedReader(reader)
        self._exchange = exchange

    def begin(self) -> None:
        """Read the headers.

        :raises PeerFailed: the body is compressed
        """
        super().begin()
        self._exchange.check_encoding(self.headers.get("Content-Encoding"))


class HttpConnection(HTTPConnection):
    """A connection with a policy and limits."""

    def __init__(
        self,
        *args: Any,
        ssrf_policy: SsrfPolicy,
        limits: ExchangeLimits,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._ssrf_policy = ssrf_policy
        self._limits = limits
        self._connecting = contextlib.ExitStack()

    def connect(self) -> None:
        """Connect, and negotiate TLS.

        :raises VnfmError: the work was cancelled forcefully
        """
        with self._connecting:
            super().connect()

    def _new_conn(self) -> socket.socket:
        """Connect to the first address of the host that accepts it.

        :raises Forbidden: the policy does not allow an address
        """
        try:
            sock = self._connect()
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            raise ConnectTimeoutError(
                self, f"no connection to {self.host} in time"
            ) from error
        except OSError as error:
            raise NewConnectionError(self, str(error)) from error
        # the TLS socket takes over the descriptor
        duplicate = self._connecting.enter_context(sock.dup())
        self._connecting.enter_context(interruptible(duplicate))
        return sock

    def _connect(self) -> socket.socket:
        """Connect; the timeout is that of all addresses together.

        :raises VnfmError: the work was cancelled forcefully
        """
        timeout = (
            self._limits.timeout if self.timeout is None else self.timeout
        )
        host = self._dns_host.strip("[]")
        *others, last = self._ssrf_policy.resolve_now(host, self.port)
        deadline = Deadline.within(timeout, self._limits.clock)
        for tried, address in enumerate(others):
            share = deadline.remaining / (len(others) + 1 - tried)
            if not share:
                break
            with contextlib.suppress(OSError):
                return self._connect_to(address, share)
        if deadline.passed:
            raise TimeoutError
        return self._connect_to(last, deadline.remaining)

    def _connect_to(self, address: str, timeout: float) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with contextlib.ExitStack() as unless_connected:
            sock = unless_connected.enter_context(
                socket.socket(family, socket.SOCK_STREAM)
            )
            for option in self.socket_options or ():
                sock.setsockopt(*option)
            sock.settimeout(timeout)
            with interruptible(sock):
                sock.connect((address, self.port))
            unless_connected.pop_all()
            return sock

    def request(self, method: str, *args: Any, **options: Any) -> None:
        """Send a request; a change is sent only within the lease.

        :raises VnfmError: the lease does not allow a change
        """
        cancel_token = CancelToken.current()
        if cancel_token and method.upper() not in SAFE_METHODS:
            if self.sock is None:  # connecting takes time: do it before
                self.connect()
            cancel_token.check_lease()
        if request_id := context.current_request_id():
            headers = dict(options.get("headers") or {})
            headers[context.REQUEST_ID_HEADER] = request_id
            if agent := headers.get("User-Agent"):
                # the audit log of a cluster shows no other header
                headers["User-Agent"] = f"{agent} {request_id}"
            options["headers"] = headers
        super().request(method, *args, **options)

    def getresponse(self) -> Any:
        """Read the response.

        If the timeout of the request is longer than that of exchanges, as the
        one of a watch, it is that of the exchange.
        """
        timeout = max(self._limits.timeout, self.timeout or 0.0)
        limits = dataclasses.replace(self._limits, timeout=timeout)
        self.response_class = functools.partial(  # type: ignore[assignment]
            _Response, exchange=Exchange(limits, self.host)
        )
        return super().getresponse()


class HttpsConnection(HttpConnection, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = HttpConnection

    def urlopen(
        self, method: str, url: str, *args: Any, **options: Any
    ) -> Any:
        """Send a request; return the response, which may redirect to the same
        server.

        :raises PeerFailed: it redirects to another server, to which a client
            would send the credentials
        """
        with tracing.exchange(method, self.host) as span:
            response: Any = super().urlopen(method, url, *args, **options)
            span.describe(http__response__status_code=response.status)
        location = response.headers.get("Location")
        is_redirect = 300 <= response.status < 400 and location
        if is_redirect and not self.is_same_host(location):
            response.close()
            raise errors.PeerFailed(
                f"{self.host} redirects to another server, which this service "
                "does not follow. Use the URL of that server instead."
            )
        return response


class _HttpsPool(_HttpPool, HTTPSConnectionPool):
    ConnectionCls = HttpsConnection


class PoolManager(urllib3.PoolManager):
    """Pool manager of connections with a policy and limits."""

    def __init__(
        self,
        ssrf_policy: SsrfPolicy,
        limits: ExchangeLimits,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.pool_classes_by_scheme = {
            "http": _HttpPool,
            "https": _HttpsPool,
        }
        self._ssrf_policy = ssrf_policy
        self._connection_options = {
            "ssrf_policy": ssrf_policy,
            "limits": limits,
        }

    def urlopen(  # type: ignore[override]
        self, method: str, url: str, **options: Any
    ) -> Any:
        """Send a request; redirects are not followed."""
        options["redirect"] = False
        return super().urlopen(method, url, **options)

    def connection_from_host(
        self,
        host: str | None,
        port: int | None = None,
        scheme: str | None = "http",
        pool_kwargs: dict[str, Any] | None = None,
    ) -> HTTPConnectionPool:
        """Return the connection pool of a server.

        :raises Forbidden: the policy does not allow the scheme
        """
        self._ssrf_policy.check_scheme(scheme, host or "")
        return super().connection_from_host(host, port, scheme, pool_kwargs)

    def _new_pool(self, *args: Any, **options: Any) -> HTTPConnectionPool:
        pool = super()._new_pool(*args, **options)
        pool.conn_kw |= self._connection_options
        return pool
