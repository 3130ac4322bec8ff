"""The base of what the client reads of responses; it ignores all other
attributes.
"""

from typing import Any, TypeVar

import msgspec

from tacker_cnf.cli.failures import InvalidResponse

T = TypeVar("T")


class ApiType(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of these types."""


class Problem(ApiType, frozen=True, kw_only=True):
    """ProblemDetails (SOL013 6.3)."""

    detail: str = ""
    title: str = ""


def convert(value: Any, kind: type[T]) -> T:
    """Convert the JSON of a response.

    :raises InvalidResponse: it has another form
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidResponse(
            f"The response of the server is not valid: {error}."
        ) from None
