"""The end of responses whose client has closed the connection, and of waits."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, Final

import testtools

from tacker_cnf.http_server.application import Application, Routes
from tacker_cnf.http_server.limits import Limits
from tacker_cnf.http_server.wsgi import WAIT, Wait
from tests.fixtures import waiting

LIMITS: Final = Limits(
    header_timeout=60.0,
    body_timeout=60.0,
    min_transfer_rate=1,
    max_body_bytes=1,
    max_connections=1,
    threads=1,
    uploads=1,
)
ROUTES: Final = Routes(is_upload=lambda *_: False, is_probe=lambda _: False)
SCOPE: Final[dict[str, Any]] = {
    "type": "http",
    "method": "GET",
    "raw_path": b"/",
    "query_string": b"",
    "server": None,
    "client": None,
    "http_version": "1.1",
    "scheme": "http",
    "headers": [],
}


class Connection:
    """A connection that is never closed by the server."""

    hold = staticmethod(contextlib.nullcontext)

    def close(self) -> None:
        """Do nothing."""

    def abort(self) -> None:
        """Do nothing."""


class Chunks:
    """The second chunk waits until the test lets it continue."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.may_continue = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield b"first"
        self.events.append("reads")
        self.may_continue.wait(60.0)
        self.events.append("has read")
        yield b"second"

    def close(self) -> None:
        """Record the call."""
        self.events.append("closed")


async def receive() -> dict[str, Any]:
    return {"type": "http.request"}


async def send(_: dict[str, Any]) -> None:
    """Accept all events."""


class TestClosedConnection(testtools.TestCase):
    def test_the_thread_that_reads_the_response_ends_before(self) -> None:
        chunks = Chunks()

        def app(_: Any, start_response: Callable[..., Any]) -> Chunks:
            start_response("200 OK", [])
            return chunks

        async def run() -> None:
            application = Application(app, LIMITS, ROUTES)
            task = asyncio.create_task(
                application(Connection(), SCOPE, receive, send)
            )
            await until(lambda: bool(chunks.events))
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(run())
        self.assertEqual(["reads"], chunks.events)
        chunks.may_continue.set()
        waiting.until(
            lambda: chunks.events == ["reads", "has read", "closed"],
            "the end of the response",
        )


class TestWait(testtools.TestCase):
    """A WSGI application whose first response has to wait."""

    def setUp(self) -> None:
        super().setUp()
        self.event = Future[None]()
        self.calls: list[str] = []
        self.begun, self.may_wait = threading.Event(), threading.Event()
        self.may_wait.set()
        self.error: Exception | None = None
        self.application = Application(self.app, LIMITS, ROUTES)

    def app(
        self, environ: Any, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        start_response("200 OK", [])
        if WAIT not in environ:
            self.calls.append("responds")
            return [b""]
        self.begun.set()
        self.may_wait.wait(60.0)
        environ[WAIT](Wait(self.event, 60.0))
        self.calls.append("waits")
        if self.error:
            raise self.error
        return [b""]

    def start(self) -> asyncio.Task[None]:
        return asyncio.create_task(
            self.application(Connection(), SCOPE, receive, send)
        )

    def test_the_application_is_called_again_after_the_event(self) -> None:
        async def run() -> None:
            task = self.start()
            await until(lambda: bool(self.calls))
            self.assertFalse(task.done())
            self.event.set_result(None)
            await task

        asyncio.run(run())
        self.assertEqual(["waits", "responds"], self.calls)

    def test_the_end_of_the_server_ends_this_and_later_waits(self) -> None:
        async def run() -> None:
            task = self.start()
            await until(lambda: bool(self.calls))
            self.application.end_waits()
            await task
            self.assertTrue(self.event.cancelled())
            self.event = Future[None]()
            await self.start()

        asyncio.run(run())
        self.assertTrue(self.event.cancelled())
        self.assertEqual(["waits", "responds"] * 2, self.calls)

    def test_a_closed_connection_cancels_a_wait_that_begins(self) -> None:
        self.may_wait.clear()

        async def run() -> None:
            task = self.start()
            await until(self.begun.is_set)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(run())
        self.may_wait.set()
        waiting.until(self.event.cancelled, "the end of the wait")
        self.assertEqual(["waits"], self.calls)

    def test_an_error_cancels_the_wait(self) -> None:
        self.error = ValueError()

        async def run() -> None:
            await self.start()

        self.assertRaises(ValueError, asyncio.run, run())
        self.assertTrue(self.event.cancelled())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
