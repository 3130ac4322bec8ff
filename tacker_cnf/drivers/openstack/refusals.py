"""What OpenStack's services answer when they do not do what they were asked."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.endurance import Away

T = TypeVar("T")


class Gone(errors.VimRefused):
    """The stack, or what was asked of it, does not exist."""


class Taken(errors.VimRefused):
    """The name is taken, or something else is done to the stack now."""


_BY_STATUS: Final[Mapping[int, type[errors.InfraError]]] = {
    404: Gone,
    409: Taken,
    429: Away,
    500: Away,
    502: Away,
    503: Away,
    504: Away,
}


def of_heat(status: int, body: Any) -> errors.InfraError:
    """Tell an answer of Heat as an error of ours, by its message alone."""
    kind = _BY_STATUS.get(status, errors.VimRefused)
    return kind(f"Heat answered {status}: {_message(body)}")


def _message(body: Any) -> str:
    try:
        told = msgspec.json.decode(body or b"")
        error = told["error"]
        if "message" not in error:
            return f"{told['explanation']} ({error['type']})"
        return str(error["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        text = body.decode(errors="replace") if body else "no reason"
        return " ".join(text.split())[:500]


def of_keystone(status: int, reason: str) -> errors.InfraError:
    """Tell an answer of Keystone as an error of ours."""
    if status == 401:
        return errors.VimRefused(
            f"Keystone refused the credentials of the VIM (401): {reason}"
        )
    kind = Away if status == 429 or status >= 500 else errors.VimRefused
    return kind(f"Keystone answered {status}: {reason}")


def of_service(name: str, status: int, reason: str) -> errors.InfraError:
    """Tell an answer of Glance or Nova as an error of ours."""
    kind = Away if status == 429 or status >= 500 else errors.VimRefused
    text = " ".join(reason.split())[:500] or "no reason"
    return kind(f"{name} answered {status}: {text}")


def read(body: bytes, kind: type[T], service: str, name: str) -> T:
    """Read an answer.

    :param service: what the catalogue has it for, and what it is by name
    :raises VimRefused: it is no such answer
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.VimRefused(
            f"What the catalogue names as {service} service is no {name}: "
            f"{error}."
        ) from None
