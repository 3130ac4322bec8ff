"""Lists of rows, batch by batch.

A list goes by the time at which its rows were made, then by id. That order
never changes, so a position in it stays good while rows come and go.
"""

import datetime
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db.filtering import (
    Column,
    Comparison,
    Condition,
    condition,
)
from tacker_cnf.db.types import SolJson


class Position(NamedTuple):
    """Where a row stands in its list."""

    timestamp: datetime.datetime
    id: str


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What a list is to give of its table."""

    attributes: Collection[str]
    comparisons: tuple[Comparison, ...] = ()
    after: Position | None = None
    #: rows that are read, and held, at once
    batch: int = 100


def comparable(columns: Mapping[str, Column]) -> frozenset[str]:
    """Tell which attributes the database can compare."""
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
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """List the rows that match: where each stands, and what it holds of the
    wanted attributes. NULL is left out.
    """
    names = [name for name in columns if name in query.attributes]
    statement = (
        sa.select(*order, *(columns[name] for name in names))
        .where(
            *(condition(columns[c.attribute], c) for c in query.comparisons)
        )
        .order_by(*order)
        .limit(query.batch)
    )
    after = query.after
    while True:
        page = (
            statement.where(_after_position(order, after))
            if after
            else statement
        )
        found = session.execute(page).all()
        for timestamp, row_id, *values in found:
            after = Position(timestamp, row_id)
            given = zip(names, values, strict=True)
            yield after, {n: v for n, v in given if v is not None}
        if len(found) < query.batch:
            return


def _after_position(
    order: tuple[Column, Column], after: Position
) -> Condition:
    timestamp, row_id = order
    return sa.or_(
        timestamp > after.timestamp,
        sa.and_(timestamp == after.timestamp, row_id > after.id),
    )
