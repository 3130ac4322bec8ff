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
from tacker_cnf.api import enums
from tacker_cnf.api.parameters import Parameter
from tacker_cnf.context import RequestContext
from tacker_cnf.sol import base, strict
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
CONTENT: Final = "tacker_cnf.content"
LENGTH: Final = "tacker_cnf.length"
SETTINGS: Final = "tacker_cnf.settings"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be known of a handler beside its code."""

    status: int
    #: media types of the request body; none: it has no body
    accepts: tuple[str, ...]
    #: media types of the answer; none: it has no body
    gives: tuple[str, ...]
    #: what the body is decoded into; None: the handler reads its stream
    body: Any
    #: what the JSON of the answer is made of; None: it has no JSON
    answers: Any
    #: what else a success may be; of 300 and above without a body
    also: tuple[int, ...]
    #: what the request may carry beside its body
    takes: tuple[Parameter, ...]
    #: what the answer carries beside its body
    tells: tuple[Parameter, ...]
    #: the errors that not every handler has
    refuses: tuple[type[errors.VnfmError], ...]


def endpoint(  # noqa: PLR0913
    status: int,
    *,
    rule: str | None = None,
    accepts: Sequence[str] = (),
    gives: Sequence[str] = (),
    answers: Any = None,
    also: Sequence[int] = (),
    takes: Sequence[Parameter] = (),
    tells: Sequence[Parameter] = (),
    refuses: Sequence[type[errors.VnfmError]] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a method a handler: its ``body`` is the decoded request, what it
    returns the JSON of the answer.

    A handler that returns a pecan response has filled it itself.

    :param rule: the policy that has to allow it (403), before anything of
        the request is read; None: everybody may
    :param accepts: media types of the request body (415); of a ``body``
        JSON by default
    :param gives: media types of the answer (406); JSON by default, and none
        where the method returns None: without a body, any Accept will do
    :param answers: the type of the answer, where the annotation of the
        method says less
    :param also: other statuses of a success; 300 and above have no body
    :param takes: parameters of the request, beside those of every request
    :param tells: headers of the answer, beside those of every answer
    :param refuses: errors of this handler, beside those of every handler
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        # resolved: the modules of handlers do not postpone annotations
        signature = inspect.signature(method)
        body = signature.parameters.get("body")
        reads = tuple(accepts) or ((JSON, TEXT) if body else ())
        returned = signature.return_annotation
        offers = tuple(gives) or (() if returned is None else (JSON,))

        @pecan.expose(content_type=JSON)  # type: ignore[untyped-decorator]
        @functools.wraps(method)
        def handle(self: Any, *segments: str) -> Any:
            if rule:
                _authorize(rule)
            if offers:
                check_accept(offers)
            given = {}
            if reads:
                check_content_type(reads)
            if body is not None:
                given["body"] = _decoded(body.annotation)
            return _answer(status, method(self, *segments, **given))

        # pecan reads the signature of what it calls
        del handle.__wrapped__
        handle.endpoint = Endpoint(
            status=status,
            accepts=reads,
            gives=offers,
            body=body and body.annotation,
            answers=answers or (None if returned is Any else returned),
            also=tuple(also),
            takes=tuple(takes),
            tells=tuple(tells),
            refuses=tuple(refuses),
        )
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
    pecan.request.environ[CONTENT] = body
    if not body:
        raise errors.BadRequest("The body is empty; JSON is needed.")
    if _NUL.search(body):
        raise errors.BadRequest("The body has a NUL character in it.")
    try:
        return strict.decode(body, kind)
    except strict.UnknownName as error:
        raise errors.BadRequest(str(error)) from None
    except msgspec.ValidationError as error:
        advice = enums.advice(kind, str(error))
        raise errors.BadRequest(f"{error}{advice}.") from None
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


def bare(status: int) -> Any:
    """Answer by a status alone, and the headers that are set."""
    response = pecan.response
    response.status = status
    response.body = b""
    del response.content_type
    return response


def settings() -> Any:
    """Give the [api] options."""
    return pecan.request.environ[SETTINGS]


def caller() -> RequestContext:
    """Tell who makes the request."""
    context: RequestContext = pecan.request.environ[CONTEXT]
    return context


def _authorize(rule: str) -> None:
    """Make sure that the caller may do this.

    :raises Forbidden: it may not
    """
    enforcer = pecan.request.environ[ENFORCER]
    if not enforcer.enforce(rule, {}, caller()):
        raise errors.Forbidden(f"Policy {rule} does not allow this.")


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
