import base64
import datetime
from urllib import parse

import testtools

from tacker_cnf import errors
from tacker_cnf.api import paging
from tacker_cnf.list_query import Position
from tests.factories import NOW

POSITIONS = [
    Position(NOW, "an-id"),
    Position(NOW + datetime.timedelta(microseconds=1), "ü" * 85),
    Position(datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), ""),
]


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


BAD = [
    "",
    "abc",
    "=",
    "ü",
    "a b",
    "%00",
    packed("null"),
    packed("[]"),
    packed("[1]"),
    packed('[1, "a", 2]'),
    packed('["1", "a"]'),
    packed("[1, 2]"),
    packed('[-1, "a"]'),
    packed('[1.5, "a"]'),
    packed('[9999999999999999999, "a"]'),
    packed('[1, "\\u0000"]'),
    packed('[1, "a\\u0000b"]'),
    packed(f'[1, "{"a" * 256}"]'),
    packed("[1,"),
    paging.encode_marker(POSITIONS[0]) + "A",
    paging.encode_marker(POSITIONS[0])[:-4],
]


class TestMarker(testtools.TestCase):
    def test_a_marker_is_decoded_to_its_position(self) -> None:
        for position in POSITIONS:
            marker = paging.encode_marker(position)
            self.assertEqual(position, paging.decode_marker(marker))
            self.assertEqual(marker, parse.quote(marker, safe=""))

    def test_an_unknown_marker_is_rejected(self) -> None:
        for marker in BAD:
            error = self.assertRaises(
                errors.InvalidMarker, paging.decode_marker, marker
            )
            self.assertEqual(
                f"nextpage_opaque_marker: {marker!r} is not a marker of this "
                "list.",
                str(error),
            )


class TestLink(testtools.TestCase):
    def test_the_link_has_the_other_parameters(self) -> None:
        query = [
            ("filter", "(eq,a,'<>;\" ü&=+')"),
            ("nextpage_opaque_marker", "the one before"),
            ("all_fields", "true"),
            ("x", ""),
        ]
        link = paging.next_link("https://h/list", query, POSITIONS[0])
        url, _, relation = link.partition("; ")
        self.assertEqual('rel="next"', relation)
        self.assertEqual(("<", ">"), (url[0], url[-1]))
        self.assertNotIn(">", url[:-1])
        base, _, text = url[1:-1].partition("?")
        self.assertEqual("https://h/list", base)
        marker = paging.encode_marker(POSITIONS[0])
        self.assertEqual(
            [
                ("filter", "(eq,a,'<>;\" ü&=+')"),
                ("all_fields", "true"),
                ("x", ""),
                ("nextpage_opaque_marker", marker),
            ],
            parse.parse_qsl(text, keep_blank_values=True),
        )
