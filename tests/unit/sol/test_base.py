"""The rules of all SOL types."""

import datetime as dt
from typing import Any

import msgspec
import testtools

from tacker_cnf.sol.base import (
    DateTime,
    Identifier,
    SolType,
    decode,
    encode,
    utc_seconds,
)
from tests.unit.sol import base


class Sample(SolType):
    first_name: str | None = None
    many_names: tuple[str, ...] = ()
    more: dict[str, Any] = msgspec.field(default_factory=dict)
    sample_id: Identifier
    born_at: DateTime | None = None


class TestSolType(base.TestCase):
    def test_attributes_are_camel_case_in_json(self) -> None:
        sample = Sample(
            sample_id="s1", first_name="Ada", many_names=("Lovelace",)
        )
        self.assertEqual(
            b'{"firstName":"Ada","manyNames":["Lovelace"],"sampleId":"s1"}',
            encode(sample),
        )

    def test_default_values_are_not_encoded(self) -> None:
        absent = decode(b'{"sampleId":"s1"}', Sample)
        empty = decode(
            b'{"sampleId":"s1","manyNames":[],"more":{},"firstName":null}',
            Sample,
        )
        self.assertEqual(absent, empty)
        self.assertEqual(b'{"sampleId":"s1"}', encode(empty))

    def test_values_do_not_share_a_dictionary(self) -> None:
        one, two = Sample(sample_id="s1"), Sample(sample_id="s2")
        self.assertIsNot(one.more, two.more)

    def test_unknown_attributes_are_ignored(self) -> None:
        sample = decode(b'{"sampleId":"s1","x":[{"y":1}]}', Sample)
        self.assertEqual(Sample(sample_id="s1"), sample)

    def test_values_are_immutable(self) -> None:
        sample = Sample(sample_id="s1")
        self.assertRaises(AttributeError, setattr, sample, "sample_id", "s2")

    def test_arguments_are_keyword_only(self) -> None:
        self.assertRaises(TypeError, Sample, "s1")

    def test_a_derived_type_may_require_more(self) -> None:
        class Derived(Sample):
            last_name: str

        self.assertRaises(TypeError, Derived, sample_id="s1")
        derived = Derived(sample_id="s1", last_name="Byron")
        self.assertEqual(
            b'{"sampleId":"s1","lastName":"Byron"}', encode(derived)
        )


class TestErrors(base.TestCase):
    CASES: tuple[tuple[object, str], ...] = (
        ({}, "Object missing required field `sampleId`"),
        ([], "Expected `object`, got `array`"),
        (
            {"sampleId": 1},
            "Expected `str`, got `int` - at `$.sampleId`",
        ),
        (
            {"sampleId": ""},
            "Expected `str` of length >= 1 - at `$.sampleId`",
        ),
        (
            {"sampleId": "s" * 256},
            "Expected `str` of length <= 255 - at `$.sampleId`",
        ),
        (
            {"sampleId": "s1", "manyNames": "Ada"},
            "Expected `array`, got `str` - at `$.manyNames`",
        ),
        (
            {"sampleId": "s1", "manyNames": ["Ada", None]},
            "Expected `str`, got `null` - at `$.manyNames[1]`",
        ),
        (
            {"sampleId": "s1", "more": 5},
            "Expected `object`, got `int` - at `$.more`",
        ),
        (
            {"sampleId": "s1", "bornAt": "2026-11-20T09:41:02"},
            "Expected `datetime` with a timezone component - at `$.bornAt`",
        ),
        (
            {"sampleId": "s1", "bornAt": "yesterday"},
            "Invalid RFC3339 encoded datetime - at `$.bornAt`",
        ),
    )

    def test_the_message_has_the_path(self) -> None:
        for body, message in self.CASES:
            with self.subTest(message):
                self.assert_rejected(Sample, body, message)

    def test_invalid_json_is_a_decode_error(self) -> None:
        error = self.assertRaises(msgspec.DecodeError, decode, b"{'a'", Sample)
        self.assertNotIsInstance(error, msgspec.ValidationError)


class TestUtcSeconds(testtools.TestCase):
    SEOUL = dt.timezone(dt.timedelta(hours=9))
    WANTED = dt.datetime(2026, 11, 20, 9, 41, 2, tzinfo=dt.UTC)
    CASES = (
        dt.datetime(2026, 11, 20, 9, 41, 2, tzinfo=dt.UTC),
        dt.datetime(2026, 11, 20, 9, 41, 2, 999_999, tzinfo=dt.UTC),
        dt.datetime(2026, 11, 20, 18, 41, 2, tzinfo=SEOUL),
    )

    def test_any_zone_becomes_utc_in_whole_seconds(self) -> None:
        for moment in self.CASES:
            with self.subTest(moment):
                self.assertEqual(self.WANTED, utc_seconds(moment))
                self.assertEqual(
                    b'"2026-11-20T09:41:02Z"', encode(utc_seconds(moment))
                )

    def test_a_time_without_a_zone_is_rejected(self) -> None:
        naive = self.WANTED.replace(tzinfo=None)
        error = self.assertRaises(ValueError, utc_seconds, naive)
        self.assertEqual("the time has no time zone", str(error))
