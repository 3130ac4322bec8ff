"""What every SOL data type is made of."""

import contextlib
import datetime as dt
from typing import Annotated, Any, TypeVar, dataclass_transform

import msgspec

#: what people call a thing; a column holds it
Name = Annotated[str, msgspec.Meta(max_length=255)]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
DateTime = Annotated[dt.datetime, msgspec.Meta(tz=True)]
KeyValuePairs = dict[str, Any]
T = TypeVar("T")


class _KeywordOnly(msgspec.StructMeta):
    """Hands kw_only down: msgspec inherits every setting but this one."""

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

    Absent equals empty: an optional attribute that was not given has its
    default and is left out of the JSON. Attributes that a type does not know
    are ignored (SOL013 4.3.4).
    """


def precompile_types() -> None:
    """Have msgspec look at every type that there is by now.

    To be called when modules have been imported and before values are read
    in several threads: msgspec (0.22) looks at a type when the first value
    of it is read, and two threads that do so at once crash the process.
    """
    kinds: list[type] = [msgspec.Struct]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        with contextlib.suppress(TypeError):  # it is never read
            msgspec.json.Decoder(kind)


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


def utc_seconds(moment: dt.datetime) -> dt.datetime:
    """Give a moment as it is told: in UTC, in whole seconds.

    :raises ValueError: the moment has no time zone
    """
    if moment.tzinfo is None:
        raise ValueError("a time needs its time zone")
    return moment.astimezone(dt.UTC).replace(microsecond=0)
