"""The parameters and headers of requests and answers, as they are told in the
OpenAPI document. Handlers name theirs in ``http.endpoint``.
"""

import types
from collections.abc import Mapping
from typing import Any, Final

import msgspec

STRING: Final = types.MappingProxyType({"type": "string"})
#: says enough by being there; some clients cannot send a name alone
FLAG: Final[Mapping[str, Any]] = {"type": "string", "enum": ["", "true"]}


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a request, or one header of an answer."""

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


VERSION: Final = Parameter(
    name="Version",
    description="The version of the API that the client speaks (SOL013 9.2);"
    " -impl: and more may follow.",
    required=True,
    schema={"type": "string", "enum": ["2.0.0"]},
)
FILTER: Final = _query(
    "filter", "Only what these expressions are true of (SOL013 5.2)."
)
MARKER: Final = _query(
    "nextpage_opaque_marker",
    "Where a page begins; the Link header of the page before it gives it"
    " (SOL013 5.4).",
)
#: the query of a list (SOL013 clause 5)
LIST: Final = (
    FILTER,
    _query("all_fields", "Show all attributes (SOL013 5.3).", FLAG),
    _query(
        "fields",
        "Of the complex optional attributes show only these, with commas"
        " between them.",
    ),
    _query(
        "exclude_fields",
        "Show all attributes but these, with commas between them.",
    ),
    _query(
        "exclude_default",
        "Leave out what is left out without a selector; fields may stand"
        " beside it.",
        FLAG,
    ),
    MARKER,
)
#: the query of the list of VIMs, in the words of the CLI
VIMS: Final = (
    _query("id", "Only the VIM of this id."),
    _query("name", "Only the VIM of this name."),
    _query(
        "fields",
        "Show only these attributes; it may be given several times.",
        {"type": "array", "items": {"type": "string"}},
    ),
)

LOCATION: Final = Parameter(
    name="Location",
    description="The URL of what was made.",
    required=True,
    schema={"type": "string", "format": "uri"},
)
OP_OCC_LOCATION: Final = msgspec.structs.replace(
    LOCATION, description="The URL of the lifecycle operation that begins."
)
LINK: Final = Parameter(
    name="Link",
    description="The URL of the next page with rel=next (IETF RFC 8288),"
    " when there is one.",
)
#: how a part of a file is asked for (IETF RFC 9110, 14.2 and 13.1.5)
RANGE: Final = (
    Parameter(
        name="Range",
        description="The bytes of the file to give; one range alone.",
        schema={"type": "string", "examples": ["bytes=0-1023"]},
    ),
    Parameter(
        name="If-Range",
        description="The ETag of the file that the range is of; of another"
        " file the whole is given.",
    ),
)
#: what is told of a file
FILE: Final = (
    Parameter(name="Accept-Ranges", description="Ranges may be asked for."),
    Parameter(name="ETag", description="Changes whenever the file does."),
    Parameter(
        name="Content-Range",
        description="With 206: which bytes these are, and of how many.",
    ),
)
#: the terms on which a resource is changed (IETF RFC 9110, 13.1.1)
IF_MATCH: Final = Parameter(
    name="If-Match",
    description="ETags of the resource, of which it has to have one, or *.",
)
IDEMPOTENCY_KEY: Final = Parameter(
    name="Idempotency-Key",
    description="A name that the caller chose for this request alone: however"
    " often the request comes, it acts once.",
    schema={"type": "string", "pattern": "^[!-~]{1,255}$"},
)
TASK: Final = (IF_MATCH, IDEMPOTENCY_KEY)
#: how what the caller has already is not told again (RFC 9110, 13.1.2)
IF_NONE_MATCH: Final = Parameter(
    name="If-None-Match",
    description="ETags that the caller has seen; what has one of them is not"
    " told again.",
)
ETAG: Final = Parameter(
    name="ETag",
    description="Changes whenever the resource does.",
    required=True,
    schema={"type": "string", "pattern": '^"[!#-~]+"$'},
)
REQUEST_ID: Final = Parameter(
    name="X-Openstack-Request-Id",
    description="What the log of the server calls this request.",
    required=True,
)
RESPONSE_VERSION: Final = Parameter(
    name="Version",
    description="The version of the API that was used (SOL013 9.1).",
    required=True,
    schema={"const": "2.0.0"},
)
ACCEPT_RANGES: Final = Parameter(
    name="Accept-Ranges",
    description="Parts of an answer cannot be asked for.",
    required=True,
    schema={"const": "none"},
)
#: what middleware signs answers with; the last two are of LCM alone
COMMON_RESPONSE_HEADERS: Final = (REQUEST_ID, RESPONSE_VERSION, ACCEPT_RANGES)
