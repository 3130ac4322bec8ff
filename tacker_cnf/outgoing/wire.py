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
LONGEST: Final = 65536
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-5]\d\d)(?: |\r|\Z)")
_PORTS: Final = {"http": 80, "https": 443}
_BODILESS: Final = frozenset({204, 304})


class Answer(msgspec.Struct, frozen=True):
    """What was answered; the body is nobody's business."""

    status: int
    #: names in lower case
    headers: Mapping[str, str]
    may_keep: bool


class Closed(Exception):
    """The other side has let go of a connection."""


class Connection:
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

    async def converse(self, request: bytes, patience: float) -> Answer:
        """Ask, and read the answer.

        :param patience: seconds the other side may be silent

        :raises Closed: it has closed the connection
        :raises httpx.HTTPError: it does not answer as HTTP has it
        """
        try:
            async with asyncio.timeout(patience):
                self._writer.write(request)
                answer = await self._read()
                if answer.may_keep and answer.status not in _BODILESS:
                    length = int(answer.headers["content-length"])
                    await self._reader.readexactly(length)
        except TimeoutError:
            raise httpx.ReadTimeout("no answer in time") from None
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise _wrong("the answer ended early") from None
            raise Closed from None
        except ConnectionError:
            raise Closed from None
        except OSError as error:
            raise httpx.ReadError(str(error)) from None
        return answer

    async def _read(self) -> Answer:
        while True:
            try:
                head = await self._reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                raise _wrong("the headers are too long") from None
            answer = read_head(head)
            if answer.status >= 200:  # those before are on their way
                return answer


def _wrong(what: str) -> httpx.RemoteProtocolError:
    return httpx.RemoteProtocolError(what)


def read_head(head: bytes) -> Answer:
    """Read the status and the headers of an answer (IETF RFC 9112).

    :raises httpx.RemoteProtocolError: they are none
    """
    first, *lines = head[:-4].split(b"\r\n")
    found = _STATUS.match(first)
    if found is None:
        raise _wrong("that is no status line")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise _wrong("that is no header")
        headers[name.decode("latin-1").lower()] = value.strip().decode(
            "latin-1"
        )
    status = int(found[2])
    return Answer(
        status,
        headers,
        may_keep=found[1] == b"1" and _may_keep(status, headers),
    )


def _may_keep(status: int, headers: Mapping[str, str]) -> bool:
    """Tell whether another request may follow on the same connection."""
    if "close" in headers.get("connection", "").lower():
        return False
    if status in _BODILESS:
        return True
    length = headers.get("content-length", "")
    return (
        "transfer-encoding" not in headers
        and length.isascii()
        and length.isdigit()
        and len(length) < 9
        and int(length) <= LONGEST
    )


class Wire:
    """Calls one address, over as many connections as there are calls at once.

    :param tls: gives whom we trust and who we are, where TLS is spoken
    :param headers: what each request says
    :param find: gives the addresses of a host
    """

    def __init__(
        self,
        uri: str,
        tls: Callable[[], ssl.SSLContext],
        headers: Mapping[str, str],
        connect_timeout: float,
        timeout: float,
        find: Callable[[str, int], Awaitable[Sequence[str]]],
    ) -> None:
        parts = parse.urlsplit(uri)
        self._host = parts.hostname or ""
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = tls() if parts.scheme == "https" else None
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._find = find
        path = parts.path or "/"
        self._target = f"{path}?{parts.query}" if parts.query else path
        lines = {"Host": parts.netloc, **headers}
        self._lines = _lines(lines)
        self._kept: list[Connection] = []

    async def call(
        self, method: str, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        """Make one request.

        :raises httpx.HTTPError: there is no answer, or it is not HTTP
        """
        head = (
            f"{method} {self._target} HTTP/1.1\r\n{self._lines}"
            f"{_lines(headers)}Content-Length: {len(body)}\r\n\r\n"
        )
        request = head.encode("latin-1") + body
        while self._kept:
            connection = self._kept.pop()
            if connection.is_open:
                with contextlib.suppress(Closed):  # it was idle for too long
                    return await self._use(connection, request)
        try:
            return await self._use(await self._connect(), request)
        except Closed:
            raise httpx.ReadError("it closed the connection") from None

    async def _use(self, connection: Connection, request: bytes) -> Answer:
        may_keep = False
        try:
            answer = await connection.converse(request, self._timeout)
            may_keep = answer.may_keep
        finally:
            if may_keep:
                self._kept.append(connection)
            else:
                connection.close()
        return answer

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(self._connect_timeout):
                found = await self._find(self._host, self._port)
                return await self._reach(found)
        except TimeoutError:
            raise httpx.ConnectTimeout("no connection in time") from None
        except (OSError, UnicodeError, OverflowError) as error:
            raise httpx.ConnectError(str(error)) from None

    async def _reach(self, addresses: Sequence[str]) -> Connection:
        """Connect to the first that lets us.

        :raises OSError: none does
        """
        problem = OSError("it has no address")
        for address in addresses:
            try:
                reader, writer = await asyncio.open_connection(
                    address,
                    self._port,
                    ssl=self._tls,
                    server_hostname=self._host if self._tls else None,
                )
                return Connection(reader, writer)
            except OSError as error:
                problem = error
        raise problem

    def close(self) -> None:
        """Let go of the connections."""
        for connection in self._kept:
            connection.close()
        self._kept.clear()


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {headers[name]}\r\n" for name in headers)
