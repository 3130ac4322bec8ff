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

    moment: datetime.datetime
    id: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
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
    wanted: Wanted,
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """List the rows that match: where each stands, and what it holds of the
    wanted attributes. NULL is left out.
    """
    names = [name for name in columns if name in wanted.attributes]
    statement = (
        sa.select(*order, *(columns[name] for name in names))
        .where(
            *(condition(columns[c.attribute], c) for c in wanted.comparisons)
        )
        .order_by(*order)
        .limit(wanted.batch)
    )
    after = wanted.after
    while True:
        part = statement.where(_behind(order, after)) if after else statement
        found = session.execute(part).all()
        for moment, row_id, *values in found:
            after = Position(moment, row_id)
            given = zip(names, values, strict=True)
            yield after, {n: v for n, v in given if v is not None}
        if len(found) < wanted.batch:
            return


def _behind(order: tuple[Column, Column], after: Position) -> Condition:
    moment, row_id = order
    return sa.or_(
        moment > after.moment,
        sa.and_(moment == after.moment, row_id > after.id),
    )
