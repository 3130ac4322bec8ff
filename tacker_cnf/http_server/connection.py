"""The connection of a client: gunicorn's HTTP with deadlines and limits."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, Protocol

from gunicorn.asgi.protocol import ASGIProtocol

from tacker_cnf.http_server import access_log, wsgi
from tacker_cnf.http_server.application import Application
from tacker_cnf.http_server.connections import Connections
from tacker_cnf.http_server.limits import MAX_HEAD_BYTES, Limits
from tacker_cnf.http_server.wsgi import Receive, Scope, Send


class Host(Protocol):
    """The server of a connection."""

    limits: Limits
    loop: asyncio.AbstractEventLoop
    connections: Connections
    application: Application


class Connection(ASGIProtocol):  # type: ignore[misc]
    """A connection that is closed if its client is too slow, and whose
    errors are problem+json.
    """

    def __init__(self, server: Host) -> None:
        super().__init__(server)
        self._server = server
        self._limits = server.limits
        self._timer: asyncio.TimerHandle | None = None
        self._is_lost = False
        #: what a client sent together with its TLS handshake
        self._early_data = b""
        self._awaits_head = True
        self._head_bytes = 0
        #: gunicorn calls it for each request
        self.app = self._process

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first request."""
        if self._is_lost:
            return
        super().connection_made(transport)
        self._start_timer(self._limits.header_timeout, self._expire_head)
        self._server.connections.add(self)
        if self._early_data:
            self.data_received(self._early_data)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, and limit the head of a request."""
        if self.transport is None:
            self._early_data += data
            return
        if self._awaits_head and self._timer is None:
            self._start_timer(self._limits.header_timeout, self._expire_head)
        super().data_received(data)
        if self._awaits_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(
                    431,
                    "The request line and the headers have more than "
                    f"{MAX_HEAD_BYTES} bytes.",
                )

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel what still waits for the client."""
        self._is_lost = True
        self._stop_timer()
        self._server.connections.remove(self)
        if self.transport is not None:
            super().connection_lost(exc)

    def _on_headers_complete(self) -> Any:
        self._stop_timer()
        self._awaits_head = False
        self._head_bytes = 0
        return super()._on_headers_complete()

    async def _process(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            await self._server.application(self, scope, receive, send)
        finally:
            self._awaits_head = True

    def _expire_head(self) -> None:
        self._timer = None
        if self._head_bytes:
            self._refuse(408, "The headers did not arrive in time.")
        else:
            self.close()

    def _refuse(self, status: int, detail: str) -> None:
        self._send_error_response(status, detail)
        self.close()

    def _send_error_response(
        self, status: int, message: str, extra_headers: Any = ()
    ) -> None:
        address, *_ = self.transport.get_extra_info("peername") or ("",)
        access_log.write("-", "-", status, time.perf_counter(), address)
        body = wsgi.problem_of(status, message)
        head = (
            f"HTTP/1.1 {status} {self._get_reason_phrase(status)}\r\n"
            f"Content-Type: {wsgi.PROBLEM}\r\n"
            f"Content-Length: {len(body)}\r\n"
            + "".join(f"{k}: {v}\r\n" for k, v in extra_headers)
            + "Connection: close\r\n\r\n"
        )
        self._safe_write(head.encode("latin-1") + body)

    def _close_transport(self) -> None:
        super()._close_transport()
        # a client that does not read would prevent it
        self._start_timer(self._limits.body_timeout, self.abort)

    def close(self) -> None:
        """Close the connection after what was sent."""
        self._close_transport()

    def close_if_idle(self) -> None:
        """Close the connection unless a request is being processed."""
        if self._awaits_head:
            self.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._close_transport()
        self.transport.abort()

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Keep the connection while this server works for it."""
        return self._server.connections.hold(self)

    def __str__(self) -> str:
        """Return the address of the client."""
        return str(self.transport.get_extra_info("peername"))

    def _start_timer(self, delay: float, call: Callable[[], None]) -> None:
        self._stop_timer()
        self._timer = self._server.loop.call_later(delay, call)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
