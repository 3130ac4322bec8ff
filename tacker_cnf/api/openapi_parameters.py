"""The parameters and headers of requests and responses, as the OpenAPI
document describes them. Handlers declare theirs in ``http.endpoint``.
"""

import types
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf.sol.api import Api
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType

STRING: Final = types.MappingProxyType({"type": "string"})
STRINGS: Final[Mapping[str, Any]] = {
    "type": "array",
    "items": {"type": "string"},
}
#: a flag needs no value, but some clients cannot send a name alone
FLAG: Final[Mapping[str, Any]] = {"type": "string", "enum": ["", "true"]}


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a request, or one header of a response."""

    name: str
    description: str
    location: str = "header"
    required: bool = False
    schema: Mapping[str, Any] = STRING


def _query(
    name: str, description: str, schema: Mapping[str, Any] = STRING
) -> Parameter:
    return Parameter(
        name=name, description=description, location="query", schema=schema
    )


#: the Version header of requests, where it is checked
VERSIONS: Final = {
    Api.LCM_V1: Parameter(
        name="Version",
        description="The version of the API that the client uses (SOL013"
        " 9.2); a suffix -impl:... is allowed.",
        schema={"type": "string", "pattern": r"^1\.[0-9]+\.[0-9]+$"},
    ),
    Api.LCM_V2: Parameter(
        name="Version",
        description="The version of the API that the client uses (SOL013"
        " 9.2); a suffix -impl:... is allowed.",
        required=True,
        schema={"type": "string", "enum": [Api.LCM_V2.number]},
    ),
}
FILTER: Final = _query(
    "filter", "Return only entries that match the expressions (SOL013 5.2)."
)
MARKER: Final = _query(
    "nextpage_opaque_marker",
    "The start of a page, from the Link header of the previous page"
    " (SOL013 5.4).",
)
ALL_RECORDS: Final = _query(
    "all_records", "Accepted from clients; the list comes in pages."
)
#: the query of a list (SOL013 clause 5)
LIST: Final = (
    FILTER,
    _query("all_fields", "Show all attributes (SOL013 5.3).", FLAG),
    _query(
        "fields",
        "Of the complex optional attributes show only these, separated by"
        " commas.",
    ),
    _query(
        "exclude_fields",
        "Show all attributes except these, separated by commas.",
    ),
    _query(
        "exclude_default",
        "Leave out the attributes that are left out by default; can be"
        " combined with fields.",
        FLAG,
    ),
    MARKER,
)
DRY_RUN: Final = _query(
    "dry_run",
    "With true, nothing is changed: the response has status 200 and the plan"
    " of the operation, as JSON or, with Accept: text/plain, as text.",
    {"type": "string", "enum": ["true", "false"]},
)
#: the longest time that a request waits for an operation, in seconds
MAX_WAIT_S: Final = 60
WAIT: Final = _query(
    "wait",
    "Send the response when the operation has left the states of state_not, at"
    " the latest after this number of seconds.",
    {"type": "integer", "minimum": 1, "maximum": MAX_WAIT_S},
)
STATE_NOT: Final = _query(
    "state_not",
    "With wait: the state that the operation has to leave; may be repeated."
    " By default STARTING, PROCESSING and ROLLING_BACK.",
    {
        "type": "array",
        "items": {"type": "string", "enum": [*LcmOperationStateType]},
    },
)
#: the query of the stream of events
EVENT_QUERY: Final = (
    _query(
        "vnf_instance_id",
        "Send only events of this VNF instance; may be repeated.",
        STRINGS,
    ),
    _query(
        "vnf_lcm_op_occ_id",
        "Send only events of this operation; may be repeated.",
        STRINGS,
    ),
    _query("type", "Send only events of this type; may be repeated.", STRINGS),
    _query(
        "last_event_id",
        "As the header Last-Event-ID, for clients that cannot send it.",
    ),
)
EVENTS: Final = (
    *EVENT_QUERY,
    Parameter(
        name="Last-Event-ID",
        description="The id of the last event that the client has received:"
        " the stream continues after it. Without it, the stream begins with"
        " the progress of the operations that run.",
    ),
)
#: the query of the list of VIMs, as the openstack command sends it
VIMS: Final = (
    _query("id", "Return only the VIM with this id."),
    _query("name", "Return only the VIM with this name."),
    _query(
        "fields",
        "Show only these attributes; may be repeated.",
        {"type": "array", "items": {"type": "string"}},
    ),
)

LOCATION: Final = Parameter(
    name="Location",
    description="The URL of the created resource.",
    required=True,
    schema={"type": "string", "format": "uri"},
)
OP_OCC_LOCATION: Final = msgspec.structs.replace(
    LOCATION, description="The URL of the lifecycle operation."
)
LINK: Final = Parameter(
    name="Link",
    description="The URL of the next page, if there is one, with rel=next"
    " (IETF RFC 8288).",
)
#: request a part of a file (IETF RFC 9110, 14.2 and 13.1.5)
RANGE: Final = (
    Parameter(
        name="Range",
        description="The bytes of the file to send; a single range.",
        schema={"type": "string", "examples": ["bytes=0-1023"]},
    ),
    Parameter(
        name="If-Range",
        description="The ETag of the file that the range belongs to; if the"
        " file has changed, all of it is sent.",
    ),
)
#: response headers of a file
FILE: Final = (
    Parameter(name="Accept-Ranges", description="Ranges are supported."),
    Parameter(name="ETag", description="Changes whenever the file does."),
    Parameter(
        name="Content-Range",
        description="With 206: the position of the bytes, and the size of the"
        " file.",
    ),
)
#: the precondition of a change (IETF RFC 9110, 13.1.1)
IF_MATCH: Final = Parameter(
    name="If-Match",
    description="ETags, one of which the resource must have, or *.",
)
IDEMPOTENCY_KEY: Final = Parameter(
    name="Idempotency-Key",
    description="A key that the client chooses for this request alone: if the"
    " request is repeated, it takes effect once.",
    schema={"type": "string", "pattern": "^[!-~]{1,255}$"},
)
TASK: Final = (IF_MATCH, IDEMPOTENCY_KEY)
#: saves sending a resource that the client has already (RFC 9110, 13.1.2)
IF_NONE_MATCH: Final = Parameter(
    name="If-None-Match",
    description="ETags that the client has seen; a resource with one of them"
    " is not sent again (304).",
)
ETAG: Final = Parameter(
    name="ETag",
    description="Changes whenever the resource does.",
    required=True,
    schema={"type": "string", "pattern": '^"[!#-~]+"$'},
)
#: arguments of ``http.endpoint`` for a list in pages
PAGES: Final[Mapping[str, Any]] = {
    "parameters": LIST,
    "response_headers": (LINK,),
}
#: arguments of ``http.endpoint`` for a resource with an ETag
CONDITIONAL: Final[Mapping[str, Any]] = {
    "other_statuses": (304,),
    "parameters": (IF_NONE_MATCH,),
    "response_headers": (ETAG,),
}
#: the same for a lifecycle operation, whose state a request can wait for
CONDITIONAL_WAIT: Final[Mapping[str, Any]] = {
    **CONDITIONAL,
    "parameters": (IF_NONE_MATCH, WAIT, STATE_NOT),
}
REQUEST_ID: Final = Parameter(
    name="X-Openstack-Request-Id",
    description="The id of the request in the log of the server.",
    required=True,
)
RESPONSE_VERSIONS: Final = {
    api: Parameter(
        name="Version",
        description="The version of the API that was used (SOL013 9.1).",
        required=True,
        schema={"const": api.number},
    )
    for api in Api
}
ACCEPT_RANGES: Final = Parameter(
    name="Accept-Ranges",
    description="Ranges are not supported.",
    required=True,
    schema={"const": "none"},
)
#: headers that the middleware adds, by their names as components; the version
#: is that of the API, and the last is of lifecycle management only
COMMON_RESPONSE_HEADERS: Final = {
    REQUEST_ID.name: REQUEST_ID,
    "Version": RESPONSE_VERSIONS[Api.LCM_V2],
    "VersionV1": RESPONSE_VERSIONS[Api.LCM_V1],
    "VersionOfPackages": RESPONSE_VERSIONS[Api.PACKAGES_V2],
    "VersionOfPackagesV1": RESPONSE_VERSIONS[Api.PACKAGES_V1],
    ACCEPT_RANGES.name: ACCEPT_RANGES,
}
