"""Pages of a list (SOL013 5.4): markers and links."""

import base64
import datetime
from collections.abc import Iterable
from typing import Annotated, Final
from urllib import parse

import msgspec

from tacker_cnf import errors
from tacker_cnf.list_query import Position

MARKER: Final = "nextpage_opaque_marker"

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
#: microseconds since 1970, and an id
_Content = tuple[
    Annotated[int, msgspec.Meta(ge=0, le=250_000_000_000_000_000)],
    Annotated[str, msgspec.Meta(max_length=255, pattern=r"^[^\x00]*$")],
]


def encode_marker(position: Position) -> str:
    """Return the marker of the page behind a position."""
    moment = (position.timestamp - _EPOCH) // _MICROSECOND
    content = msgspec.json.encode((moment, position.id))
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def decode_marker(marker: str) -> Position:
    """Return the position of a marker.

    :raises InvalidMarker: encode_marker did not return this marker
    """
    try:
        padded = marker.encode() + b"=" * (-len(marker) % 4)
        content = base64.b64decode(padded, altchars=b"-_", validate=True)
        moment, row_id = msgspec.json.decode(content, type=_Content)
    except (ValueError, msgspec.DecodeError):
        raise errors.InvalidMarker(
            f"{MARKER}: {marker!r} is not a marker of this list."
        ) from None
    return Position(_EPOCH + moment * _MICROSECOND, row_id)


def next_link(
    url: str, query: Iterable[tuple[str, str]], last: Position
) -> str:
    """Return the Link header (RFC 8288) to the page behind a position."""
    other_parameters = [
        (name, value) for name, value in query if name != MARKER
    ]
    text = parse.urlencode([*other_parameters, (MARKER, encode_marker(last))])
    return f'<{url}?{text}>; rel="next"'
