"""Requests with short responses to one URL: notifications to a subscriber.

httpx needs 25 times as much processor time for the same request, which
matters when each change of a VNF is sent to many subscribers. So
notifications are sent over asyncio's streams, and rare requests, such as
those for a token, by httpx.
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

#: most bytes of a body that are read in order to keep the connection
MAX_RESPONSE_BYTES: Final = 65536
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-5]\d\d)(?: |\r|\Z)")
_PORTS: Final = {"http": 80, "https": 443}
_BODILESS_STATUSES: Final = frozenset({204, 304})


class HttpResponse(msgspec.Struct, frozen=True):
    """A response without its body, which is read and discarded."""

    status: int
    #: names in lower case
    headers: Mapping[str, str]
    keep_alive: bool


class ConnectionClosed(Exception):
    """The peer has closed the connection."""


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
        """Send a request and read the response.

        :param read_timeout: seconds for the complete exchange

        :raises ConnectionClosed: the peer has closed the connection
        :raises httpx.HTTPError: the response is late or not valid HTTP
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
            raise httpx.ReadTimeout("no response in time") from None
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise _protocol_error("the response is incomplete") from None
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
            if response.status >= 200:  # 1xx: the final response follows
                return response


def _protocol_error(reason: str) -> httpx.RemoteProtocolError:
    return httpx.RemoteProtocolError(reason)


def read_head(head: bytes) -> HttpResponse:
    """Parse the status line and the headers of a response (IETF RFC 9112).

    :raises httpx.RemoteProtocolError: a line is malformed
    """
    first, *lines = head[:-4].split(b"\r\n")
    found = _STATUS.match(first)
    if found is None:
        raise _protocol_error("malformed status line")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise _protocol_error("malformed header")
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
    """Check whether the connection can be used for another request."""
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
    """Sends requests to one URL, each concurrent one over its own connection.

    :param ssl_context: returns the TLS context; called for https only
    :param headers: headers of all requests
    :param connect_timeout: seconds to open a connection
    :param timeout: seconds for a request and its response
    :param resolve: returns the addresses of a host and port
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
        """Send a request.

        :raises httpx.HTTPError: there is no response, or it is not valid HTTP
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
            raise httpx.ReadError("the peer closed the connection") from None

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
        """Connect to the first address that accepts the connection.

        :raises OSError: no address accepts it
        """
        problem = OSError("the host has no address")
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
        """Close the idle connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()


def _header_lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {headers[name]}\r\n" for name in headers)
