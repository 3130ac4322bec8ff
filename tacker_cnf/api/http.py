"""HTTP between pecan and the handlers: decode requests, encode responses and
errors.
"""

import contextlib
import functools
import http
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec
import pecan
import webob
from oslo_log import log
from webob import acceptparse

from tacker_cnf import errors
from tacker_cnf.api import arrays, enums, openapi_parameters, policies
from tacker_cnf.api.openapi_parameters import Parameter
from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.http_server.wsgi import STREAM, WAIT, Stream, Wait
from tacker_cnf.sol import base, strict
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.problem import ProblemDetails

LOG = log.getLogger(__name__)

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
PROBLEM: Final = "application/problem+json"
ZIP: Final = "application/zip"
TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"

#: keys that this service sets in the WSGI environ
CONTEXT: Final = "tacker_cnf.context"
ENFORCER: Final = "tacker_cnf.enforcer"
API: Final = "tacker_cnf.api"
ROUTE: Final = "tacker_cnf.route"
#: set if the request changes nothing
IS_DRY_RUN: Final = "tacker_cnf.is_dry_run"
#: set if the response is not sent, since the request is handled again
IS_WAITING: Final = "tacker_cnf.is_waiting"
REQUEST_ID: Final = "openstack.request_id"
ORIGINAL_ENVIRON: Final = "tacker_cnf.given"
REQUEST_BODY: Final = "tacker_cnf.content"
CONTENT_LENGTH: Final = "tacker_cnf.length"
SETTINGS: Final = "tacker_cnf.settings"


class Preview(NamedTuple):
    """What a handler returns for a dry run, with status 200: as JSON, or as
    text for people.
    """

    type: type
    render: Callable[[Any], str]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of a handler."""

    status: int
    #: media types of the request body; empty: it has no body
    accepts: tuple[str, ...]
    #: media types of the response; empty: it has no body
    produces: tuple[str, ...]
    #: type that the body is decoded into; None: the handler reads the stream
    body: Any
    #: type of the JSON in the response; None: no JSON
    response: Any
    #: further statuses of a success; 300 and above have no body
    other_statuses: tuple[int, ...]
    #: type of the response to a dry run; None: there is none
    preview: type | None
    #: query parameters and headers of the request
    parameters: tuple[Parameter, ...]
    #: headers of the response
    response_headers: tuple[Parameter, ...]
    #: errors beyond those that all handlers have in common
    error_types: tuple[type[errors.VnfmError], ...]


def endpoint(  # noqa: PLR0913
    status: int,
    *,
    rule: str | None = None,
    accepts: Sequence[str] = (),
    produces: Sequence[str] = (),
    body: type | None = None,
    response: Any = None,
    other_statuses: Sequence[int] = (),
    preview: Preview | None = None,
    parameters: Sequence[Parameter] = (),
    response_headers: Sequence[Parameter] = (),
    error_types: Sequence[type[errors.VnfmError]] = (),
    render: Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a method as a handler: its argument ``body`` is the decoded
    request body, its return value is encoded as the JSON of the response.

    A handler that returns a pecan response has filled it itself.

    :param rule: the task whose policy is checked (403), before the request is
        read and again for the resource; None: any client is allowed
    :param accepts: media types of the request body (415); default: JSON if
        the method has a ``body``
    :param produces: media types of the response (406); default: JSON, and
        none if the method returns None: without a body, any Accept matches
    :param body: the type of the request body, where the annotation of the
        method is less specific
    :param response: the type of the response, where the annotation of the
        method is less specific
    :param other_statuses: other statuses of a success; 300 and above have no body
    :param preview: what the handler returns instead of None if
        ``is_dry_run()``; it then changes nothing
    :param parameters: parameters of the request, in addition to the common ones
    :param response_headers: headers of the response, in addition to the common ones
    :param error_types: errors of this handler, in addition to the common ones
    :param render: renders the response as text for people, if the client
        accepts that rather than JSON
    """
    rule_name = policies.rule_of(rule) if rule else None

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        # resolved: the modules of handlers do not postpone annotations
        signature = inspect.signature(method)
        parameter = signature.parameters.get("body")
        body_type = body or (parameter and parameter.annotation)
        media_types = tuple(accepts) or ((JSON, TEXT) if body_type else ())
        returned = signature.return_annotation
        if preview:
            returned = None
        offers = tuple(produces) or _default_offers(returned, render)

        @pecan.expose(content_type=JSON)  # type: ignore[untyped-decorator]
        @functools.wraps(method)
        def handle(self: Any, *segments: str) -> Any:
            if rule_name:
                _authorize(rule_name)
            media_type = _negotiate(offers, preview)
            arguments = {}
            if media_types:
                check_content_type(media_types)
            if body_type is not None:
                arguments["body"] = _decode_body(body_type)
            result = method(self, *segments, **arguments)
            if preview and result is not None:
                return _build_response(200, result, media_type, preview.render)
            return _build_response(status, result, media_type, render)

        # pecan reads the signature of what it calls
        del handle.__wrapped__
        handle.endpoint = Endpoint(
            status=status,
            accepts=media_types,
            produces=offers,
            body=body_type,
            response=response or (None if returned is Any else returned),
            other_statuses=tuple(other_statuses),
            preview=preview and preview.type,
            parameters=(
                *parameters,
                *((openapi_parameters.DRY_RUN,) if preview else ()),
            ),
            response_headers=tuple(response_headers),
            error_types=tuple(error_types),
        )
        return handle  # type: ignore[no-any-return]

    return decorate


def _default_offers(
    returned: Any, render: Callable[[Any], str] | None
) -> tuple[str, ...]:
    if returned is None:
        return ()
    return (JSON, TEXT) if render else (JSON,)


def _build_response(
    status: int,
    result: Any,
    media_type: str | None,
    render: Callable[[Any], str] | None,
) -> Any:
    response = pecan.response
    if result is response:
        return response
    response.status = status
    if result is None:
        response.body = b""
        del response.content_type
    elif render and media_type == TEXT:
        response.body = render(result).encode()
        response.content_type = TEXT
        response.charset = "utf-8"
    else:
        response.body = base.encode(result)
        response.content_type = JSON
        response.charset = None
    return response


def _negotiate(offers: Sequence[str], preview: Preview | None) -> str | None:
    """Return the media type of the response; None: it has no body.

    :raises NotAcceptable: the request accepts none
    :raises BadRequest: the Accept header or the query is malformed, or the
        query asks for a dry run and there is none
    """
    if not preview:
        _reject_dry_run()
    elif is_dry_run():
        offers = (JSON, TEXT)
    return check_accept(offers) if offers else None


def is_dry_run() -> bool:
    """Return whether the query has dry_run=true.

    :raises BadRequest: the query has another value or parameter; with a
        mistyped one, the operation would run
    """
    for name, value in pecan.request.GET.items():
        if name != openapi_parameters.DRY_RUN.name:
            raise errors.BadRequest(
                f"Query: parameter {name} is unknown; this resource has only "
                f"{openapi_parameters.DRY_RUN.name}."
            )
        if value not in openapi_parameters.DRY_RUN.schema["enum"]:
            raise errors.BadRequest(
                f"dry_run: {value!r} is not valid; use true or false."
            )
    values = pecan.request.GET.getall(openapi_parameters.DRY_RUN.name)
    if len(values) > 1:
        raise errors.BadRequest("dry_run: it is repeated; give it once.")
    if "true" not in values:
        return False
    pecan.request.environ[IS_DRY_RUN] = True
    return True


def _reject_dry_run() -> None:
    """Check that a request without a dry run asks for none, not even with
    another spelling: it would be carried out.

    :raises BadRequest: it is a change, and its query asks for a dry run
    """
    if pecan.request.method in {"GET", "HEAD"}:
        return
    wanted = _letters(openapi_parameters.DRY_RUN.name)
    for name in pecan.request.GET:
        if _letters(name) == wanted:
            raise errors.BadRequest(
                f"Query: {name}: this request has no dry run, and nothing "
                "was changed. Send it without the parameter to carry it out."
            )


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def check_accept(offers: Sequence[str]) -> str:
    """Return the media type of the response.

    :raises BadRequest: the Accept header is malformed
    :raises NotAcceptable: the request accepts none of the offers
    """
    header = _original_request().environ.get("HTTP_ACCEPT") or "*/*"
    # all text responses are UTF-8, whether or not the client asks for it
    header = re.sub(r";\s*charset=[^;,]*", "", header, flags=re.IGNORECASE)
    try:
        accepted = acceptparse.create_accept_header(header)
        best = accepted.acceptable_offers(offers)
    except ValueError:
        raise errors.BadRequest(f"Accept: {header!r} is not valid.") from None
    if not best:
        raise errors.NotAcceptable(
            f"Accept: this resource produces {' or '.join(offers)}; "
            f"the request accepts {header}."
        )
    return str(best[0][0])


def check_content_type(accepts: Sequence[str]) -> None:
    """Check the media type of the request body.

    :raises UnsupportedMediaType: the resource does not accept the type
    """
    kind = _original_request().content_type
    if settings().auth_strategy == "noauth":  # any web page can send text
        accepts = [accepted for accepted in accepts if accepted != TEXT]
    if kind and kind.lower() not in accepts:
        raise errors.UnsupportedMediaType(
            f"Content-Type: this resource accepts {' or '.join(accepts)}, "
            f"not {kind}."
        )


def _decode_body(kind: Any) -> Any:
    body = read_body(settings().max_body_bytes)
    pecan.request.environ[REQUEST_BODY] = body
    if not body:
        raise errors.BadRequest("The body is empty; JSON is required.")
    if _NUL.search(body):
        raise errors.BadRequest("The body contains a NUL character.")
    try:
        return strict.decode(body, kind)
    except strict.UnknownName as error:
        raise errors.BadRequest(str(error)) from None
    except msgspec.ValidationError as error:
        message = str(error)
        hint = enums.allowed_values(kind, message) or arrays.required_array(
            body, message
        )
        raise errors.BadRequest(f"{message}{hint}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.BadRequest(f"The body is not JSON: {error}.") from None
    except RecursionError:
        raise errors.BadRequest("The body is nested too deeply.") from None


def _original_request() -> webob.BaseRequest:
    """Return the request as the server received it, with its body unread."""
    return webob.BaseRequest(pecan.request.environ[ORIGINAL_ENVIRON])


def read_body(limit: int) -> bytes:
    """Return the body of the request.

    :raises PayloadTooLarge: it has more bytes than the limit
    """
    request = _original_request()
    length = request.content_length
    if length is not None and length > limit:
        raise errors.PayloadTooLarge(
            f"The body has {length} bytes; at most {limit} are accepted."
        )
    body: bytes = request.environ["wsgi.input"].read(
        limit + 1 if length is None else length
    )
    if len(body) > limit:
        raise errors.PayloadTooLarge(
            f"The body has more than {limit} bytes; at most {limit} are "
            "accepted."
        )
    return body


def upload() -> tuple[BinaryIO, int | None]:
    """Return the stream of an upload, and its Content-Length in bytes."""
    request = _original_request()
    return request.environ["wsgi.input"], request.content_length


def empty_response(status: int) -> Any:
    """Return a response without a body; headers that are set stay."""
    response = pecan.response
    response.status = status
    response.body = b""
    if status == 304:  # it would be that of the resource (RFC 9110 8.6)
        del response.content_length
    del response.content_type
    return response


def can_wait() -> bool:
    """Return whether the server can wait for an event before it sends the
    response: the server of this service can, once for a request.
    """
    return WAIT in pecan.request.environ


def wait(event: Future[None], seconds: float) -> Any:
    """Return a response that is not sent: the server handles the request again
    at an event, or after some seconds.
    """
    environ = pecan.request.environ
    environ[WAIT](Wait(event, seconds))
    environ[IS_WAITING] = True
    return empty_response(200)


def stream(source: Stream, media_type: str) -> Any:
    """Return a response whose body is sent as it comes: by the server of this
    service without a thread, by another one with the thread of the request.
    """
    response = pecan.response
    response.content_type = media_type
    response.charset = None
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"  # nginx
    if STREAM in pecan.request.environ:
        pecan.request.environ[STREAM](source)
        response.app_iter = (comment for comment in (_COMMENT,))
    else:
        response.app_iter = _chunks(source)
    return response


#: pecan reads the first bytes to see whether there are any
_COMMENT: Final = b":\n\n"


def _chunks(source: Stream) -> Iterator[bytes]:
    with contextlib.closing(source):
        yield _COMMENT
        while (chunk := source.next().result()) is not None:
            yield chunk


def settings() -> Any:
    """Return the options of [api]."""
    return pecan.request.environ[SETTINGS]


def caller() -> RequestContext:
    """Return the context of the client that sent the request."""
    context: RequestContext = pecan.request.environ[CONTEXT]
    return context


def _authorize(rule: str) -> None:
    """Check a policy: now for a resource of the project and the user of the
    client, and later for the resources that the request reads.

    :raises Forbidden: the policy does not allow the client this request
    """
    client = caller()
    own = client.owner
    is_allowed = _policy_check(rule)

    def check(owner: Owner) -> None:
        if not is_allowed(owner):
            raise errors.Forbidden(
                f"Policy {rule} does not allow this request."
            )

    check(own)
    before = client.authorize

    def authorize(owner: Owner) -> None:
        if before is not None:
            before(owner)
        if owner != own:
            check(owner)

    client.authorize = authorize


def _policy_check(rule: str) -> Callable[[Owner], bool]:
    """Return whether a policy allows the client a task, by the owner of the
    resource.
    """
    enforcer: policies.Enforcer = pecan.request.environ[ENFORCER]
    client = caller()
    own = client.owner

    def is_allowed(owner: Owner) -> bool:
        is_foreign = owner.project_id != own.project_id
        target = {
            "project_id": owner.project_id,
            "user_id": owner.user_id,
            "is_shared": is_foreign and not client.all_projects,
        }
        return enforcer.allows(rule, target, client)

    return is_allowed


def policy_check(task: str) -> Callable[[Owner], bool]:
    """Return whether the policy of a task allows the client what the request
    contains besides its own task, by the owner of the resource.
    """
    return _policy_check(policies.rule_of(task))


def authorize_also(task: str) -> None:
    """Check the policy of a second task that a request contains.

    :raises Forbidden: the policy does not allow the client this request
    """
    _authorize(policies.rule_of(task))


def base_url() -> str:
    """Return the URL under which the client reaches this API."""
    return str(settings().endpoint or pecan.request.host_url).rstrip("/")


def set_location(path: str) -> None:
    """Set the Location header to the URL of a resource."""
    pecan.response.headers["Location"] = base_url() + path


#: a NUL in JSON text; a backslash before it may itself be escaped
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_VERSION: Final = re.compile(r"(\d+\.\d+\.\d+)(-impl:.+)?")
_VERSION_1: Final = re.compile(r"1\.\d+\.\d+(-impl:.+)?")


def served_api() -> Api:
    """Return the API that the path of the request belongs to."""
    api: Api = pecan.request.environ[API]
    return api


def check_version(served: Api) -> None:
    """Check the Version header (SOL013 9.1 and 9.2).

    :raises BadRequest: the header is missing or malformed
    :raises NotAcceptable: this API does not support the version
    """
    if served is Api.PACKAGES_V1:
        return  # clients send none, or that of the lifecycle API
    version = pecan.request.headers.get("Version")
    if served is Api.LCM_V1:
        # the openstack command sends none to cancel an operation
        if version is not None and not _VERSION_1.fullmatch(version):
            raise errors.NotAcceptable(
                f"Version: {version} is not supported here, only 1.x.y."
            )
        return
    if version is None:
        raise errors.BadRequest("Version: the header is required.")
    match = _VERSION.fullmatch(version)
    if match is None:
        raise errors.BadRequest(
            f"Version: {version!r} is not of the form x.y.z."
        )
    if match[1] != served.number:
        raise errors.NotAcceptable(
            f"Version: {version} is not supported, only {served.number}."
        )


def problem(error: Exception, request_id: str) -> tuple[int, bytes]:
    """Return the status and the problem+json of an error (SOL013 6.3)."""
    details = problem_details(error, request_id)
    return details.status, base.encode(details)


def problem_details(error: Exception, request_id: str) -> ProblemDetails:
    """Return what a response shows of an error; a bug is logged."""
    details = errors.problem_details(error)
    if details.status == 500:  # details of a bug are logged, not sent
        LOG.error("Request failed: request_id=%s", request_id, exc_info=error)
        details = ProblemDetails(
            status=details.status,
            title=http.HTTPStatus(details.status).phrase,
            detail="The server failed; the cause is in its log under "
            f"{request_id}.",
        )
    return details
