"""Pages of lists: from a marker, in the order of creation."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tacker_cnf.api import paging
from tacker_cnf.list_query import Comparison, ListQuery, Op, Position
from tacker_cnf.sol.base import SolType
from tacker_cnf.web import pages

#: entries of a page
PAGE_SIZE: Final = 25
T = TypeVar("T")
#: what a service offers to list its resources
Find = Callable[
    [Any, ListQuery], AbstractContextManager[Iterable[tuple[Position, T]]]
]


class Page(NamedTuple, Generic[T]):
    """A part of a list."""

    entries: list[T]
    #: marker of the next page; None: this is the last one
    next: str | None
    #: whether it is the first one
    is_first: bool


def read(
    find: Find[T],
    client: Any,
    kind: type[SolType],
    *comparisons: Comparison,
    without: Iterable[str] = (),
) -> Page[T]:
    """Return the page of a list that the query of the request names.

    :param without: attributes that are not read
    :raises InvalidMarker: the marker is not one of this service
    """
    marker = pages.parameter("marker")
    query = ListQuery(
        attributes=attributes_of(kind, without),
        comparisons=comparisons,
        after=paging.decode_marker(marker) if marker else None,
        batch=PAGE_SIZE + 1,
    )
    with find(client, query) as found:
        entries = [
            entry
            for entry, _ in zip(found, range(PAGE_SIZE + 1), strict=False)
        ]
    following = None
    if len(entries) > PAGE_SIZE:
        following = paging.encode_marker(entries[PAGE_SIZE - 1][0])
    return Page(
        [value for _, value in entries[:PAGE_SIZE]], following, not marker
    )


def attributes_of(
    kind: type[SolType], without: Iterable[str] = ()
) -> frozenset[str]:
    """Return the attributes of a type, except some."""
    return frozenset(kind.__struct_fields__) - frozenset(without)


def equals(attribute: str, *values: Any) -> Comparison:
    """Return the condition that an attribute has one of some values."""
    return Comparison(attribute=attribute, op=Op.IN, values=values)


def contains(attribute: str, text: str) -> Comparison:
    """Return the condition that an attribute contains a text."""
    return Comparison(attribute=attribute, op=Op.CONT, values=(text,))
