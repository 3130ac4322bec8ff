"""The query of a list: which rows, in which order, from which position."""

import datetime
import enum
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec


class Op(enum.StrEnum):
    """SOL013 5.2.2, opOne and opMulti."""

    EQ = "eq"
    NEQ = "neq"
    IN = "in"
    NIN = "nin"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONT = "cont"
    NCONT = "ncont"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on an attribute; the values are of its type."""

    attribute: str
    op: Op
    values: tuple[Any, ...]


class Position(NamedTuple):
    """The position of a row in its list."""

    timestamp: datetime.datetime
    id: str


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows to list, and which attributes of them."""

    attributes: Collection[str]
    comparisons: tuple[Comparison, ...] = ()
    after: Position | None = None
    #: whether the newest row is the first one
    newest_first: bool = False
    #: rows that are read at once
    batch: int = 100
