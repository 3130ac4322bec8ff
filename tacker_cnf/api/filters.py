"""Attribute-based filters (SOL013 5.2), parsed for the type of a resource.

A filter can only use what a response shows: an attribute that the type does
not have, and the credentials of a VIM, are rejected; a value that the response
hides never matches.
"""

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

from tacker_cnf import errors
from tacker_cnf.api import attributes, filter_syntax
from tacker_cnf.api.attributes import Kind
from tacker_cnf.api.filter_syntax import Expression
from tacker_cnf.api.matching import APPLICABLE, Condition, Filter
from tacker_cnf.lcm.shown_names import is_shown_of_vim
from tacker_cnf.sol.base import DateTime, SolType

_NUMBER: Final = re.compile(r"-?[0-9]{1,300}(\.[0-9]+)?([eE][-+]?[0-9]+)?")
#: latest time to which a comparison can add a second
_LATEST_TIME: Final = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)


def _number(text: str) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError
    return float(text) if any(match.groups()) else int(text)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _date(text: str) -> datetime.datetime:
    moment = msgspec.convert(text, DateTime).astimezone(datetime.UTC)
    if moment > _LATEST_TIME:
        raise ValueError
    return moment


_PARSERS: Final[Mapping[Kind, Callable[[str], Any]]] = {
    Kind.STRING: str,
    Kind.NUMBER: _number,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
}


def parse(text: str, kind: type[SolType]) -> Filter:
    """Parse a filter on resources of a type.

    :raises InvalidFilter: the filter is malformed, or does not fit the type
    """
    return Filter([_condition(e, kind) for e in filter_syntax.parse(text)])


def _condition(expression: Expression, kind: type[SolType]) -> Condition:
    name, prefix, leaf = expression.name, expression.prefix, expression.leaf
    path = prefix if leaf is None else (*prefix, leaf)
    if any(map(_is_credential, path, (*path[1:], ""))):
        raise errors.InvalidFilter(
            f"filter: {name} may contain a secret and cannot be filtered by."
        )
    found = _attribute_kind(path, expression, kind)
    if expression.op not in APPLICABLE[found]:
        raise errors.InvalidFilter(
            f"filter: {expression.op} does not apply to {name}, which is a "
            f"{found}."
        )
    return Condition(
        attribute=attributes.fields_of(kind)[path[0]].name,
        prefix=prefix,
        leaf=leaf,
        op=expression.op,
        kind=found,
        values=_parse_values(expression, found),
    )


def _is_credential(name: str, next_name: str) -> bool:
    """Check whether a path leads to a part of a VIM connection that no
    response shows: accessInfo, or a hidden name of interfaceInfo.
    """
    return name == "accessInfo" or (
        name == "interfaceInfo"
        and not is_shown_of_vim("interfaceInfo", next_name)
    )


def _attribute_kind(
    path: Sequence[str], expression: Expression, kind: type[SolType]
) -> Kind:
    """Return the kind of the attribute of an expression.

    :raises InvalidFilter: the type has no such attribute, or the attribute
        is a structure
    """
    found = attributes.resolve_path(kind, path)
    if found and expression.leaf is None:
        found = inspect.StrType() if attributes.is_map(found) else None
    if found is None:
        raise errors.InvalidFilter(
            f"filter: {kind.__name__} has no attribute {expression.name}."
        )
    leaf = attributes.simple_kind(found)
    if leaf is None:
        raise errors.InvalidFilter(
            f"filter: {expression.name} is a structure; use one of its "
            "attributes."
        )
    return leaf


def _parse_values(
    expression: Expression, kind: Kind
) -> Mapping[Kind, tuple[Any, ...]]:
    """Parse the values as the kind of the attribute; for ``ANY``, as each
    kind that accepts them.

    :raises InvalidFilter: a value is not of the kind
    """
    if kind == Kind.ANY:
        kinds = (Kind.STRING, Kind.NUMBER, Kind.BOOLEAN)
        return {k: tuple(_parsed_values(expression.values, k)) for k in kinds}
    values = tuple(_parsed_values(expression.values, kind))
    if len(values) < len(expression.values):
        raise errors.InvalidFilter(
            f"filter: {expression.name} is a {kind}, not "
            f"{', '.join(map(repr, expression.values))}."
        )
    return {kind: values}


def _parsed_values(values: Sequence[str], kind: Kind) -> Iterator[Any]:
    for text in values:
        try:
            yield _PARSERS[kind](text)
        except (ValueError, KeyError, OverflowError):
            continue  # msgspec's ValidationError is a ValueError
