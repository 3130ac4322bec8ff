"""Requests to one address whose answers are short: a notification each.

httpx needs 25 times the processor time of what this does for the same
request, which counts where each change of a VNF is told to many: it would be
taken from the operations. So the requests that are many go this way, straight
over asyncio's streams, and those that are few, as for a token, by httpx.
"""

import asyncio
import contextlib
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from urllib import parse

import httpx
import msgspec

#: what is read of an answer's body so that its connection can be kept
MAX_RESPONSE_BYTES: Final = 65536
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-5]\d\d)(?: |\r|\Z)")
_PORTS: Final = {"http": 80, "https": 443}
_BODILESS_STATUSES: Final = frozenset({204, 304})


class HttpResponse(msgspec.Struct, frozen=True):
    """What was answered; the body is nobody's business."""

    status: int
    #: names in lower case
    headers: Mapping[str, str]
    keep_alive: bool


class ConnectionClosed(Exception):
    """The other side has let go of a connection."""


class HttpConnection:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_open(self) -> bool:
        return not (self._reader.at_eof() or self._writer.is_closing())

    def close(self) -> None:
        self._writer.close()

    async def exchange(
        self, request: bytes, read_timeout: float
    ) -> HttpResponse:
        """Ask, and read the answer.

        :param patience: seconds the other side may be silent

        :raises ConnectionClosed: it has closed the connection
        :raises httpx.HTTPError: it does not answer as HTTP has it
        """
        try:
            async with asyncio.timeout(read_timeout):
                self._writer.write(request)
                response = await self._read()
                if (
                    response.keep_alive
                    and response.status not in _BODILESS_STATUSES
                ):
                    length = int(response.headers["content-length"])
                    await self._reader.readexactly(length)
        except TimeoutError:
            raise httpx.ReadTimeout("no answer in time") from None
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise _protocol_error("the answer ended early") from None
            raise ConnectionClosed from None
        except ConnectionError:
            raise ConnectionClosed from None
        except OSError as error:
            raise httpx.ReadError(str(error)) from None
        return response

    async def _read(self) -> HttpResponse:
        while True:
            try:
                head = await self._reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                raise _protocol_error("the headers are too long") from None
            response = read_head(head)
            if response.status >= 200:  # those before are on their way
                return response


def _protocol_error(what: str) -> httpx.RemoteProtocolError:
    return httpx.RemoteProtocolError(what)


def read_head(head: bytes) -> HttpResponse:
    """Read the status and the headers of an answer (IETF RFC 9112).

    :raises httpx.RemoteProtocolError: they are none
    """
    first, *lines = head[:-4].split(b"\r\n")
    found = _STATUS.match(first)
    if found is None:
        raise _protocol_error("that is no status line")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise _protocol_error("that is no header")
        headers[name.decode("latin-1").lower()] = value.strip().decode(
            "latin-1"
        )
    status = int(found[2])
    return HttpResponse(
        status,
        headers,
        keep_alive=found[1] == b"1" and _is_reusable(status, headers),
    )


def _is_reusable(status: int, headers: Mapping[str, str]) -> bool:
    """Tell whether another request may follow on the same connection."""
    if "close" in headers.get("connection", "").lower():
        return False
    if status in _BODILESS_STATUSES:
        return True
    length = headers.get("content-length", "")
    return (
        "transfer-encoding" not in headers
        and length.isascii()
        and length.isdigit()
        and len(length) < 9
        and int(length) <= MAX_RESPONSE_BYTES
    )


class ConnectionPool:
    """Calls one address, over as many connections as there are calls at once.

    :param ssl_context: gives whom we trust and who we are, where TLS is spoken
    :param headers: what each request says
    :param resolve: gives the addresses of a host
    """

    def __init__(
        self,
        uri: str,
        ssl_context: Callable[[], ssl.SSLContext],
        headers: Mapping[str, str],
        connect_timeout: float,
        timeout: float,
        resolve: Callable[[str, int], Awaitable[Sequence[str]]],
    ) -> None:
        parts = parse.urlsplit(uri)
        self._host = parts.hostname or ""
        self._port = parts.port or _PORTS[parts.scheme]
        self._ssl_context = ssl_context() if parts.scheme == "https" else None
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._resolve = resolve
        path = parts.path or "/"
        self._target = f"{path}?{parts.query}" if parts.query else path
        headers_to_send = {"Host": parts.netloc, **headers}
        self._header_lines = _header_lines(headers_to_send)
        self._idle: list[HttpConnection] = []

    async def send(
        self, method: str, body: bytes, headers: Mapping[str, str]
    ) -> HttpResponse:
        """Make one request.

        :raises httpx.HTTPError: there is no answer, or it is not HTTP
        """
        head = (
            f"{method} {self._target} HTTP/1.1\r\n{self._header_lines}"
            f"{_header_lines(headers)}Content-Length: {len(body)}\r\n\r\n"
        )
        request = head.encode("latin-1") + body
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                with contextlib.suppress(
                    ConnectionClosed
                ):  # it was idle for too long
                    return await self._send_over(connection, request)
        try:
            return await self._send_over(await self._connect(), request)
        except ConnectionClosed:
            raise httpx.ReadError("it closed the connection") from None

    async def _send_over(
        self, connection: HttpConnection, request: bytes
    ) -> HttpResponse:
        keep_alive = False
        try:
            response = await connection.exchange(request, self._timeout)
            keep_alive = response.keep_alive
        finally:
            if keep_alive:
                self._idle.append(connection)
            else:
                connection.close()
        return response

    async def _connect(self) -> HttpConnection:
        try:
            async with asyncio.timeout(self._connect_timeout):
                found = await self._resolve(self._host, self._port)
                return await self._open_connection(found)
        except TimeoutError:
            raise httpx.ConnectTimeout("no connection in time") from None
        except (OSError, UnicodeError, OverflowError) as error:
            raise httpx.ConnectError(str(error)) from None

    async def _open_connection(
        self, addresses: Sequence[str]
    ) -> HttpConnection:
        """Connect to the first that lets us.

        :raises OSError: none does
        """
        problem = OSError("it has no address")
        for address in addresses:
            try:
                reader, writer = await asyncio.open_connection(
                    address,
                    self._port,
                    ssl=self._ssl_context,
                    server_hostname=self._host if self._ssl_context else None,
                )
                return HttpConnection(reader, writer)
            except OSError as error:
                problem = error
        raise problem

    def close(self) -> None:
        """Let go of the connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()


def _header_lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {headers[name]}\r\n" for name in headers)
