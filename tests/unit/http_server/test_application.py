"""The end of responses whose client has closed the connection."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import testtools

from tacker_cnf.http_server.application import Application, Routes
from tacker_cnf.http_server.limits import Limits
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
            routes = Routes(
                is_upload=lambda *_: False, is_probe=lambda _: False
            )
            application = Application(app, LIMITS, routes)
            task = asyncio.create_task(
                application(Connection(), SCOPE, receive, send)
            )
            while not chunks.events:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
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
