"""Attribute-based filters (SOL013 5.2): what they ask, and who answers.

An expression matches what the answer would show: an attribute that is not
there matches nothing, whatever the operator, and nothing that is redacted can
be asked about. Of an array one element suffices, and it is the same element
for all expressions that differ in their last name only.
"""

import datetime
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

from tacker_cnf import errors
from tacker_cnf.api import attributes, filter_syntax, redaction
from tacker_cnf.api.attributes import Kind
from tacker_cnf.api.filter_syntax import Expression
from tacker_cnf.db.filtering import Comparison, Op
from tacker_cnf.sol.base import DateTime, SolType

_EQUALITY: Final = frozenset({Op.EQ, Op.NEQ, Op.IN, Op.NIN})
_ORDER: Final = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})
_APPLICABLE: Final[Mapping[Kind, Collection[Op]]] = {
    Kind.STRING: frozenset(Op),
    Kind.NUMBER: _EQUALITY | _ORDER,
    Kind.DATE: _EQUALITY | _ORDER,
    Kind.BOOLEAN: _EQUALITY,
    Kind.ANY: frozenset(Op),
}
_NUMBER: Final = re.compile(r"-?[0-9]{1,300}(\.[0-9]+)?([eE][-+]?[0-9]+)?")
#: what a comparison may still add a second to
_LAST: Final = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)


def _number(text: str) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError
    return float(text) if any(match.groups()) else int(text)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _date(text: str) -> datetime.datetime:
    moment = msgspec.convert(text, DateTime).astimezone(datetime.UTC)
    if moment > _LAST:
        raise ValueError
    return moment


_READ: Final[Mapping[Kind, Callable[[str], Any]]] = {
    Kind.STRING: str,
    Kind.NUMBER: _number,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
}

_TESTS: Final[Mapping[Op, Callable[[Any, Sequence[Any]], bool]]] = {
    Op.EQ: lambda actual, values: actual in values,
    Op.NEQ: lambda actual, values: actual not in values,
    Op.IN: lambda actual, values: actual in values,
    Op.NIN: lambda actual, values: actual not in values,
    Op.GT: lambda actual, values: any(actual > v for v in values),
    Op.GTE: lambda actual, values: any(actual >= v for v in values),
    Op.LT: lambda actual, values: any(actual < v for v in values),
    Op.LTE: lambda actual, values: any(actual <= v for v in values),
    Op.CONT: lambda actual, values: any(v in actual for v in values),
    Op.NCONT: lambda actual, values: all(v not in actual for v in values),
}


class Test(msgspec.Struct, frozen=True, kw_only=True):
    """One expression, with its values as the attribute's type has them."""

    #: how the type names the first attribute of the path
    attribute: str
    prefix: tuple[str, ...]
    #: None for the keys of a map
    leaf: str | None
    op: Op
    kind: Kind
    #: the values, by the kinds that the attribute may turn out to be
    values: Mapping[Kind, tuple[Any, ...]]

    def holds(self, actual: Any) -> bool:
        """Tell whether one simple value passes."""
        kind = _seen(actual) if self.kind == Kind.ANY else self.kind
        if kind is None or self.op not in _APPLICABLE[kind]:
            return False
        if kind == Kind.DATE:
            actual = datetime.datetime.fromisoformat(actual)
        return _TESTS[self.op](actual, self.values[kind])


def _seen(actual: Any) -> Kind | None:
    if isinstance(actual, bool):
        return Kind.BOOLEAN
    if isinstance(actual, int | float):
        return Kind.NUMBER
    return Kind.STRING if isinstance(actual, str) else None


class Filter:
    """Expressions that all have to match."""

    def __init__(self, tests: Sequence[Test] = ()) -> None:
        self.tests = tests
        self._groups: dict[tuple[str, ...], list[Test]] = {}
        for test in tests:
            self._groups.setdefault(test.prefix, []).append(test)

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that have to be known to judge."""
        return frozenset(test.attribute for test in self.tests)

    def split(
        self, comparable: Collection[str]
    ) -> tuple[tuple[Comparison, ...], "Filter"]:
        """Tell what the database can judge, and what is left.

        :param comparable: attributes that are columns of their own
        """
        asked, left = [], []
        for test in self.tests:
            if not test.prefix and test.attribute in comparable:
                asked.append(
                    Comparison(
                        attribute=test.attribute,
                        op=test.op,
                        values=test.values[test.kind],
                    )
                )
            else:
                left.append(test)
        return tuple(asked), Filter(left)

    def matches(self, shown: Mapping[str, Any]) -> bool:
        """Judge a resource by its JSON."""
        return all(
            any(
                all(_passes(test, part) for test in tests)
                for part in _reached(shown, prefix)
            )
            for prefix, tests in self._groups.items()
        )


def _passes(test: Test, part: Any) -> bool:
    if test.leaf is not None:
        return any(test.holds(v) for v in _reached(part, (test.leaf,)))
    return isinstance(part, dict) and any(map(test.holds, part))


def _reached(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Find what a path leads to: of an array, each of its elements."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _reached(one, path)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _reached(value[path[0]], path[1:])


def read(text: str, kind: type[SolType]) -> Filter:
    """Read a filter on resources of a type.

    :raises InvalidFilter: it is malformed, or not possible on this type
    """
    return Filter([_test(e, kind) for e in filter_syntax.read(text)])


def _test(expression: Expression, kind: type[SolType]) -> Test:
    name, prefix, leaf = expression.name, expression.prefix, expression.leaf
    path = prefix if leaf is None else (*prefix, leaf)
    if any(map(_is_hidden, path)):
        raise errors.InvalidFilter(
            f"filter: {name} may hold a secret and cannot be filtered by."
        )
    found = _found(path, expression, kind)
    if expression.op not in _APPLICABLE[found]:
        raise errors.InvalidFilter(
            f"filter: {expression.op} does not apply to {name}, which is a "
            f"{found}."
        )
    return Test(
        attribute=attributes.fields_of(kind)[path[0]].name,
        prefix=prefix,
        leaf=leaf,
        op=expression.op,
        kind=found,
        values=_typed(expression, found),
    )


def _is_hidden(name: str) -> bool:
    bare = re.sub("[-_]", "", name.lower())
    return bare == "accessinfo" or redaction.is_secret(name)


def _found(
    path: Sequence[str], expression: Expression, kind: type[SolType]
) -> Kind:
    """Tell what the attribute of an expression holds."""
    found = attributes.follow(kind, path)
    if found and expression.leaf is None:
        found = inspect.StrType() if attributes.is_map(found) else None
    if found is None:
        raise errors.InvalidFilter(
            f"filter: {kind.__name__} has no attribute {expression.name}."
        )
    leaf = attributes.kind_of(found)
    if leaf is None:
        raise errors.InvalidFilter(
            f"filter: {expression.name} is a structure; name an attribute "
            "in it."
        )
    return leaf


def _typed(
    expression: Expression, kind: Kind
) -> Mapping[Kind, tuple[Any, ...]]:
    """Read the values as the type has them; where that is not known, as
    each type that they may be of.
    """
    if kind == Kind.ANY:
        kinds = (Kind.STRING, Kind.NUMBER, Kind.BOOLEAN)
        return {k: tuple(_readable(expression.values, k)) for k in kinds}
    values = tuple(_readable(expression.values, kind))
    if len(values) < len(expression.values):
        raise errors.InvalidFilter(
            f"filter: {expression.name} is a {kind}, and "
            f"{', '.join(map(repr, expression.values))} is none."
        )
    return {kind: values}


def _readable(values: Sequence[str], kind: Kind) -> Iterator[Any]:
    for text in values:
        try:
            yield _READ[kind](text)
        except (ValueError, KeyError, OverflowError):
            continue  # msgspec's ValidationError is a ValueError
