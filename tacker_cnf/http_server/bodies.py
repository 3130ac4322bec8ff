"""The bodies of requests."""

import asyncio
import contextlib
import io
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO, Final, cast

from tacker_cnf import errors
from tacker_cnf.http_server.limits import Limits, Pace
from tacker_cnf.http_server.wsgi import Environ, Receive

#: bytes of a body that stay in memory
MEMORY_BYTES: Final = 65_536
#: bytes that a thread reads from an upload at a time
READ_BYTES: Final = 256 * 1024
#: seconds for which the rest of a refused body is ignored, so that its client
#: reads the response instead of a closed connection
DISCARD_TIMEOUT_S: Final = 2.0


class Body:
    """The body of a request, while it arrives.

    :param receive: returns the next event of the request (ASGI)
    """

    def __init__(
        self, environ: Environ, receive: Receive, limits: Limits
    ) -> None:
        self._length = int(environ.get("CONTENT_LENGTH") or 0)
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ
        self._receive = receive
        self._limits = limits
        self._pace = Pace(limits)
        #: whether all of it was received
        self.is_complete = not self._length and not is_chunked

    async def _next(self) -> bytes:
        """Return the next bytes; none at the end.

        :raises RequestTimeout: the client is too slow, or has closed the
            connection
        """
        while not self.is_complete:
            try:
                event = await self._pace.wait(self._receive())
            except TimeoutError:
                raise errors.RequestTimeout from None
            if event["type"] != "http.request":
                raise errors.RequestTimeout
            self.is_complete = not event.get("more_body")
            if event.get("body"):
                return cast("bytes", event["body"])
        return b""

    async def buffer(self) -> BinaryIO:
        """Receive all of it; what is large goes to a file.

        :raises PayloadTooLarge: it is too large
        :raises RequestTimeout: it did not arrive in time
        """
        if self.is_complete:
            return io.BytesIO()
        limit = self._limits.max_body_bytes
        if self._length > limit:
            raise errors.PayloadTooLarge(
                f"The body has {self._length} bytes; at most {limit} are "
                "accepted."
            )
        file = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115
        size = 0
        with contextlib.ExitStack() as cleanup:
            cleanup.enter_context(file)
            while chunk := await self._next():
                size += len(chunk)
                file.write(chunk)
                if size > limit:
                    raise errors.PayloadTooLarge(
                        f"The body has more than {limit} bytes; at most "
                        f"{limit} are accepted."
                    )
            cleanup.pop_all()
        file.seek(0)
        return cast("BinaryIO", file)

    def stream(self) -> BinaryIO:
        """Return it as a file for a thread, whose reads wait for the client
        and raise RequestTimeout if that is too slow.
        """
        loop = asyncio.get_running_loop()
        return cast(
            "BinaryIO",
            io.BufferedReader(_Upload(loop, self._next_of_upload), READ_BYTES),
        )

    async def _next_of_upload(self) -> bytes:
        chunk = await self._next()
        self._pace.add(len(chunk))
        return chunk

    async def discard(self) -> None:
        """Ignore what arrives, until the client has read the response."""
        try:
            async with asyncio.timeout(DISCARD_TIMEOUT_S):
                while await self._next():
                    pass
        except (TimeoutError, errors.RequestTimeout):
            return


class _Upload(io.RawIOBase):
    """An upload, as a thread reads it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        receive: Callable[[], Any],
    ) -> None:
        self._loop = loop
        self._receive = receive
        self._unread = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._unread:
            self._unread = asyncio.run_coroutine_threadsafe(
                self._receive(), self._loop
            ).result()
        size = min(len(buffer), len(self._unread))
        buffer[:size] = self._unread[:size]
        self._unread = self._unread[size:]
        return size
