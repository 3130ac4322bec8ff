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
from tacker_cnf.db.listing import ListQuery, Position, comparable
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


class ListDefinition(msgspec.Struct, frozen=True):
    """What a list is of."""

    kind: type[SolType]
    #: what the list has only when asked, by the names of the type
    excluded_by_default: frozenset[str]
    #: what the database has, by the names of the type
    columns: Mapping[str, Column]
    #: whether attribute selectors (SOL013 5.3) are known here
    has_selectors: bool = True


class Query(msgspec.Struct, frozen=True):
    """What one request wants of a list."""

    #: what the database is asked for
    db_query: ListQuery
    #: what is judged here
    filter: Filter
    selector: Selector
    page_size: int

    def build_page(
        self, found: Iterable[tuple[Position, SolType]]
    ) -> list[dict[str, Any]]:
        """Make one page of what the database has; link the next one."""
        page: list[dict[str, Any]] = []
        last = None
        for position, resource in found:
            resource_body = msgspec.to_builtins(resource)
            if not self.filter.matches(resource_body):
                continue
            if last and len(page) == self.page_size:
                _add_next_link(last)
                break
            page.append(self.selector.apply(resource_body))
            last = position
        return page


def _add_next_link(last: Position) -> None:
    request = pecan.request
    # some clients lose a flag without a value on their way to the next page
    query = [
        (name, "true" if name in selectors.FLAGS else value)
        for name, value in request.GET.items()
    ]
    pecan.response.headers["Link"] = paging.next_link(
        http.base_url() + request.path, query, last
    )


def from_request(definition: ListDefinition) -> Query:
    """Read the query of the request.

    :raises InvalidFilter: the filter is not valid
    :raises InvalidSelector: the selectors are not valid
    :raises InvalidMarker: there is no such page
    """
    page_size = http.settings().page_size
    text = _query_parameter(FILTER)
    marker = _query_parameter(paging.MARKER)
    requested = (
        Filter() if text is None else filters.parse(text, definition.kind)
    )
    comparisons, remaining = requested.split(comparable(definition.columns))
    selector_parameters = _selectors() if definition.has_selectors else {}
    selector = selectors.parse(
        selector_parameters, definition.kind, definition.excluded_by_default
    )
    return Query(
        db_query=ListQuery(
            attributes=selector.attributes | remaining.attributes,
            comparisons=comparisons,
            after=None if marker is None else paging.decode_marker(marker),
            batch=max(page_size + 1, _BATCH if remaining.conditions else 0),
        ),
        filter=remaining,
        selector=selector,
        page_size=page_size,
    )


def _query_parameter(name: str) -> str | None:
    values = pecan.request.GET.getall(name)
    if len(values) > 1:
        raise errors.BadRequest(f"{name}: it is given {len(values)} times.")
    return str(values[0]) if values else None


def _selectors() -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter, name in _SELECTORS.items():
        value = _query_parameter(parameter)
        if value is None:
            continue
        if name in found:
            raise errors.InvalidSelector(f"{name}: it is given twice.")
        found[name] = value
    return found
