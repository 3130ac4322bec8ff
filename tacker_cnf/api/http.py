"""HTTP between pecan and the handlers: decode, encode, and every error."""

import functools
import http
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, Final

import msgspec
import pecan
import webob
from oslo_log import log
from webob import acceptparse

from tacker_cnf import errors
from tacker_cnf.context import RequestContext
from tacker_cnf.sol import base
from tacker_cnf.sol.problem import ProblemDetails

LOG = log.getLogger(__name__)

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
PROBLEM: Final = "application/problem+json"
ZIP: Final = "application/zip"
TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"

#: what this service puts into the WSGI environ
CONTEXT: Final = "tacker_cnf.context"
ENFORCER: Final = "tacker_cnf.enforcer"
GIVEN: Final = "tacker_cnf.given"
LENGTH: Final = "tacker_cnf.length"
SETTINGS: Final = "tacker_cnf.settings"


def endpoint(
    status: int,
    *,
    accepts: Sequence[str] = (JSON, TEXT),
    gives: Sequence[str] = (JSON,),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a method a handler: its ``body`` is the decoded request, what it
    returns the JSON of the answer.

    A handler that returns a pecan response has filled it itself.

    :param accepts: media types of the request body (415)
    :param gives: media types of the answer (406)
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        # resolved: the modules of handlers do not postpone annotations
        body = inspect.signature(method).parameters.get("body")

        @pecan.expose(content_type=JSON)  # type: ignore[untyped-decorator]
        @functools.wraps(method)
        def handle(self: Any, *segments: str) -> Any:
            check_accept(gives)
            given = {}
            if body is not None:
                check_content_type(accepts)
                given["body"] = _decoded(body.annotation)
            return _answer(status, method(self, *segments, **given))

        # pecan reads the signature of what it calls
        del handle.__wrapped__
        return handle  # type: ignore[no-any-return]

    return decorate


def _answer(status: int, result: Any) -> Any:
    response = pecan.response
    if result is response:
        return response
    response.status = status
    if result is None:
        response.body = b""
        del response.content_type
    else:
        response.body = base.encode(result)
        response.content_type = JSON
        response.charset = None
    return response


def check_accept(offers: Sequence[str]) -> str:
    """Choose the media type of the answer.

    :raises NotAcceptable: the request accepts none of these
    """
    header = _given().environ.get("HTTP_ACCEPT") or "*/*"
    # all that is answered as text is UTF-8, which nobody has to ask for
    header = re.sub(r";\s*charset=[^;,]*", "", header, flags=re.IGNORECASE)
    try:
        accepted = acceptparse.create_accept_header(header)
        best = accepted.acceptable_offers(offers)
    except ValueError:
        raise errors.BadRequest(f"Accept: {header!r} is not valid.") from None
    if not best:
        raise errors.NotAcceptable(
            f"Accept: this resource answers {' or '.join(offers)}, "
            f"the request accepts {header}."
        )
    return str(best[0][0])


def check_content_type(accepts: Sequence[str]) -> None:
    """Make sure that the body is of a type this resource reads.

    :raises UnsupportedMediaType: it is not
    """
    kind = _given().content_type
    if kind and kind.lower() not in accepts:
        raise errors.UnsupportedMediaType(
            f"Content-Type: this resource reads {' or '.join(accepts)}, "
            f"not {kind}."
        )


def _decoded(kind: Any) -> Any:
    body = _body(settings().max_body_bytes)
    if not body:
        raise errors.BadRequest("The body is empty; JSON is needed.")
    if _NUL.search(body):
        raise errors.BadRequest("The body has a NUL character in it.")
    try:
        return base.decode(body, kind)
    except msgspec.ValidationError as error:
        raise errors.BadRequest(f"{error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.BadRequest(f"The body is not JSON: {error}.") from None
    except RecursionError:
        raise errors.BadRequest("The body is nested too deeply.") from None


def _given() -> webob.BaseRequest:
    """Give the request as it came, with its body unread."""
    return webob.BaseRequest(pecan.request.environ[GIVEN])


def _body(limit: int) -> bytes:
    given = _given()
    length = given.content_length
    if length is not None and length > limit:
        raise errors.PayloadTooLarge(
            f"The body has {length} bytes; {limit} are accepted."
        )
    body: bytes = given.environ["wsgi.input"].read(
        limit + 1 if length is None else length
    )
    if len(body) > limit:
        raise errors.PayloadTooLarge(f"At most {limit} bytes are accepted.")
    return body


def upload() -> tuple[BinaryIO, int | None]:
    """Give the stream of an upload, and the bytes announced."""
    given = _given()
    return given.environ["wsgi.input"], given.content_length


def settings() -> Any:
    """Give the [api] options."""
    return pecan.request.environ[SETTINGS]


def authorized(rule: str) -> RequestContext:
    """Make sure that the caller may do this, and tell who it is.

    :raises Forbidden: it may not
    """
    environ = pecan.request.environ
    context: RequestContext = environ[CONTEXT]
    if not environ[ENFORCER].enforce(rule, {}, context):
        raise errors.Forbidden(f"Policy {rule} does not allow this.")
    return context


def base_url() -> str:
    """Tell how the caller reaches this API."""
    return str(settings().endpoint or pecan.request.host_url).rstrip("/")


def set_location(path: str) -> None:
    """Tell where what was made can be read."""
    pecan.response.headers["Location"] = base_url() + path


#: a NUL in JSON text; a backslash before it may itself be escaped
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(-impl:.+)?")


def check_version(major: int) -> None:
    """Check the Version header (SOL013 9.1 and 9.2).

    :raises BadRequest: it is missing or malformed
    :raises NotAcceptable: this API does not speak that version
    """
    given = pecan.request.headers.get("Version")
    if given is None:
        raise errors.BadRequest("Version: the header is required.")
    match = _VERSION.fullmatch(given)
    if match is None:
        raise errors.BadRequest(
            f"Version: {given!r} is not of the form x.y.z."
        )
    if match.group(1, 2, 3) != (str(major), "0", "0"):
        raise errors.NotAcceptable(
            f"Version: {given} is not supported, only {major}.0.0."
        )


def problem(error: Exception, request_id: str) -> tuple[int, bytes]:
    """Tell an error: its status and its problem+json (SOL013 6.3)."""
    details = errors.problem_of(error)
    if details.status == 500:  # the inside of a bug stays inside
        LOG.error("Request %s failed", request_id, exc_info=error)
        details = ProblemDetails(
            status=details.status,
            title=http.HTTPStatus(details.status).phrase,
            detail=f"The server failed; its log says why under {request_id}.",
        )
    return details.status, base.encode(details)
