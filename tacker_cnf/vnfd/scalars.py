"""Resolve YAML scalars to null, boolean, integer, number or text.

They are read as kubectl does: booleans and octal numbers of YAML 1.1, other
numbers of YAML 1.2, and neither dates nor sexagesimal numbers.
"""

import math
import re
from collections.abc import Callable
from typing import Any, Final

NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
TRUE: Final = frozenset({"true", "yes", "on"})
FALSE: Final = frozenset({"false", "no", "off"})
INTEGER: Final = re.compile(
    r"([-+]?)"
    r"(?:0b([01][01_]*)|0o?([0-7][0-7_]*)|0x([0-9a-fA-F][0-9a-fA-F_]*)"
    r"|(0|[1-9][0-9_]*))",
)
BASES: Final = (2, 8, 16, 10)
FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
)


def resolve(text: str) -> Any:
    """Return the value of an unquoted scalar."""
    if text in NULLS:
        return None
    as_boolean = _boolean(text)
    if as_boolean is not None:
        return as_boolean
    if INTEGER.fullmatch(text):
        return _integer(text)
    if FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def _boolean(text: str) -> bool | None:
    if text not in {text.lower(), text.upper(), text.capitalize()}:
        return None
    if text.lower() in TRUE:
        return True
    return False if text.lower() in FALSE else None


def _integer(text: str) -> int:
    match = INTEGER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an integer")
    digits = next(
        (group.replace("_", ""), base)
        for group, base in zip(match.groups()[1:], BASES, strict=True)
        if group is not None
    )
    if len(digits[0]) > 64:
        raise ValueError("the number is too large")
    number = int(*digits) * (-1 if match[1] == "-" else 1)
    if not -(2**63) <= number < 2**63:
        raise ValueError("the number is too large")
    return number


def _float(text: str) -> float:
    number = float(text) if FLOAT.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a finite number")
    return number


def _checked_boolean(text: str) -> bool:
    value = _boolean(text)
    if value is None:
        raise ValueError(f"{text!r} is not a boolean")
    return value


def _null(text: str) -> None:
    if text not in NULLS:
        raise ValueError(f"{text!r} is not null")


#: converters for scalars with one of YAML's own tags
CONVERTERS: Final[dict[str, Callable[[str], Any]]] = {
    "str": str,
    "null": _null,
    "bool": _checked_boolean,
    "int": _integer,
    "float": _float,
}
