"""Errors that the API server returns."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers import vim_messages
from tacker_cnf.drivers.kubernetes.objects import Object


class Conflict(errors.VimRejected):
    """The object exists already, or has changed since it was read."""


class NotFound(errors.VimRejected):
    """The object, or its kind or namespace, does not exist."""


class Forbidden(errors.VimRejected):
    """The credentials, or a policy of the cluster, do not allow this."""


class Invalid(errors.VimRejected):
    """The object is not valid for its kind."""


class DisruptionNotAllowed(errors.VimRejected):
    """A PodDisruptionBudget does not allow an eviction now."""


class Expired(errors.VimRejected):
    """The API server no longer has the changes since this resourceVersion."""


class TooManyRequests(errors.VimUnavailable):
    """The API server is overloaded or unavailable."""


class ConnectionDropped(errors.VimUnavailable):
    """The connection was closed during a request."""


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct, frozen=True):
    causes: tuple[_Cause, ...] = ()


class _Eviction(msgspec.Struct, frozen=True):
    details: _Details = _Details()


#: message of an API server if the caller is not authorized
_UNAUTHORIZED: Final = re.compile('User ".*" cannot ')

#: message of an API server if a server-side apply has an unknown field
_NOT_IN_SCHEMA: Final = "failed to create typed patch object"

#: how an API server quotes an invalid object, which may be a Secret
_OBJECT: Final = re.compile(
    r"(?:Invalid|Duplicate|Unsupported) value: "
    r'(?="(?:[{[]|map\[)|[^\s"]*[{[])'
)
_QUOTED_OR_BRACKET: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"?|[][{}()]', re.DOTALL
)

_BY_STATUS: Final[Mapping[int, type[errors.InfraError]]] = {
    400: Invalid,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
    500: errors.VimUnavailable,
    502: errors.VimUnavailable,
    503: TooManyRequests,
    504: errors.VimUnavailable,
}


def error_from_status(status: int, body: Any) -> errors.InfraError:
    """Convert a Kubernetes Status to an error. Objects that its message quotes
    are left out, and the whole body of other servers.
    """
    kind = _BY_STATUS.get(status, errors.VimRejected)
    decoded = _decode_status(body)
    message = _message(decoded)
    if not message:
        return kind(
            f"The cluster answered {status}: {vim_messages.phrase(status)}"
        )
    if _NOT_IN_SCHEMA in message:
        kind = Invalid  # its status is 500, as of a broken cluster
    if kind is Forbidden:
        return kind(f"{_forbidden_reason(message)} (403): {message}")
    return _eviction_error(decoded) or kind(
        f"The cluster answered {status}: {message}"
    )


def _decode_status(body: Any) -> Object:
    """Decode a Status; a body that is none is empty."""
    try:
        decoded = msgspec.json.decode(body or b"")
    except (msgspec.DecodeError, RecursionError):
        return {}
    is_status = isinstance(decoded, dict) and decoded.get("kind") == "Status"
    return decoded if is_status else {}


def _message(status: Object) -> str:
    message = status.get("message")
    if not isinstance(message, str):
        return ""
    return vim_messages.quote(_without_objects(message))


def _without_objects(message: str) -> str:
    parts: list[str] = []
    at = 0
    while found := _OBJECT.search(message, at):
        parts.append(message[at : found.start()])
        at = _end_of_value(message, found.end())
        at += len(": ") if message.startswith(": ", at) else 0
    return "".join(parts) + message[at:]


def _end_of_value(message: str, start: int) -> int:
    """Return where a quoted text or an object in brackets ends."""
    depth = 0
    for token in _QUOTED_OR_BRACKET.finditer(message, start):
        if token[0] in "[{(":
            depth += 1
        elif token[0] in "]})":
            depth -= 1
        if depth <= 0:
            return token.end()
    return len(message)


def _forbidden_reason(message: str) -> str:
    """Return the reason of a 403: missing rights of the credentials, or a
    refusal by a quota, a pod security level or an admission webhook.
    """
    if _UNAUTHORIZED.search(message):
        return "The credentials of the VIM do not suffice"
    return "The cluster refused"


def _eviction_error(decoded: Object) -> errors.VimRejected | None:
    """Return the error of an eviction that budgets do not allow, if this is
    one; its status is 429 or 500, as of a busy or broken cluster.
    """
    message = _message(decoded)
    try:
        causes = msgspec.convert(decoded, _Eviction).details.causes
    except msgspec.ValidationError:
        causes = ()
    for cause in causes:
        if cause.reason == "DisruptionBudget":
            return DisruptionNotAllowed(vim_messages.quote(cause.message))
    if "more than one PodDisruptionBudget" in message:
        return errors.VimRejected(message)
    return None


def error_from_watch(status: Object) -> errors.InfraError:
    kind = _BY_STATUS.get(status.get("code", 0), errors.VimRejected)
    return kind(_message(status) or "The cluster ended the watch.")
