"""Converts error responses of OpenStack services."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf import errors

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
    return kind(f"Heat answered {status}: {_message(body)}")


def _message(body: Any) -> str:
    try:
        decoded = msgspec.json.decode(body or b"")
        error = decoded["error"]
        if "message" not in error:
            return f"{decoded['explanation']} ({error['type']})"
        return str(error["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        text = body.decode(errors="replace") if body else "no reason given"
        return " ".join(text.split())[:500]


def keystone_error(status: int, reason: str) -> errors.InfraError:
    """Convert an error response of Keystone."""
    if status == 401:
        return errors.VimRejected(
            f"Keystone rejected the credentials of the VIM (401): {reason}"
        )
    kind = (
        errors.VimUnavailable
        if status == 429 or status >= 500
        else errors.VimRejected
    )
    return kind(f"Keystone answered {status}: {reason}")


def service_error(name: str, status: int, reason: str) -> errors.InfraError:
    """Convert an error response of Glance or Nova."""
    other = errors.VimUnavailable if status >= 500 else errors.VimRejected
    kind = _BY_STATUS.get(status, other)
    text = " ".join(reason.split())[:500] or "no reason given"
    return kind(f"{name} answered {status}: {text}")


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
