"""What Keystone and Heat answer when they do not do what they were asked."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.endurance import Away


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
