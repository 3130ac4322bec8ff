"""Server-Sent Events of the server, over as many connections as it takes."""

import codecs
import io
import json
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final

import msgspec

from tacker_cnf.cli import failures
from tacker_cnf.cli.backoff import Backoff
from tacker_cnf.cli.rest_client import (
    EVENTS,
    Query,
    RestClient,
    printable_json,
)

#: the server sends a comment at least every 15 seconds
MAX_SILENCE_S: Final = 45
MAX_EVENT_CHARS: Final = 4 * 1024 * 1024


class Event(msgspec.Struct, frozen=True):
    """An event that was received."""

    type: str
    data: Any = None
    #: of an event that is sent again after it, on another connection
    id: str | None = None


#: what is yielded first of each connection: earlier events may be missing
CONNECTED: Final = Event("connected")


def follow(
    client: RestClient, query: Query, last_id: str | None = None
) -> Generator[Event, None, None]:
    """Yield events without an end; connect again when a connection ends.

    :raises NotFound: the server has no events
    :raises CommandFailed: it cannot be reached any more
    """
    backoff = Backoff()
    while True:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        try:
            with client.stream(
                EVENTS, query, headers, MAX_SILENCE_S
            ) as chunks:
                backoff.reset()
                yield CONNECTED
                for event in parse(chunks):
                    last_id = event.id or last_id
                    if event.type:
                        yield event
        except failures.CommandFailed as error:
            backoff.tolerate(error)
        backoff.pause()


def parse(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Parse a text/event-stream (WHATWG HTML, clause 9.2). An event without
    a type has only an id to continue with.

    :raises InvalidResponse: an event is not JSON, or too long
    """
    fields: dict[str, str] = {}
    for line in _lines(chunks):
        if not line:
            if "data" in fields:
                yield _event(fields)
            elif "id" in fields:
                yield Event("", id=fields["id"])
            fields = {}
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in fields:
            value = f"{fields['data']}\n{value}"
        if len(value) > MAX_EVENT_CHARS:
            raise failures.InvalidResponse(
                "An event of the server is too long."
            )
        fields[name] = value


def _event(fields: dict[str, str]) -> Event:
    try:
        data = printable_json(json.loads(fields["data"]))
    except (ValueError, RecursionError):
        raise failures.InvalidResponse(
            "An event of the server is not JSON."
        ) from None
    return Event(fields.get("event", "message"), data, fields.get("id"))


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder("utf-8-sig")("replace"), translate=True
    )
    pending = ""
    for chunk in chunks:
        pending += decoder.decode(chunk)
        if len(pending) > MAX_EVENT_CHARS:
            raise failures.InvalidResponse(
                "An event of the server is too long."
            )
        *lines, pending = pending.split("\n")
        yield from lines
