"""The allowed values of an enumeration, for error messages."""

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import inspect

from tacker_cnf.sol import strict

#: msgspec's message about a value that an enumeration does not have
_INVALID: Final = re.compile(r"Invalid enum value .* - at `\$(.*)`", re.DOTALL)
#: .attribute, or [...] for any entry
_PATH_STEP: Final = re.compile(r"\.(\w+)|\[[^\]]*\]")


def allowed_values(kind: Any, message: str) -> str:
    """Return the allowed values if a message of msgspec is about the value of
    an enumeration; otherwise an empty string.

    :param kind: the type of the complete document
    """
    match = _INVALID.fullmatch(message)
    if match is None:
        return ""
    found = [inspect.type_info(kind)]
    for step in _PATH_STEP.finditer(match[1]):
        found = [t for one in found for t in _child_types(one, step[1])]
    enums = [
        t.cls for one in found for t in strict.alternatives(one) if _is_enum(t)
    ]
    values = [str(value) for enum in enums for value in enum]
    return f"; one of {', '.join(values)}" if values else ""


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, inspect.EnumType)


def _child_types(kind: Any, attribute: str | None) -> Iterator[Any]:
    """Yield the types of an attribute; None: those of an entry."""
    for one in strict.alternatives(kind):
        if attribute is not None:
            fields = getattr(one, "fields", ())
            yield from (f.type for f in fields if f.encode_name == attribute)
        elif isinstance(one, inspect.DictType):
            yield one.value_type
        elif isinstance(one, inspect.CollectionType | inspect.VarTupleType):
            yield one.item_type
