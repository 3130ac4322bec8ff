"""The TLS handshake of a client, as a connection that counts."""

import asyncio
import ssl
from typing import cast

from tacker_cnf.http_server.connection import Connection, Host


class Handshake(asyncio.Protocol):
    """Becomes a connection when the handshake is complete.

    asyncio's own TLS servers create no protocol before that whose connection
    could be closed, so that clients which stall would not be limited.
    """

    def __init__(self, server: Host, context: ssl.SSLContext) -> None:
        self._server = server
        self._context = context

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        self._task = self._server.loop.create_task(self._run())

    def connection_lost(self, _: Exception | None) -> None:
        """Forget the connection."""
        self._server.connections.remove(self)

    async def _run(self) -> None:
        connection = Connection(self._server)
        try:
            transport = await self._server.loop.start_tls(
                self._transport,
                connection,
                self._context,
                server_side=True,
                ssl_handshake_timeout=self._server.limits.header_timeout,
            )
        except OSError:  # of TLS, too
            self._transport.abort()
            return
        finally:
            self._server.connections.remove(self)
        connection.connection_made(cast("asyncio.Transport", transport))

    def close_if_idle(self) -> None:
        """Close the connection."""
        self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()
