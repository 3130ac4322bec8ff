"""A server: an event loop that accepts the connections of a process."""

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import Iterable
from typing import Any, Final

from gunicorn.config import Config

from tacker_cnf.http_server.application import Application, Routes
from tacker_cnf.http_server.connection import Connection
from tacker_cnf.http_server.connections import Connections
from tacker_cnf.http_server.handshake import Handshake
from tacker_cnf.http_server.limits import STOP_TIMEOUT_S, Limits
from tacker_cnf.http_server.wsgi import Wsgi

#: connections that are accepted before others are served
ACCEPT_AT_ONCE: Final = 16


class Server:
    """Serves a WSGI application.

    gunicorn's protocol calls it its worker, and uses the attributes without a
    comment.

    :param cfg: gunicorn's configuration
    """

    def __init__(
        self,
        app: Wsgi,
        cfg: Config,
        limits: Limits,
        routes: Routes,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.cfg = cfg
        self.log = cfg.logger_class(cfg)
        self.nr = self.nr_conns = 0
        self.max_requests = sys.maxsize
        self.alive = True
        #: replaced by each connection, which adds itself
        self.asgi = None
        self.limits = limits
        self.application = Application(app, limits, routes)
        self.connections = Connections(limits.max_connections)
        self._tls = tls

    async def serve(
        self, sockets: Iterable[socket.socket], stop: asyncio.Event
    ) -> None:
        """Serve until an event, then until running requests have ended."""
        self.loop = asyncio.get_running_loop()
        servers = [await self._listen(one) for one in sockets]
        await stop.wait()
        self.alive = False
        for server in servers:
            server.close()
        self.application.end_waits()
        for connection in self.connections:
            connection.close_if_idle()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await self.connections.wait_closed()

    async def _listen(self, listener: socket.socket) -> asyncio.Server:
        server = await self.loop.create_server(
            self._new_connection, sock=listener, backlog=ACCEPT_AT_ONCE
        )
        listener.listen(self.cfg.backlog)  # asyncio has set the other number
        return server

    def _new_connection(self) -> Any:
        if self._tls:
            return Handshake(self, self._tls)
        return Connection(self)
