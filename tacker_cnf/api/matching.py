"""Match a resource against a filter (SOL013 5.2.2).

An array matches if one element does; conditions whose attributes differ only
in the last name have to match the same element. An attribute that is absent
never matches, whatever the operator.
"""

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf.api.attributes import Kind
from tacker_cnf.lcm.shown_names import HIDDEN
from tacker_cnf.list_query import Comparison, Op

_EQUALITY: Final = frozenset({Op.EQ, Op.NEQ, Op.IN, Op.NIN})
_ORDER: Final = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})
APPLICABLE: Final[Mapping[Kind, Collection[Op]]] = {
    Kind.STRING: frozenset(Op),
    Kind.NUMBER: _EQUALITY | _ORDER,
    Kind.DATE: _EQUALITY | _ORDER,
    Kind.BOOLEAN: _EQUALITY,
    Kind.ANY: frozenset(Op),
}
_OPERATORS: Final[Mapping[Op, Callable[[Any, Sequence[Any]], bool]]] = {
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


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One expression, with its values parsed."""

    #: Python name of the first attribute of the path
    attribute: str
    prefix: tuple[str, ...]
    #: None for the keys of a map
    leaf: str | None
    op: Op
    kind: Kind
    #: the values, by each kind that the attribute may have
    values: Mapping[Kind, tuple[Any, ...]]

    def accepts(self, actual: Any) -> bool:
        """Check whether a simple value fulfils the condition; one that is not
        shown fulfils none.
        """
        if actual == HIDDEN:
            return False
        kind = _kind_of_value(actual) if self.kind == Kind.ANY else self.kind
        if kind is None or self.op not in APPLICABLE[kind]:
            return False
        if kind == Kind.DATE:
            actual = datetime.datetime.fromisoformat(actual)
        return _OPERATORS[self.op](actual, self.values[kind])


def _kind_of_value(actual: Any) -> Kind | None:
    if isinstance(actual, bool):
        return Kind.BOOLEAN
    if isinstance(actual, int | float):
        return Kind.NUMBER
    return Kind.STRING if isinstance(actual, str) else None


class Filter:
    """Conditions that all have to match."""

    def __init__(self, conditions: Sequence[Condition] = ()) -> None:
        self.conditions = conditions
        self._groups: dict[tuple[str, ...], list[Condition]] = {}
        for condition in conditions:
            self._groups.setdefault(condition.prefix, []).append(condition)

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that the conditions need, by their Python names."""
        return frozenset(condition.attribute for condition in self.conditions)

    def split(
        self, comparable: Collection[str]
    ) -> tuple[tuple[Comparison, ...], "Filter"]:
        """Return the comparisons that the database can evaluate, and a filter
        of the other conditions.

        :param comparable: attributes that have a column
        """
        comparisons, remaining = [], []
        for condition in self.conditions:
            if not condition.prefix and condition.attribute in comparable:
                comparisons.append(
                    Comparison(
                        attribute=condition.attribute,
                        op=condition.op,
                        values=condition.values[condition.kind],
                    )
                )
            else:
                remaining.append(condition)
        return tuple(comparisons), Filter(remaining)

    def matches(self, resource: Mapping[str, Any]) -> bool:
        """Check whether the JSON of a resource matches."""
        return all(
            any(
                all(
                    _condition_matches(condition, part)
                    for condition in conditions
                )
                for part in _values_at(resource, prefix)
            )
            for prefix, conditions in self._groups.items()
        )


def _condition_matches(condition: Condition, part: Any) -> bool:
    if condition.leaf is not None:
        return any(
            condition.accepts(v) for v in _values_at(part, (condition.leaf,))
        )
    return isinstance(part, dict) and any(map(condition.accepts, part))


def _values_at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path; of an array, those of each element."""
    if isinstance(value, list | tuple):
        for element in value:
            yield from _values_at(element, path)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _values_at(value[path[0]], path[1:])
