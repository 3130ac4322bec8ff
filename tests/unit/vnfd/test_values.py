"""Values of a definitions file, read by their expected type."""

import functools
from collections.abc import Callable
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.vnfd.values import MAX_SIZE, Budget, Value

#: what is written, and the size in bytes
SIZES: list[tuple[Any, int | None]] = [
    (None, None),
    (0, 0),
    (5, 5),
    ("1 B", 1),
    ("2 kB", 2_000),
    ("2 KiB", 2_048),
    ("3 MB", 3_000_000),
    ("3 MiB", 3_145_728),
    ("4 GB", 4_000_000_000),
    ("4 GiB", 4_294_967_296),
    ("1 TB", 1_000_000_000_000),
    ("1 TiB", 1_099_511_627_776),
    ("1.5 kB", 1_500),
    ("1.5b", 1),
    (" 10  b ", 10),
    ("1048576 TiB", 2**60),
    ("0" * 17 + "1 b", 1),
]
#: what is written, and the seconds
TIMES: list[tuple[Any, float | None]] = [
    (None, None),
    ("2 d", 172_800),
    ("2 h", 7_200),
    ("2 m", 120),
    ("2 s", 2),
    ("5 ms", 0.005),
    ("5 us", 0.000_005),
    ("5 ns", 0.000_000_005),
    ("1.5 s", 1.5),
]


def value(written: Any, **fields: Any) -> Value:
    return Value(written, "a.yaml", "here", **fields)


class ValueTest(testtools.TestCase):
    def refused(
        self, read: Callable[[], Any], message: str, path: str = "here"
    ) -> None:
        error = self.assertRaises(errors.InvalidPackage, read)
        self.assertEqual(f"a.yaml: {path}: {message}", str(error))


class TestQuantities(ValueTest):
    def test_sizes(self) -> None:
        for written, expected in SIZES:
            self.assertEqual(expected, value(written).size(), str(written))

    def test_times(self) -> None:
        for written, expected in TIMES:
            found = value(written).seconds()
            if expected is not None and found is not None:
                found = round(found, 12)
            self.assertEqual(expected, found, str(written))

    def test_what_is_no_size(self) -> None:
        for written in (
            "",
            "5",
            "GB",
            "5 XB",
            "-5 GB",
            ".5 GB",
            "5. GB",
            "5 GB 5",
            "1" * 19 + " b",
            "5 s",
        ):
            message = f"a size like 2 GB is expected, not {written!r}"
            self.refused(value(written).size, message)
        self.refused(value(5.0).size, "a text is expected; put 5.0 in quotes")
        for written in ("1048577 TiB", "1073741825 GiB"):
            message = f"{written} is more than {MAX_SIZE} bytes"
            self.refused(value(written).size, message)

    def test_what_is_no_time(self) -> None:
        for written in ("5", "5 GB", "5 min"):
            message = f"a time like 30 s is expected, not {written!r}"
            self.refused(value(written).seconds, message)

    def test_counts(self) -> None:
        for number in (0, 1, 7):
            self.assertEqual(number, value(number).count())
            self.assertEqual(number, value(number).count_or_none())
        self.assertIsNone(value(None).count_or_none())
        expected = "a number of 0 or more is expected, not"
        for written, found in (
            (None, "nothing"),
            (True, "a boolean"),
            ("1", "a text"),
            (1.0, "a number"),
            (-1, "-1"),
        ):
            self.refused(value(written).count, f"{expected} {found}")


class TestTexts(ValueTest):
    def test_texts(self) -> None:
        self.assertEqual("a", value("a").text())
        self.assertEqual("a", value("a").text_or_none())
        self.assertIsNone(value(None).text_or_none())
        self.assertEqual(("a", "b"), value(["a", "b"]).texts())
        for written in (True, 1, 1.5):
            message = f"a text is expected; put {written} in quotes"
            self.refused(value(written).text, message)
        for other, found in (([], "a list"), ({}, "a map"), (None, "nothing")):
            message = f"a text is expected, not {found}"
            self.refused(value(other).text, message)

    def test_booleans(self) -> None:
        for written in (True, False, None):
            self.assertIs(written, value(written).boolean_or_none())
        for other, found in (("true", "a text"), (0, "an integer")):
            message = f"a boolean is expected, not {found}"
            self.refused(value(other).boolean_or_none, message)


class TestCollections(ValueTest):
    def test_maps(self) -> None:
        place = value({"a": {"b": 1}, "c": None})
        self.assertEqual(1, place.get("a", "b").raw)
        self.assertEqual("here.a.b", place.get("a", "b").path)
        self.assertEqual(place, place.get())
        for keys in (("c",), ("c", "d"), ("e",), ("e", "f")):
            self.assertTrue(place.get(*keys).absent)
        self.assertFalse(place.get("a").absent)
        self.assertEqual(["a", "c"], list(place.entries()))
        self.assertEqual("here.a", place.entries()["a"].path)
        self.assertEqual({}, value(None).entries())
        for read in (lambda: value([]).get("a"), value("x").entries):
            error = self.assertRaises(errors.InvalidPackage, read)
            self.assertIn("a map is expected, not a ", str(error))

    def test_lists(self) -> None:
        items = value(["a", {"b": 1}]).items()
        self.assertEqual(["a", {"b": 1}], [item.raw for item in items])
        self.assertEqual(["here.0", "here.1"], [item.path for item in items])
        self.assertEqual([], value(None).items())
        self.refused(value("a").items, "a list is expected, not a text")

    def test_named_values(self) -> None:
        for written in ({"a": 1, "b": 2}, [{"a": 1}, {"b": 2}]):
            found = value(written).named_values()
            self.assertEqual(
                [("a", 1), ("b", 2)], [(name, v.raw) for name, v in found]
            )
            self.assertEqual("here.b", found[1][1].path)
        self.assertEqual([], value(None).named_values())
        for several in ({}, {"a": 1, "b": 2}):
            message = "a map of exactly one key is expected"
            self.refused(value([several]).named_values, message, "here.0")

    def test_long_keys_are_cut(self) -> None:
        place = Value({"k" * 99: {"l" * 99: 1}}, "a.yaml")
        inner = place.get("k" * 99, "l" * 99)
        self.assertEqual("k" * 80 + "." + "l" * 80, inner.path)
        self.assertEqual("a.yaml: x", str(place.fault("x")))


class TestInputs(ValueTest):
    def test_an_input_is_its_default(self) -> None:
        inputs = {"a": 1, "b": None}
        for written, expected in (
            ({"get_input": "a"}, 1),
            ({"get_input": ["a"]}, 1),
            ({"get_input": "b"}, None),
            ({"get_input": "a", "x": 1}, {"get_input": "a", "x": 1}),
            ({"get_other": "a"}, {"get_other": "a"}),
        ):
            self.assertEqual(expected, value(written, inputs=inputs).raw)
        inner = value({"k": {"get_input": "a"}}, inputs=inputs).get("k")
        self.assertEqual(1, inner.raw)
        for name in ("c", ["a", "b"], [], 1):
            place = value({"get_input": name}, inputs=inputs)
            message = f"get_input: there is no input {name!r}"
            self.refused(functools.partial(getattr, place, "raw"), message)


class TestBudget(ValueTest):
    def test_reads_are_counted(self) -> None:
        place = value({"a": {"b": 1}}, budget=Budget(2))
        self.assertEqual(1, place.get("a", "b").raw)
        message = "the VNFD takes too long to read"
        self.refused(lambda: place.get("a"), message)
        place = value(["a", "b"], budget=Budget(1))
        self.refused(place.items, message)
