"""The call of a WSGI application (PEP 3333) for a request of an event loop."""

import contextlib
import http
import itertools
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import unquote_to_bytes, urlsplit

from tacker_cnf import errors
from tacker_cnf.sol import base
from tacker_cnf.sol.problem import ProblemDetails

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
#: a request as ASGI describes it
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

PROBLEM: Final = "application/problem+json"

#: key of the environ with a function to which the application may pass a Wait,
#: if the server can wait; the server then ignores the response, and calls the
#: application again after the wait, without this key
WAIT: Final = "tacker_cnf.wait"


#: key of the environ with a function to which the application may pass a
#: Stream, if the server can send one; the body of the response is then ignored
STREAM: Final = "tacker_cnf.stream"


class Stream(Protocol):
    """A response whose body is sent as it comes, without a thread."""

    def next(self) -> Future[bytes | None]:
        """Return a future with the next bytes; None: there are no more."""

    def close(self) -> None:
        """Release what the stream uses; next() is not called any more."""


class Wait(NamedTuple):
    """What a response has to wait for, without a thread."""

    #: done at the event; the server cancels it if nothing waits any more
    event: Future[None]
    #: the longest time to wait
    seconds: float


class Response(NamedTuple):
    """A response whose first bytes are known."""

    status: int
    headers: list[tuple[bytes, bytes]]
    first: bytes
    #: what follows; None: nothing
    rest: Iterator[bytes] | None = None
    #: also cancels the wait, and closes the stream
    close: Callable[[], None] = lambda: None
    #: None: it can be sent now
    wait: Wait | None = None
    #: sent after the first bytes
    stream: Stream | None = None


def environ_of(scope: Scope) -> Environ:
    """Build the environ of a request, without its body."""
    server = scope["server"] or ("", "")
    client = scope["client"] or ("", "")
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": _path(scope["raw_path"]),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }
    for name, value in scope["headers"]:
        key = name.decode("latin-1").upper().replace("-", "_")
        if key not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
            key = f"HTTP_{key}"
        text = value.decode("latin-1")
        environ[key] = f"{environ[key]},{text}" if key in environ else text
    return environ


def _path(target: bytes) -> str:
    if not target.startswith(b"/"):  # with scheme and host
        target = urlsplit(target).path
    return unquote_to_bytes(target).decode("latin-1")


def call(app: Wsgi, environ: Environ, *, may_wait: bool = False) -> Response:
    """Call an application until it has the first bytes of its response.

    It has to read the body of the request before it returns.

    :param may_wait: whether it may return a response that has to wait
    """
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []
    waits: list[Wait] = []
    streams: list[Stream] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], _: Any = None
    ) -> Callable[[bytes], None]:
        started[:] = [(status, headers)]
        return written.append

    def release() -> None:
        for wait in waits:
            wait.event.cancel()
        for stream in streams:
            stream.close()

    if may_wait:
        # a copy: the application changes it, and may be called again
        environ = {**environ, WAIT: waits.append}
    environ[STREAM] = streams.append
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(release)
        with contextlib.closing(environ["wsgi.input"]):
            body = app(environ, start_response)
        cleanup.callback(getattr(body, "close", lambda: None))
        if streams:
            first, rest = b"", None
        elif isinstance(body, (list, tuple)):
            first, rest = b"".join((*written, *body)), None
        else:
            rest = filter(None, itertools.chain(written, body))
            first = next(rest, b"")
        ((status, headers),) = started
        return Response(
            int(status[:3]),
            _encode(headers),
            first,
            rest,
            cleanup.pop_all().close,
            waits[0] if waits else None,
            streams[0] if streams else None,
        )


def problem_response(error: errors.VnfmError) -> Response:
    """Return the response to a request that did not reach the application."""
    body = base.encode(errors.problem_details(error))
    headers = [
        ("Content-Type", PROBLEM),
        ("Content-Length", str(len(body))),
        *error.headers,
    ]
    return Response(error.status, _encode(headers), body)


def problem_of(status: int, detail: str) -> bytes:
    """Return the problem+json of an error of the HTTP protocol."""
    title = http.HTTPStatus(status).phrase
    return base.encode(
        ProblemDetails(status=status, title=title, detail=detail)
    )


def _encode(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers]
