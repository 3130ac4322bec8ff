"""The query of a list (SOL013 clause 5): filter, selectors, page.

Parameters that are not known are ignored (SOL013 4.2).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import pecan

from tacker_cnf import errors
from tacker_cnf.api import filters, http, paging, selectors
from tacker_cnf.api.matching import Filter
from tacker_cnf.api.selectors import Selector
from tacker_cnf.db.filtering import Column
from tacker_cnf.db.listing import Position, Wanted, comparable
from tacker_cnf.sol.base import SolType

FILTER: Final = "filter"
_SELECTORS: Final[Mapping[str, str]] = {
    selectors.ALL: selectors.ALL,
    selectors.FIELDS: selectors.FIELDS,
    selectors.EXCLUDED: selectors.EXCLUDED,
    # as the openstack command has it
    "exclude-fields": selectors.EXCLUDED,
    selectors.DEFAULT: selectors.DEFAULT,
}
#: rows that are read at once where most may not match
_BATCH: Final = 100


class Listed(msgspec.Struct, frozen=True):
    """What a list is of."""

    kind: type[SolType]
    #: what the list has only when asked, by the names of the type
    heavy: frozenset[str]
    #: what the database has, by the names of the type
    columns: Mapping[str, Column]
    #: whether attribute selectors (SOL013 5.3) are known here
    has_selectors: bool = True


class Query(msgspec.Struct, frozen=True):
    """What one request wants of a list."""

    #: what the database is asked for
    wanted: Wanted
    #: what is judged here
    filter: Filter
    selector: Selector
    page_size: int

    def answer(
        self, found: Iterable[tuple[Position, SolType]]
    ) -> list[dict[str, Any]]:
        """Make one page of what the database has; link the next one."""
        page: list[dict[str, Any]] = []
        last = None
        for position, resource in found:
            shown = msgspec.to_builtins(resource)
            if not self.filter.matches(shown):
                continue
            if last and len(page) == self.page_size:
                _link_next(last)
                break
            page.append(self.selector.cut(shown))
            last = position
        return page


def _link_next(last: Position) -> None:
    request = pecan.request
    # some clients lose a flag without a value on their way to the next page
    query = [
        (name, "true" if name in selectors.FLAGS else value)
        for name, value in request.GET.items()
    ]
    pecan.response.headers["Link"] = paging.next_link(
        http.base_url() + request.path, query, last
    )


def of_request(listed: Listed) -> Query:
    """Read the query of the request.

    :raises InvalidFilter: the filter is not valid
    :raises InvalidSelector: the selectors are not valid
    :raises InvalidMarker: there is no such page
    """
    page_size = http.settings().page_size
    text = _given(FILTER)
    marker = _given(paging.MARKER)
    asked = Filter() if text is None else filters.read(text, listed.kind)
    comparisons, rest = asked.split(comparable(listed.columns))
    chosen = _selectors() if listed.has_selectors else {}
    selector = selectors.read(chosen, listed.kind, listed.heavy)
    return Query(
        wanted=Wanted(
            attributes=selector.attributes | rest.attributes,
            comparisons=comparisons,
            after=None if marker is None else paging.position_of(marker),
            batch=max(page_size + 1, _BATCH if rest.conditions else 0),
        ),
        filter=rest,
        selector=selector,
        page_size=page_size,
    )


def _given(name: str) -> str | None:
    given = pecan.request.GET.getall(name)
    if len(given) > 1:
        raise errors.BadRequest(f"{name}: it is given {len(given)} times.")
    return str(given[0]) if given else None


def _selectors() -> dict[str, str]:
    given: dict[str, str] = {}
    for parameter, name in _SELECTORS.items():
        value = _given(parameter)
        if value is None:
            continue
        if name in given:
            raise errors.InvalidSelector(f"{name}: it is given twice.")
        given[name] = value
    return given
