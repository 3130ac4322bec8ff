"""The base of all SOL data types."""

import contextlib
import datetime as dt
from typing import Annotated, Any, TypeVar, dataclass_transform

import msgspec

#: a display name, stored in a column
Name = Annotated[str, msgspec.Meta(max_length=255)]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
#: the id of a project of Keystone
ProjectId = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
DateTime = Annotated[dt.datetime, msgspec.Meta(tz=True)]
KeyValuePairs = dict[str, Any]
T = TypeVar("T")


class _KeywordOnly(msgspec.StructMeta):
    """Inherits kw_only, as msgspec does with all other settings."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        body: dict[str, Any],
        **config: Any,
    ) -> Any:
        config.setdefault("kw_only", True)
        return super().__new__(cls, name, bases, body, **config)


@dataclass_transform(
    frozen_default=True,
    kw_only_default=True,
    field_specifiers=(msgspec.field,),
)
class SolType(
    msgspec.Struct,
    metaclass=_KeywordOnly,
    frozen=True,
    omit_defaults=True,
    rename="camel",
):
    """Base of the ETSI types: schema, value and JSON in one class.

    An optional attribute that is absent has its default value; a default
    value is left out of the JSON. Unknown attributes are ignored (SOL013
    4.3.4).
    """


def precompile_types() -> None:
    """Have msgspec compile all types that are defined so far.

    Call it after all imports and before several threads decode values:
    msgspec (0.22) compiles a type when it decodes the first value of it, and
    two threads that do so concurrently crash the process.
    """
    kinds: list[type] = [msgspec.Struct]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        with contextlib.suppress(TypeError):  # it is never decoded
            msgspec.json.Decoder(kind)


def encode(value: Any) -> bytes:
    """Return the JSON of a SOL value, in UTF-8."""
    return msgspec.json.encode(value)


def decode(data: bytes | str, kind: type[T]) -> T:
    """Parse the JSON of a SOL type.

    :raises msgspec.ValidationError: an attribute is invalid; the message ends
        in its JSON path
    :raises msgspec.DecodeError: the data is not JSON
    """
    return msgspec.json.decode(data, type=kind)


def utc_seconds(moment: dt.datetime) -> dt.datetime:
    """Convert a time to UTC and whole seconds, as the API reports it.

    :raises ValueError: the time has no time zone
    """
    if moment.tzinfo is None:
        raise ValueError("the time has no time zone")
    return moment.astimezone(dt.UTC).replace(microsecond=0)
