"""The attributes of a SOL type, as queries name them (SOL013 5.2.2, 5.3.2).

A path of names leads through structures, arrays and maps; a map knows any
name, and what lies under KeyValuePairs may be anything.
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
    """What a simple attribute holds; an enumeration is a string here."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    #: known only when it is seen
    ANY = "any"


@functools.cache
def type_of(kind: type) -> inspect.Type:
    """Tell what a SOL type is made of."""
    return inspect.type_info(kind)


@functools.cache
def fields_of(kind: type) -> dict[str, inspect.Field]:
    """Tell the attributes of a SOL type, by their names in JSON."""
    info = type_of(kind)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field for field in info.fields}


def unwrap(kind: inspect.Type) -> inspect.Type:
    """Take away that a value is optional, and what else does not tell what
    it is.
    """
    while True:
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        elif isinstance(kind, inspect.UnionType):
            rest = [t for t in kind.types if not _is_none_type(t)]
            kind = rest[0] if len(rest) == 1 else inspect.AnyType()
        else:
            return kind


def _is_none_type(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.NoneType)


def element_type(kind: inspect.Type) -> inspect.Type:
    """Tell of what an array is one; anything else is one of itself."""
    kind = unwrap(kind)
    while isinstance(kind, ARRAY_TYPES):
        kind = unwrap(kind.item_type)
    return kind


def child_type(kind: inspect.Type, name: str) -> inspect.Type | None:
    """Follow one name; None when there is no such attribute."""
    kind = element_type(kind)
    if isinstance(kind, inspect.StructType):
        field = fields_of(kind.cls).get(name)
        return field.type if field else None
    if isinstance(kind, inspect.DictType):
        return kind.value_type
    return kind if isinstance(kind, inspect.AnyType) else None


def resolve_path(kind: type, path: Sequence[str]) -> inspect.Type | None:
    """Follow a path; None when it leads nowhere."""
    found: inspect.Type | None = type_of(kind)
    for name in path:
        found = found and child_type(found, name)
    return found


def is_map(kind: inspect.Type) -> bool:
    """Tell whether a value has, or may have, keys of its own."""
    return isinstance(element_type(kind), inspect.DictType | inspect.AnyType)


def is_complex(kind: inspect.Type) -> bool:
    """Tell whether an attribute is a structure, a map or an array."""
    complex_types = (
        inspect.StructType,
        inspect.DictType,
        inspect.AnyType,
        *ARRAY_TYPES,
    )
    return isinstance(unwrap(kind), complex_types)


def simple_kind(kind: inspect.Type) -> Kind | None:
    """Tell what a simple attribute holds; None for a structure or a map."""
    kind = element_type(kind)
    if isinstance(kind, inspect.StructType | inspect.DictType):
        return None
    for types, name in _KINDS:
        if isinstance(kind, types):
            return Kind(name)
    return Kind.STRING


def unescape(name: str) -> str:
    """Read one name of a path.

    :raises ValueError: there is no such escape; its argument tells where
    """
    for tilde in re.finditer("~.?", name, re.DOTALL):
        if tilde.group() not in _ESCAPES:
            raise ValueError(tilde.start())
    return re.sub("~.", lambda found: _ESCAPES[found.group()], name)
