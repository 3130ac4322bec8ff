"""Parse the JSON of clients, and reject misspelled attributes.

An unknown attribute is ignored (SOL013 4.3.4), unless its name is similar to
one of the type: then it is an error, as its value would be lost. ``null``
means absent, except where a merge patch gives it a meaning.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from tacker_cnf.sol import suggestion

T = TypeVar("T")


class UnknownName(msgspec.ValidationError):
    """An unknown name that is similar to a known one."""


def decode(data: bytes, kind: type[T]) -> T:
    """Parse the JSON of a client.

    :raises UnknownName: the name of an attribute is misspelled
    :raises msgspec.ValidationError: an attribute is invalid; the message ends
        in its JSON path
    :raises msgspec.DecodeError: the data is not JSON
    """
    try:
        decoded = msgspec.json.decode(data)
    except msgspec.ValidationError:  # a number out of range
        msgspec.json.decode(data, type=kind)  # its error has the JSON path
        raise
    return convert(decoded, kind)


def convert(value: Any, kind: type[T]) -> T:
    """Convert decoded JSON of a client to a type.

    :raises UnknownName: the name of an attribute is misspelled
    :raises msgspec.ValidationError: an attribute is invalid
    """
    return msgspec.convert(
        _without_nulls(value, _info(cast("Any", kind)), "$"), kind
    )


@functools.cache
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def alternatives(kind: Any) -> Iterator[Any]:
    """Yield the types that a value may have, without their constraints."""
    if isinstance(kind, inspect.UnionType):
        for member in kind.types:
            yield from alternatives(member)
    elif isinstance(kind, inspect.Metadata):
        yield from alternatives(kind.type)
    else:
        yield kind


def _without_nulls(value: Any, kind: Any, path: str) -> Any:
    """Return a value without the attributes whose null means absent.

    :raises UnknownName: the name of an attribute is misspelled
    """
    for one in alternatives(kind):
        if isinstance(value, dict):
            if isinstance(one, inspect.StructType):
                return _struct_members(value, one, path)
            if isinstance(one, inspect.DictType):
                inner = one.value_type
                return {
                    key: _without_nulls(entry, inner, f"{path}[...]")
                    for key, entry in value.items()
                }
        if isinstance(value, list) and isinstance(
            one, inspect.CollectionType | inspect.VarTupleType
        ):
            return [
                _without_nulls(entry, one.item_type, f"{path}[{number}]")
                for number, entry in enumerate(value)
            ]
    return value


def _struct_members(
    value: Mapping[str, Any], kind: inspect.StructType, path: str
) -> dict[str, Any]:
    fields = {field.encode_name: field for field in kind.fields}
    members = {}
    for name, entry in value.items():
        if name not in fields:
            _check_unknown(name, fields, path)
        elif entry is not None or not is_null_ignored(fields[name]):
            inner = fields[name].type
            members[name] = _without_nulls(entry, inner, f"{path}.{name}")
    return members


def is_null_ignored(field: inspect.Field) -> bool:
    """Check whether null means absent. An attribute of a merge patch has no
    default: there, null has a meaning, or is an error.
    """
    defaults = (field.default, field.default_factory)
    return defaults != (msgspec.NODEFAULT, msgspec.NODEFAULT) and not any(
        isinstance(one, inspect.NoneType | inspect.AnyType)
        for one in alternatives(field.type)
    )


def _check_unknown(name: str, known: Iterable[str], path: str) -> None:
    closest_name = suggestion.closest_name(name, known)
    if closest_name is not None:
        location = "" if path == "$" else f" at `{path}`"
        raise UnknownName(
            f'Unknown attribute "{name}"{location}; did you mean "{closest_name}"?'
        )
