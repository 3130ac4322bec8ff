"""What OpenStack's services answer when they do not do what they were asked."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.retry_policy import Unreachable

T = TypeVar("T")


class NotFound(errors.VimRejected):
    """The stack, or what was asked of it, does not exist."""


class Conflict(errors.VimRejected):
    """The name is taken, or something else is done to the stack now."""


_BY_STATUS: Final[Mapping[int, type[errors.InfraError]]] = {
    404: NotFound,
    409: Conflict,
    429: Unreachable,
    500: Unreachable,
    502: Unreachable,
    503: Unreachable,
    504: Unreachable,
}


def heat_error(status: int, body: Any) -> errors.InfraError:
    """Tell an answer of Heat as an error of ours, by its message alone."""
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
        text = body.decode(errors="replace") if body else "no reason"
        return " ".join(text.split())[:500]


def keystone_error(status: int, reason: str) -> errors.InfraError:
    """Tell an answer of Keystone as an error of ours."""
    if status == 401:
        return errors.VimRejected(
            f"Keystone refused the credentials of the VIM (401): {reason}"
        )
    kind = (
        Unreachable if status == 429 or status >= 500 else errors.VimRejected
    )
    return kind(f"Keystone answered {status}: {reason}")


def service_error(name: str, status: int, reason: str) -> errors.InfraError:
    """Tell an answer of Glance or Nova as an error of ours."""
    kind = (
        Unreachable if status == 429 or status >= 500 else errors.VimRejected
    )
    text = " ".join(reason.split())[:500] or "no reason"
    return kind(f"{name} answered {status}: {text}")


def decode_response(body: bytes, kind: type[T], service: str, name: str) -> T:
    """Read an answer.

    :param service: what the catalogue has it for, and what it is by name
    :raises VimRejected: it is no such answer
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.VimRejected(
            f"What the catalogue names as {service} service is no {name}: "
            f"{error}."
        ) from None
