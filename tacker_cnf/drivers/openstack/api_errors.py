"""Converts error responses of OpenStack services."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers import vim_messages

T = TypeVar("T")


class NotFound(errors.VimRejected):
    """The stack or its resource does not exist."""


class Conflict(errors.VimRejected):
    """The stack exists already, or another action on it is in progress."""


_BY_STATUS: Final[Mapping[int, type[errors.InfraError]]] = {
    404: NotFound,
    409: Conflict,
    429: errors.VimUnavailable,
    500: errors.VimUnavailable,
    502: errors.VimUnavailable,
    503: errors.VimUnavailable,
    504: errors.VimUnavailable,
}


def heat_error(status: int, body: Any) -> errors.InfraError:
    """Convert an error response of Heat; only its message is quoted."""
    kind = _BY_STATUS.get(status, errors.VimRejected)
    return kind(f"Heat answered {status}: {_message(status, body)}")


def keystone_error(status: int, message: str) -> errors.InfraError:
    """Convert an error response of Keystone, or of another service to which
    keystoneauth sent the request.

    :param message: that of its error structure
    """
    reason = vim_messages.quote(message)
    if status == 401:
        return errors.VimRejected(
            f"Keystone rejected the credentials of the VIM (401): {reason}"
        )
    return _kind(status)(f"Keystone answered {status}: {reason}")


def service_error(name: str, status: int, body: bytes) -> errors.InfraError:
    """Convert an error response of Glance or Nova; only its message is
    quoted.
    """
    kind = Conflict if status == 409 else _kind(status)
    return kind(f"{name} answered {status}: {_message(status, body)}")


def _kind(status: int) -> type[errors.InfraError]:
    if status == 429 or status >= 500:
        return errors.VimUnavailable
    return errors.VimRejected


def _message(status: int, body: Any) -> str:
    """Return the message of an error structure, or the name of the status if
    the body has another structure, as that of a proxy.
    """
    try:
        decoded = msgspec.json.decode(body or b"", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        decoded = {}
    return vim_messages.quote(
        _find_message(decoded) or vim_messages.phrase(status)
    )


def _find_message(decoded: Mapping[str, Any]) -> str | None:
    """Return the message of a structure such as Heat's ``error``, or Nova's
    ``badRequest``.
    """
    first = next(iter(decoded.values()), None)
    error = first if len(decoded) == 1 else decoded.get("error")
    if not isinstance(error, dict):
        return None
    message, explanation = error.get("message"), decoded.get("explanation")
    if message is None and explanation is not None:
        message = f"{explanation} ({error.get('type')})"
    return message if isinstance(message, str) else None


def decode_response(body: bytes, kind: type[T], service: str, name: str) -> T:
    """Decode a response.

    :param service: service type in the catalogue
    :param name: name of the project, such as Nova
    :raises VimRejected: the body does not have this type
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.VimRejected(
            f"The {service} endpoint in the service catalogue is not a {name} "
            f"API: {error}."
        ) from None
