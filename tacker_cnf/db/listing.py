"""Paged lists of rows.

A list is ordered by creation time, then by ID, or the reverse. That order never
changes, so a position stays valid when rows are added or deleted.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import scope
from tacker_cnf.db.filtering import Column, Condition, condition
from tacker_cnf.db.types import SolJson
from tacker_cnf.list_query import ListQuery, Position


def comparable(columns: Mapping[str, Column]) -> frozenset[str]:
    """Return the attributes that the database can compare."""
    return frozenset(
        name
        for name, column in columns.items()
        if not isinstance(column.type, SolJson)
    )


def rows(
    session: orm.Session,
    columns: Mapping[str, Column],
    order: tuple[Column, Column],
    query: ListQuery,
    *conditions: Condition,
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """List the matching rows: position, and requested attribute -> value,
    without attributes that are NULL.

    :param conditions: for rows besides those of the query
    """
    beyond = operator.lt if query.newest_first else operator.gt
    names = [name for name in columns if name in query.attributes]
    statement = (
        sa.select(*order, *(columns[name] for name in names))
        .where(
            *conditions,
            *(condition(columns[c.attribute], c) for c in query.comparisons),
        )
        .order_by(*(c.desc() if query.newest_first else c for c in order))
        .limit(query.batch)
    )
    after = query.after
    while True:
        page = (
            statement.where(_after_position(order, after, beyond))
            if after
            else statement
        )
        found = scope.rows(session, page).all()
        for timestamp, row_id, *values in found:
            after = Position(timestamp, row_id)
            items = zip(names, values, strict=True)
            yield after, {n: v for n, v in items if v is not None}
        if len(found) < query.batch:
            return


def _after_position(
    order: tuple[Column, Column],
    after: Position,
    beyond: Callable[[Any, Any], Condition],
) -> Condition:
    timestamp, row_id = order
    return sa.or_(
        beyond(timestamp, after.timestamp),
        sa.and_(timestamp == after.timestamp, beyond(row_id, after.id)),
    )
