"""A WSGI application as one of an event loop (ASGI)."""

import asyncio
import contextlib
import dataclasses
import io
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Protocol

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.http_server import access_log, wsgi
from tacker_cnf.http_server.bodies import Body
from tacker_cnf.http_server.limits import PIECE_BYTES, Limits, Pace
from tacker_cnf.http_server.wsgi import (
    Environ,
    Receive,
    Response,
    Scope,
    Send,
    Stream,
    Wait,
    Wsgi,
)

LOG = log.getLogger(__name__)

#: seconds after which a stream without an event sends a comment, so that
#: neither a proxy nor the client takes its connection for dead
KEEPALIVE_S: Final = 15.0
#: a comment of a stream of events (WHATWG HTML, 9.2.6)
KEEPALIVE: Final = b": keep-alive\n\n"
#: seconds after which a refused upload may be tried again
RETRY_AFTER_S: Final = 30


class Client(Protocol):
    """The connection of a request."""

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Keep the connection while this server works for it."""

    def close(self) -> None:
        """Close the connection after what was sent."""

    def abort(self) -> None:
        """Close the connection at once."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Routes:
    """Requests that do not use the common threads."""

    #: method, path -> whether the body is a large file
    is_upload: Callable[[str, str], bool]
    #: path -> whether it has to answer while all threads are in use, those of
    #: other such paths too; there are few
    is_probe: Callable[[str], bool]


class Application:
    """Runs a WSGI application in threads.

    A request gets a thread after its body has arrived, and returns it before
    the client has read the response. A response that has to wait for an event
    uses none meanwhile. An upload is the exception: the application checks the
    client before it reads the body, in a thread of its own.
    """

    def __init__(self, app: Wsgi, limits: Limits, routes: Routes) -> None:
        self._app = app
        self._limits = limits
        self._routes = routes
        self._requests = ThreadPoolExecutor(limits.threads, "request")
        self._uploads = ThreadPoolExecutor(limits.uploads, "upload")
        self._probes: dict[str, ThreadPoolExecutor] = defaultdict(
            lambda: ThreadPoolExecutor(1, "probe")
        )
        self._upload_slots = asyncio.Semaphore(limits.uploads)
        self._waits: set[asyncio.Future[Any]] = set()
        self._is_stopping = False

    def end_waits(self) -> None:
        """End all waits, and any later one at once: the server stops."""
        self._is_stopping = True
        for event in self._waits:
            event.cancel()

    async def __call__(
        self, client: Client, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Process a request (ASGI, with its connection)."""
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        started = time.perf_counter()
        environ = wsgi.environ_of(scope)
        body = Body(environ, receive, self._limits)
        try:
            response = await self._respond(client, environ, body)
        except errors.VnfmError as error:
            response = wsgi.problem_response(error)
            method, path = scope["method"], environ["PATH_INFO"]
            access_log.write(
                method, path, response.status, started, environ["REMOTE_ADDR"]
            )
        try:
            await self._send(client, scope["method"], response, body, send)
        except TimeoutError:
            LOG.info("Response aborted, client too slow: client=%s", client)
            client.abort()
            return
        if not body.is_complete:
            await body.discard()
            client.close()

    async def _respond(
        self, client: Client, environ: Environ, body: Body
    ) -> Response:
        """Return the response of the application.

        :raises RequestTimeout: the client is too slow
        :raises PayloadTooLarge: the body is too large
        :raises Unavailable: there are too many uploads
        """
        path = environ["PATH_INFO"]
        if self._routes.is_upload(environ["REQUEST_METHOD"], path):
            return await self._upload(client, environ, body)
        environ["wsgi.input"] = await body.buffer()
        pool = self._requests
        if self._routes.is_probe(path):
            pool = self._probes[path.rstrip("/")]
        with client.hold():
            response = await _result(
                pool.submit(wsgi.call, self._app, environ, may_wait=True)
            )
            if response.wait is None:
                return response
            with contextlib.closing(response):
                await self._wait(response.wait)
            environ["wsgi.input"] = io.BytesIO()  # the other one was read
            return await _result(pool.submit(wsgi.call, self._app, environ))

    async def _wait(self, wait: Wait) -> None:
        """Wait for an event, for some time, or until the server stops."""
        if self._is_stopping:
            return
        event = asyncio.wrap_future(wait.event)
        self._waits.add(event)
        try:
            await asyncio.wait([event], timeout=wait.seconds)
        finally:
            self._waits.discard(event)

    async def _upload(
        self, client: Client, environ: Environ, body: Body
    ) -> Response:
        try:
            async with asyncio.timeout(self._limits.body_timeout):
                await self._upload_slots.acquire()
        except TimeoutError:
            raise errors.Unavailable(
                f"{self._limits.uploads} other uploads are being received; "
                "try again later."
            ).with_headers([("Retry-After", str(RETRY_AFTER_S))]) from None
        environ["wsgi.input"] = body.stream()
        future = self._uploads.submit(wsgi.call, self._app, environ)
        release = self._upload_slots.release
        loop = asyncio.get_running_loop()
        # the thread goes on for a moment if the client closes the connection
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(release))
        with client.hold():
            return await _result(future)

    async def _send(
        self,
        client: Client,
        method: str,
        response: Response,
        body: Body,
        send: Send,
    ) -> None:
        """Send a response.

        :raises TimeoutError: the client is too slow
        """
        headers = response.headers
        if not body.is_complete:
            headers = [*headers, (b"connection", b"close")]
        start = {"status": response.status, "headers": headers}
        pace = Pace(self._limits)
        chunk: bytes | None = response.first
        rest = response.rest
        if method == "HEAD":
            chunk, rest = b"", None
        with contextlib.ExitStack() as at_end:
            at_end.callback(response.close)
            await send({"type": "http.response.start", **start})
            if response.stream:
                with client.hold():
                    async for chunk in self._chunks(response.stream):
                        await _transmit(send, pace, chunk, is_last=False)
                chunk = b""
            while chunk is not None:
                following = None
                if rest:
                    following = await self._next(client, rest, at_end)
                await _transmit(send, pace, chunk, is_last=not following)
                chunk = following

    async def _chunks(self, stream: Stream) -> AsyncIterator[bytes]:
        """Return what a stream sends, until its end, or until the server
        stops.
        """
        while not self._is_stopping:
            event = asyncio.wrap_future(stream.next())
            self._waits.add(event)
            try:
                while not event.done():
                    await asyncio.wait([event], timeout=KEEPALIVE_S)
                    if not event.done():
                        yield KEEPALIVE
            finally:
                self._waits.discard(event)
            chunk = None if event.cancelled() else event.result()
            if chunk is None:
                return
            yield chunk

    async def _next(
        self,
        client: Client,
        chunks: Iterator[bytes],
        at_end: contextlib.ExitStack,
    ) -> bytes | None:
        """Return the next chunk of a response; None: there is none.

        :param at_end: closes the response; if the client closes the connection
            meanwhile, the thread has to end before
        """
        future = self._requests.submit(next, chunks, None)
        try:
            with client.hold():
                return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            close = at_end.pop_all().close
            future.add_done_callback(lambda _: close())
            raise


async def _result(future: Future[Response]) -> Response:
    """Wait for a thread, which goes on if the client closes the
    connection.
    """
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        future.add_done_callback(_close)
        raise


def _close(future: Future[Response]) -> None:
    if not future.cancelled() and not future.exception():
        future.result().close()


async def _transmit(
    send: Send, pace: Pace, chunk: bytes, *, is_last: bool
) -> None:
    """Send a part of a body, piece by piece.

    :raises TimeoutError: the client is too slow
    """
    for position in range(0, max(len(chunk), 1), PIECE_BYTES):
        piece = chunk[position : position + PIECE_BYTES]
        end = position + PIECE_BYTES >= len(chunk)
        event = {"body": piece, "more_body": not (is_last and end)}
        await pace.wait(send({"type": "http.response.body", **event}))
        pace.add(len(piece))
