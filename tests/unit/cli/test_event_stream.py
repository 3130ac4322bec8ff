"""Server-Sent Events, from bytes to values."""

from typing import Final

import testtools

from tacker_cnf.cli import event_stream
from tacker_cnf.cli.event_stream import Event
from tacker_cnf.cli.failures import InvalidResponse

#: text of a stream -> its events
STREAMS: Final = {
    "": [],
    ": keep-alive\n\n": [],
    "event: a\n\n": [],
    "id: 7\n\n": [Event("", id="7")],
    "data: 1\n\n": [Event("message", 1)],
    'event: a\ndata: {"b": 1}\nid: 7\n\n': [Event("a", {"b": 1}, "7")],
    "event:a\ndata:1\n\nevent:b\ndata:2\n\n": [Event("a", 1), Event("b", 2)],
    "data: [1,\ndata: 2]\n\n": [Event("message", [1, 2])],
    "event: a\r\ndata: 1\r\n\r\n": [Event("a", 1)],
    "event: a\rdata: 1\r\rdata: 2\n\n": [Event("a", 1), Event("message", 2)],
    "\N{ZERO WIDTH NO-BREAK SPACE}data: 1\n\n": [Event("message", 1)],
    "data: 1\nunknown: 2\nretry: 3\n\n": [Event("message", 1)],
    # the connection ended within an event
    "data: 1\n\nevent: a\ndata: 2\n": [Event("message", 1)],
    'data: "\\u001b[2J"\n\n': [Event("message", "\ufffd[2J")],
    'data: "\N{SNOWMAN}"\n\n': [Event("message", "\N{SNOWMAN}")],
}


class TestParse(testtools.TestCase):
    def test_events_of_streams(self) -> None:
        for text, events in STREAMS.items():
            content = text.encode()
            for size in (1, 2, 3, len(content) or 1):
                chunks = [
                    content[start : start + size]
                    for start in range(0, len(content), size)
                ]
                self.assertEqual(
                    events,
                    list(event_stream.parse(chunks)),
                    f"{text!r} in pieces of {size}",
                )

    def test_what_is_not_an_event(self) -> None:
        limit = event_stream.MAX_EVENT_CHARS
        for content in (
            b"data: {\n\n",
            b"data: " + b"[" * 100_000 + b"\n\n",
            b"data: " + b"1" * limit,
            b"data: " + b"1" * limit + b"\n",
            b"data: 12345678\n" * (limit // 8),
        ):
            self.assertRaises(
                InvalidResponse, list, event_stream.parse([content])
            )

    def test_invalid_utf_8_is_replaced(self) -> None:
        (event,) = event_stream.parse([b'data: "\xff"\n\n'])
        self.assertEqual("\ufffd", event.data)
