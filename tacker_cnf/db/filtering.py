"""Attribute-based filters (SOL013 5.2) on columns, as SQL."""

import datetime
import operator
from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import functions

from tacker_cnf.db.types import UtcDateTime
from tacker_cnf.list_query import Comparison, Op

Column = sa.ColumnElement[Any] | orm.InstrumentedAttribute[Any]
Condition = sa.ColumnElement[bool]

_ORDER_OPERATORS: Final = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_SECOND: Final = datetime.timedelta(seconds=1)


def condition(column: Column, comparison: Comparison) -> Condition:
    """Convert a comparison to SQL; NULL never matches."""
    if isinstance(column.type, UtcDateTime):
        return _time_condition(column, comparison)
    if isinstance(column.type, sa.Boolean):
        found = column.in_(comparison.values)
        return sa.not_(found) if comparison.op in {Op.NEQ, Op.NIN} else found
    return _text_condition(column, comparison)


class verbatim(functions.FunctionElement[str]):  # noqa: N801
    """A text that is compared by code points.

    By default, databases may ignore case, or sort by the rules of a language.
    """

    type = sa.String()
    inherit_cache = True


@compiles(verbatim)
def _verbatim(element: Any, compiler: Any, **options: Any) -> str:
    return f"({compiler.process(element.clauses, **options)})"


@compiles(verbatim, "postgresql")
def _postgresql_verbatim(element: Any, compiler: Any, **options: Any) -> str:
    return f'({compiler.process(element.clauses, **options)} COLLATE "C")'


@compiles(verbatim, "mysql")
@compiles(verbatim, "mariadb")
def _mysql_verbatim(element: Any, compiler: Any, **options: Any) -> str:
    inner = compiler.process(element.clauses, **options)
    return f"CAST(CONVERT({inner} USING utf8mb4) AS BINARY)"


class text_position(functions.FunctionElement[int]):  # noqa: N801
    """The position of a substring in a text, from 1; 0: not found."""

    type = sa.Integer()
    inherit_cache = True


@compiles(text_position)
def _text_position(element: Any, compiler: Any, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"


@compiles(text_position, "postgresql")
def _postgresql_text_position(
    element: Any, compiler: Any, **options: Any
) -> str:
    return f"strpos({compiler.process(element.clauses, **options)})"


def _text_condition(column: Column, comparison: Comparison) -> Condition:
    exact = verbatim(column)
    literals = [
        verbatim(sa.literal(v, sa.String())) for v in comparison.values
    ]
    match comparison.op:
        case Op.EQ | Op.IN:
            # the first condition uses the index, the second is exact
            return sa.and_(column.in_(comparison.values), exact.in_(literals))
        case Op.NEQ | Op.NIN:
            return exact.not_in(literals)
        case Op.CONT:
            return sa.or_(
                *(text_position(exact, part) > 0 for part in literals)
            )
        case Op.NCONT:
            # no conjunction of "= 0" here: in one, MariaDB treats
            # instr(x, 'ab') and instr(x, 'AB') as equal
            return sa.not_(
                sa.or_(*(text_position(exact, p) > 0 for p in literals))
            )
    return _order_condition(comparison.op, exact, literals[0])


def _time_condition(column: Column, comparison: Comparison) -> Condition:
    """Compare in whole seconds, as shown; columns have microseconds."""
    instant = comparison.values[0]
    start = instant.replace(microsecond=0)
    match comparison.op:
        case Op.EQ | Op.IN:
            return sa.or_(*(_within(column, v) for v in comparison.values))
        case Op.NEQ | Op.NIN:
            return sa.not_(
                sa.or_(*(_within(column, v) for v in comparison.values))
            )
        case Op.GT:
            return _order_condition(Op.GTE, column, start + _SECOND)
        case Op.LTE:
            return _order_condition(Op.LT, column, start + _SECOND)
    bound = start if start == instant else start + _SECOND
    return _order_condition(comparison.op, column, bound)


def _within(column: Column, instant: datetime.datetime) -> Condition:
    if instant.microsecond:
        return sa.false()
    return sa.and_(column >= instant, column < instant + _SECOND)


def _order_condition(op: Op, column: Column, value: Any) -> Condition:
    compare: Callable[[Any, Any], Condition] = _ORDER_OPERATORS[op]
    return compare(column, value)
