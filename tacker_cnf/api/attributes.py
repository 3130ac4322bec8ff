"""The attributes of a SOL type, as queries name them (SOL013 5.2.2, 5.3.2).

A path of names leads through structures, arrays and maps; a map has every
name, and a value of KeyValuePairs may have any type.
"""

import enum
import functools
import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import inspect

ARRAY_TYPES: Final = (
    inspect.VarTupleType,
    inspect.ListType,
    inspect.SetType,
    inspect.FrozenSetType,
)
_KINDS: Final[tuple[tuple[Any, str], ...]] = (
    ((inspect.IntType, inspect.FloatType), "number"),
    (inspect.BoolType, "boolean"),
    (inspect.DateTimeType, "date"),
    (inspect.AnyType, "any"),
)
_ESCAPES: Final = {"~0": "~", "~1": "/", "~a": ",", "~b": "@"}


class Kind(enum.StrEnum):
    """The kind of a simple attribute; an enumeration is a string here."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    #: known only from the value
    ANY = "any"


@functools.cache
def type_of(kind: type) -> inspect.Type:
    """Return msgspec's description of a SOL type."""
    return inspect.type_info(kind)


@functools.cache
def fields_of(kind: type) -> dict[str, inspect.Field]:
    """Return the attributes of a SOL type, by their names in JSON."""
    info = type_of(kind)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field for field in info.fields}


def unwrap(kind: inspect.Type) -> inspect.Type:
    """Return a type without its constraints and without None; a union of
    several types becomes AnyType.
    """
    while True:
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        elif isinstance(kind, inspect.UnionType):
            others = [t for t in kind.types if not _is_none_type(t)]
            kind = others[0] if len(others) == 1 else inspect.AnyType()
        else:
            return kind


def _is_none_type(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.NoneType)


def element_type(kind: inspect.Type) -> inspect.Type:
    """Return the type of the elements of an array; any other type as it is."""
    kind = unwrap(kind)
    while isinstance(kind, ARRAY_TYPES):
        kind = unwrap(kind.item_type)
    return kind


def child_type(kind: inspect.Type, name: str) -> inspect.Type | None:
    """Return the type of an attribute; None: there is no such attribute."""
    kind = element_type(kind)
    if isinstance(kind, inspect.StructType):
        field = fields_of(kind.cls).get(name)
        return field.type if field else None
    if isinstance(kind, inspect.DictType):
        return kind.value_type
    return kind if isinstance(kind, inspect.AnyType) else None


def resolve_path(kind: type, path: Sequence[str]) -> inspect.Type | None:
    """Return the type at a path; None: there is no such attribute."""
    found: inspect.Type | None = type_of(kind)
    for name in path:
        found = found and child_type(found, name)
    return found


def is_map(kind: inspect.Type) -> bool:
    """Check whether a value is, or may be, a map."""
    return isinstance(element_type(kind), inspect.DictType | inspect.AnyType)


def is_complex(kind: inspect.Type) -> bool:
    """Check whether an attribute is a structure, a map or an array."""
    complex_types = (
        inspect.StructType,
        inspect.DictType,
        inspect.AnyType,
        *ARRAY_TYPES,
    )
    return isinstance(unwrap(kind), complex_types)


def simple_kind(kind: inspect.Type) -> Kind | None:
    """Return the kind of a simple attribute; None: a structure or a map."""
    kind = element_type(kind)
    if isinstance(kind, inspect.StructType | inspect.DictType):
        return None
    for types, name in _KINDS:
        if isinstance(kind, types):
            return Kind(name)
    return Kind.STRING


def unescape(name: str) -> str:
    """Decode the escapes in one name of a path.

    :raises ValueError: an escape is unknown; the argument is its offset
    """
    for tilde in re.finditer("~.?", name, re.DOTALL):
        if tilde.group() not in _ESCAPES:
            raise ValueError(tilde.start())
    return re.sub("~.", lambda found: _ESCAPES[found.group()], name)
