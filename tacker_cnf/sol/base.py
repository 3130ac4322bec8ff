"""What every SOL data type is made of."""

from typing import Annotated, Any, TypeVar

import msgspec

Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
KeyValuePairs = dict[str, Any]
T = TypeVar("T")


class SolType(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
):
    """Base of the ETSI types: schema, value and JSON in one class.

    Absent equals empty: an optional attribute that was not given has its
    default and is left out of the JSON. Attributes that a type does not know
    are ignored (SOL013 4.3.4).
    """


def encode(value: Any) -> bytes:
    """Give the JSON of a SOL value, as UTF-8."""
    return msgspec.json.encode(value)


def decode(data: bytes | str, kind: type[T]) -> T:
    """Read JSON into a SOL type.

    :raises msgspec.ValidationError: an attribute is wrong; the message ends
        in its JSON path
    :raises msgspec.DecodeError: this is not JSON
    """
    return msgspec.json.decode(data, type=kind)
