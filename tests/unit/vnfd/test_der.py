"""The parser of DER."""

import testtools

from tacker_cnf.vnfd import der
from tacker_cnf.vnfd.der import Unreadable, Value

LONG = b"x" * 128
#: data, and their values
VALUES: list[tuple[bytes, list[Value]]] = [
    (b"", []),
    (b"\x05\x00", [Value(5, b"", b"\x05\x00")]),
    (
        b"\x02\x01\x07\x04\x02ab",
        [Value(2, b"\x07", b"\x02\x01\x07"), Value(4, b"ab", b"\x04\x02ab")],
    ),
    (
        b"\x04\x7f" + LONG[:127],
        [Value(4, LONG[:127], b"\x04\x7f" + LONG[:127])],
    ),
    (b"\x04\x81\x80" + LONG, [Value(4, LONG, b"\x04\x81\x80" + LONG)]),
    (
        b"\x04\x82\x01\x00" + LONG * 2,
        [Value(4, LONG * 2, b"\x04\x82\x01\x00" + LONG * 2)],
    ),
    (b"\x1e\x00", [Value(0x1E, b"", b"\x1e\x00")]),
]
#: data that are not DER, and the error
MALFORMED = [
    (b"\x05", "not DER"),
    (b"\x05\x00\x05", "not DER"),
    # a tag of several bytes
    (b"\x1f\x00", "not DER"),
    (b"\xbf\x01\x00", "not DER"),
    # an indefinite length
    (b"\x30\x80\x00\x00", "not DER"),
    (b"\x04\x81", "not DER"),
    # lengths that are not in their shortest form
    (b"\x04\x81\x7f" + LONG[:127], "not DER"),
    (b"\x04\x82\x00\x80" + LONG, "not DER"),
    (b"\x04\x85\x01\x00\x00\x00\x00" + LONG, "not DER"),
    (b"\x04\x84\x01\x00\x00\x00" + LONG, "truncated"),
    (b"\x04\x02a", "truncated"),
    (b"\x04\x81\x81" + LONG, "truncated"),
]
#: encoded object identifier, and its dotted notation
OBJECT_IDS = [
    ("2a864886f70d010702", "1.2.840.113549.1.7.2"),
    ("00", "0.0"),
    ("27", "0.39"),
    ("28", "1.0"),
    ("4f", "1.39"),
    ("50", "2.0"),
    ("78", "2.40"),
    ("8837", "2.999"),
    ("2a8100", "1.2.128"),
    ("2a7f", "1.2.127"),
]


class TestValues(testtools.TestCase):
    def test_consecutive_values(self) -> None:
        for data, expected in VALUES:
            self.assertEqual(expected, der.values(data))

    def test_malformed_data(self) -> None:
        for data, message in MALFORMED:
            error = self.assertRaises(Unreadable, der.values, data)
            self.assertIn(message, str(error), data.hex())

    def test_the_number_of_values_is_limited(self) -> None:
        most = b"\x05\x00" * der.MAX_VALUES
        self.assertEqual(10_000, len(der.values(most)))
        error = self.assertRaises(Unreadable, der.values, most + b"\x05\x00")
        self.assertEqual("there are more than 10000 values", str(error))


class TestReadOne(testtools.TestCase):
    def test_exactly_one_value_of_a_tag(self) -> None:
        self.assertEqual(b"ab", der.read_one(b"\x04\x02ab", der.OCTETS))
        for data, tag in (
            (b"\x04\x02ab", der.SET),
            (b"\x31\x02ab", der.SEQUENCE),
            (b"\x04\x02abc", der.OCTETS),
            (b"\x04\x00\x04\x00", der.OCTETS),
            (b"", der.OCTETS),
        ):
            self.assertRaises(Unreadable, der.read_one, data, tag)


class TestDotted(testtools.TestCase):
    def test_object_identifiers(self) -> None:
        for encoded, expected in OBJECT_IDS:
            self.assertEqual(expected, der.dotted(bytes.fromhex(encoded)))
        longest = "1.2" + ".1" * 63
        self.assertEqual(longest, der.dotted(b"\x2a" + b"\x01" * 63))

    def test_malformed_ones(self) -> None:
        for data in (b"", b"\x80", b"\x2a\x86", b"\x2a" + b"\x01" * 64):
            self.assertRaises(Unreadable, der.dotted, data)
