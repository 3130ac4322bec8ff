"""The query of a list (SOL013 clause 5): filter, selectors, page.

Unknown parameters are ignored (SOL013 4.2).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import pecan

from tacker_cnf import errors
from tacker_cnf.api import attributes, filters, http, paging, selectors
from tacker_cnf.api.matching import Filter
from tacker_cnf.api.selectors import Selector
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.sol.base import SolType

FILTER: Final = "filter"
#: as the openstack command spells it
COMMAND_EXCLUDED: Final = "exclude-fields"
_SELECTORS: Final[Mapping[str, str]] = {
    selectors.ALL: selectors.ALL,
    selectors.FIELDS: selectors.FIELDS,
    selectors.EXCLUDED: selectors.EXCLUDED,
    COMMAND_EXCLUDED: selectors.EXCLUDED,
    selectors.DEFAULT: selectors.DEFAULT,
}
#: rows of one database read when most of them may not match the filter
_BATCH: Final = 100


class ListDefinition(msgspec.Struct, frozen=True):
    """A list: the type of its entries and what can be queried."""

    kind: type[SolType]
    #: attributes that the list shows only on request, by their Python names
    excluded_by_default: frozenset[str]
    #: attributes that the database can compare, by their Python names
    comparable: frozenset[str]
    #: whether the list supports attribute selectors (SOL013 5.3)
    has_selectors: bool = True
    #: whether exclude-fields may have titles of columns, as the openstack
    #: command sends them
    ignores_titles: bool = False
    #: attributes of the database that entries are built from, beside those
    #: that they show
    always_read: frozenset[str] = frozenset()


class Query(msgspec.Struct, frozen=True):
    """The parsed query of one request."""

    #: the part that the database evaluates
    db_query: ListQuery
    #: the part that is evaluated on each resource
    filter: Filter
    selector: Selector
    page_size: int

    def build_page(
        self, found: Iterable[tuple[Position, SolType]]
    ) -> list[dict[str, Any]]:
        """Return the JSON of the resources of one page, and set the Link
        header if another page follows.
        """
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
    # some clients drop a flag without a value when they request the next page
    query = [
        (name, "true" if name in selectors.FLAGS else value)
        for name, value in request.GET.items()
    ]
    pecan.response.headers["Link"] = paging.next_link(
        http.base_url() + request.path, query, last
    )


def from_request(definition: ListDefinition) -> Query:
    """Parse the query of the request.

    :raises BadRequest: a parameter is repeated
    :raises InvalidFilter: the filter is not valid
    :raises InvalidSelector: the selectors are not valid
    :raises InvalidMarker: the marker is not valid
    """
    page_size = http.settings().page_size
    text = _query_parameter(FILTER)
    marker = _query_parameter(paging.MARKER)
    requested = (
        Filter() if text is None else filters.parse(text, definition.kind)
    )
    comparisons, remaining = requested.split(definition.comparable)
    selector_parameters = (
        _selectors(definition) if definition.has_selectors else {}
    )
    selector = selectors.parse(
        selector_parameters, definition.kind, definition.excluded_by_default
    )
    return Query(
        db_query=ListQuery(
            attributes=selector.attributes
            | remaining.attributes
            | definition.always_read,
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
        raise errors.BadRequest(
            f"{name}: the parameter occurs {len(values)} times; use it once."
        )
    return str(values[0]) if values else None


def _selectors(definition: ListDefinition) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter, name in _SELECTORS.items():
        value = _query_parameter(parameter)
        if parameter == COMMAND_EXCLUDED and definition.ignores_titles:
            value = value and _without_titles(value, definition.kind)
        if value is None:
            continue
        if name in found:
            raise errors.InvalidSelector(
                f"{name}: the parameter occurs twice; use it once."
            )
        found[name] = value
    return found


def _without_titles(names: str, kind: type[SolType]) -> str | None:
    """Return the attributes in a list of attributes and titles; None: there
    are none.
    """
    known = attributes.fields_of(kind)
    found = [n for n in names.split(",") if n.partition("/")[0] in known]
    return ",".join(found) or None
