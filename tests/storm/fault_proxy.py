"""A proxy for a cluster, in its own process, that injects faults.

It logs each change with its time and the process that sent it, one JSON
object per line, and fails while a fault is set. Each line of its standard
input sets the fault from then on, or ``null``::

    {"kind": "error", "status": 503, "share": 0.5}
"""

import asyncio
import functools
import json
import random
import re
import signal
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import yarl
from aiohttp import web

from tests.fixtures import processes

#: headers of one connection, not of the request
HOP_BY_HOP_HEADERS = {
    "connection",
    "content-length",
    "host",
    "transfer-encoding",
    "date",
}
#: prefix of the names of the service's processes
SERVICE_PROCESS_PREFIX = "tacker-cnf-"
#: the User-Agent of the service
USER_AGENT_RE = re.compile(r"^tacker_cnf \(.*:(\d+)\)")
READ_METHODS = {"GET", "HEAD", "OPTIONS"}


class Server(web.Server):
    """Finds the process of a connection when it is made: a killed process has
    no connections.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        #: connection -> the process at its other end
        self.senders: dict[Any, int | None] = {}

    def connection_made(self, handler: Any, transport: Any) -> None:
        super().connection_made(handler, transport)
        peer, own = map(transport.get_extra_info, ("peername", "sockname"))
        self.senders[handler] = processes.find_by_connection(
            peer[1], own[1], SERVICE_PROCESS_PREFIX
        )


class FaultProxy:
    """Forwards requests, and logs those that change something."""

    def __init__(self, upstream_url: str, log: Path) -> None:
        self._upstream = upstream_url
        self._log = log.open("a", buffering=1)
        self._fault: dict[str, Any] = {}
        self._fault_cleared = asyncio.Event()
        self._faults: dict[str, Callable[..., Awaitable[Any]]] = {
            "error": self._error,
            "silent": self._hang,
            "reset": self._reset,
            "lose": self._drop_response,
            "slow": self._slow,
        }
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=False),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        self.server = Server(self.handle, access_log=None)

    def set_fault(self, line: bytes) -> None:
        """Set or clear the fault."""
        self._fault = json.loads(line) or {}
        self._fault_cleared.set()
        self._fault_cleared = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        at = time.time()
        if request.method in READ_METHODS:
            return await self._respond(request)
        sender = self.server.senders[request.protocol] or _sender_pid(request)
        outcome = "cut"
        try:
            response = await self._respond(request)
            if request.transport and not request.transport.is_closing():
                outcome = str(response.status)
            return response
        finally:
            entry = {
                "at": at,
                "sender": sender,
                "method": request.method,
                "path": request.path,
                "query": request.query_string,
                "fate": outcome,
            }
            self._log.write(json.dumps(entry) + "\n")

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        fault = dict(self._fault)
        share = fault.pop("share", 1.0)
        if not fault or random.random() >= share:  # noqa: S311
            return await self._forward(request)
        act = self._faults[fault.pop("kind")]
        response: web.StreamResponse = await act(request, **fault)
        return response

    async def _error(
        self, request: web.BaseRequest, status: int
    ) -> web.StreamResponse:
        await request.read()
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": "InternalError",
            "message": "injected fault",
            "code": status,
        }
        return web.json_response(body, status=status)

    async def _hang(self, request: web.BaseRequest) -> web.StreamResponse:
        await self._fault_cleared.wait()
        return self._drop_connection(request)

    async def _reset(self, request: web.BaseRequest) -> web.StreamResponse:
        return self._drop_connection(request)

    async def _drop_response(
        self, request: web.BaseRequest
    ) -> web.StreamResponse:
        """Forward the request, and then break the connection."""
        await self._send_buffered(request)
        return self._drop_connection(request)

    async def _slow(
        self, request: web.BaseRequest, seconds: float
    ) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await self._forward(request)

    @staticmethod
    def _drop_connection(request: web.BaseRequest) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return (
            web.Response()
        )  # which cannot be sent, as the connection is closed

    async def _forward(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if request.query.get("watch") in {"1", "true", "True"}:
                return await self._send_stream(request)
            return await self._send_buffered(request)
        except aiohttp.ClientError:
            return self._drop_connection(request)

    def _request(self, request: web.BaseRequest, body: bytes | None) -> Any:
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name.lower() not in HOP_BY_HOP_HEADERS
        ]
        return self._session.request(
            request.method,
            yarl.URL(self._upstream + request.path_qs, encoded=True),
            headers=headers,
            data=body,
            skip_auto_headers=("Content-Type", "Accept", "User-Agent"),
        )

    async def _send_buffered(
        self, request: web.BaseRequest
    ) -> web.StreamResponse:
        body = await request.read() if request.body_exists else None
        async with self._request(request, body) as response:
            return web.Response(
                status=response.status,
                headers=_forwarded_headers(response),
                body=await response.read(),
            )

    async def _send_stream(
        self, request: web.BaseRequest
    ) -> web.StreamResponse:
        async with self._request(request, None) as response:
            stream = web.StreamResponse(
                status=response.status, headers=_forwarded_headers(response)
            )
            await stream.prepare(request)
            async for data in response.content.iter_any():
                await stream.write(data)
            return stream


def _sender_pid(request: web.BaseRequest) -> int | None:
    """Return the process that a request names, if its connection was closed
    before it was accepted: the client timed out or was killed.
    """
    match = USER_AGENT_RE.search(request.headers.get("User-Agent", ""))
    return int(match[1]) if match else None


def _forwarded_headers(
    response: aiohttp.ClientResponse,
) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, value in response.headers.items()
        if name.lower() not in HOP_BY_HOP_HEADERS
    ]


async def serve(upstream_url: str, folder: Path) -> None:
    """Serve until SIGTERM."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    proxy = FaultProxy(upstream_url, folder / "writes.jsonl")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "proxy.pem")
    server = await loop.create_server(
        proxy.server,
        "127.0.0.1",
        0,
        ssl=tls,
        backlog=512,
    )
    faults = asyncio.StreamReader()
    await loop.connect_read_pipe(
        functools.partial(asyncio.StreamReaderProtocol, faults), sys.stdin
    )
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"Listening at: https://127.0.0.1:{port}\n")
    sys.stdout.flush()
    end = asyncio.create_task(ended.wait())
    while not ended.is_set():
        read = asyncio.create_task(faults.readline())
        await asyncio.wait({read, end}, return_when=asyncio.FIRST_COMPLETED)
        if read.done():
            if not read.result():
                return  # the storm has ended
            proxy.set_fault(read.result())


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
