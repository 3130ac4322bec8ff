"""GET /events: a stream of events (WHATWG HTML, Server-sent events); an
extension.
"""

import re
from typing import Any, Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http, openapi_parameters
from tacker_cnf.services.event_messages import TYPES, EventFilter
from tacker_cnf.services.event_streams import EventStreams
from tacker_cnf.sol import suggestion

EVENT_STREAM: Final = "text/event-stream"
_NAMES: Final = tuple(p.name for p in openapi_parameters.EVENT_QUERY)
_NUMBER: Final = re.compile("[0-9]{1,18}")


class Events:
    """The stream of events."""

    def __init__(self, event_streams: EventStreams) -> None:
        self._event_streams = event_streams

    @http.endpoint(
        200,
        rule="events:index",
        produces=(EVENT_STREAM,),
        parameters=openapi_parameters.EVENTS,
        error_types=(errors.Unavailable,),
    )
    def get(self) -> Any:
        """Read events as they happen."""
        return http.stream(
            self._event_streams.open(
                http.caller(), _filter_from_request(), _last_event_id()
            ),
            EVENT_STREAM,
        )


def _filter_from_request() -> EventFilter:
    """Parse the query.

    :raises BadRequest: a parameter or a type is unknown
    """
    query = pecan.request.GET
    for name in query:
        if name not in _NAMES:
            similar = suggestion.closest_name(name, _NAMES)
            hint = f'did you mean "{similar}"' if similar else "allowed are "
            raise errors.BadRequest(
                f'Query: unknown parameter "{name}"; '
                + (f"{hint}?" if similar else f"{hint}{', '.join(_NAMES)}.")
            )
    for kind in query.getall("type"):
        if kind not in TYPES:
            raise errors.BadRequest(
                f"type: {kind!r} is not valid; allowed are {', '.join(TYPES)}."
            )
    return EventFilter(
        frozenset(query.getall("type")),
        frozenset(query.getall("vnf_instance_id")),
        frozenset(query.getall("vnf_lcm_op_occ_id")),
    )


def _last_event_id() -> int | None:
    """Parse the Last-Event-ID of the header or, for a client that cannot send
    it, of the query; None: there is none.

    :raises BadRequest: it is not a number
    """
    value = pecan.request.headers.get(
        "Last-Event-ID"
    ) or pecan.request.GET.get("last_event_id")
    if not value:
        return None
    if not _NUMBER.fullmatch(value):
        raise errors.BadRequest(
            f"Last-Event-ID: {value!r:.100} is not the id of an event of this "
            "stream; send the last one received, or none."
        )
    return int(value)
