"""What a cluster answers when it does not do what it was asked."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors

Object = dict[str, Any]


class AlreadyExists(errors.VimRefused):
    """The object exists."""


class Gone(errors.VimRefused):
    """The object, or its kind or namespace, does not exist."""


class Forbidden(errors.VimRefused):
    """The caller may not do this."""


class Expired(errors.VimRefused):
    """The cluster no longer remembers this resourceVersion."""


class Busy(errors.VimUnreachable):
    """The cluster has no time for this now."""


class Dropped(errors.VimUnreachable):
    """The connection was closed in the middle of a request."""


_BY_STATUS: Final[Mapping[int, type[errors.InfraError]]] = {
    403: Forbidden,
    404: Gone,
    409: AlreadyExists,
    410: Expired,
    429: Busy,
    500: errors.VimUnreachable,
    503: Busy,
    504: errors.VimUnreachable,
}


def of_status(status: int, body: Any, reason: Any) -> errors.InfraError:
    """Tell a Kubernetes Status as an error of ours, by its message alone."""
    try:
        told = msgspec.json.decode(body or b"")
        message = told.get("message") or reason
    except (msgspec.DecodeError, AttributeError):
        message = reason
    kind = _BY_STATUS.get(status, errors.VimRefused)
    return kind(f"The cluster answered {status}: {message}")


def of_watch(status: Object) -> errors.InfraError:
    kind = _BY_STATUS.get(status.get("code", 0), errors.VimRefused)
    return kind(str(status.get("message")))
