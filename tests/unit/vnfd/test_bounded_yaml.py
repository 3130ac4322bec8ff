from pathlib import Path

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.limits import Limits

NAME = "a.yaml"


class TestValues(testtools.TestCase):
    def test_scalars(self) -> None:
        for text, expected in (
            ("text", "text"),
            ("two words", "two words"),
            ("''", ""),
            ("'1'", "1"),
            ('"null"', "null"),
            ("~", None),
            ("null", None),
            ("true", True),
            ("False", False),
            ("yes", True),
            ("OFF", False),
            ("yEs", "yEs"),
            ("y", "y"),
            ("0", 0),
            ("-12", -12),
            ("1_000", 1000),
            ("0644", 0o644),
            ("0o17", 0o17),
            ("0x1F", 31),
            ("-0x10", -16),
            ("0b101", 5),
            ("0x", "0x"),
            ("0_", "0_"),
            ("9223372036854775807", 2**63 - 1),
            ("-9223372036854775808", -(2**63)),
            ("1.5", 1.5),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("1e999", "1e999"),
            ("08", 8.0),
            (".inf", ".inf"),
            (".nan", ".nan"),
            ("12:30:45", "12:30:45"),
            ("2026-11-20", "2026-11-20"),
            ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"),
            ("=", "="),
            ("1.2.3", "1.2.3"),
            ("!!str 5", "5"),
            ("! 5", "5"),
            ("!!int '5'", 5),
            ("!!float '5'", 5.0),
            ("!!bool 'yes'", True),
            ("!!null ''", None),
        ):
            value = bounded_yaml.load(f"k: {text}", NAME)["k"]
            self.assertEqual(expected, value, text)
            self.assertIs(type(expected), type(value), text)

    def test_keys_are_strings_as_written(self) -> None:
        text = "on: 1\n0644: 2\n~: 3\n1.0: 4\n!!str x: 5\n&k y: *k"
        self.assertEqual(
            {"on": 1, "0644": 2, "~": 3, "1.0": 4, "x": 5, "y": "y"},
            bounded_yaml.load(text, NAME),
        )

    def test_aliases_are_expanded(self) -> None:
        value = bounded_yaml.load("a: &x {b: [1]}\nc: *x\nd: [*x]", NAME)
        self.assertEqual({"b": [1]}, value["c"])
        value["a"]["b"].append(2)
        self.assertEqual([{"b": [1]}], value["d"])

    def test_merge_keys(self) -> None:
        text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\n"
        for merge, expected in (
            ("<<: *x", {"a": 1, "b": 1}),
            ("<<: *x\n  b: 3", {"a": 1, "b": 3}),
            ("b: 3\n  <<: *x", {"a": 1, "b": 3}),
            ("<<: [*x, *y]", {"a": 1, "b": 1, "c": 2}),
            ("<<: [*y, *x]", {"a": 1, "b": 2, "c": 2}),
            ("<<: {d: 1}\n  <<: {e: 2}", {"d": 1, "e": 2}),
            ("<<: []\n  a: 1", {"a": 1}),
        ):
            value = bounded_yaml.load(f"{text}z:\n  {merge}", NAME)
            self.assertEqual(expected, value["z"])

    def test_an_empty_text_is_none(self) -> None:
        for text in ("", "---\n", "# only a comment", "null"):
            self.assertIsNone(bounded_yaml.load(text, NAME))
            self.assertEqual([], bounded_yaml.load_all(text, NAME))

    def test_documents(self) -> None:
        text = "a: &x 1\n---\n# nothing\n---\n- 2\n...\n---\nb: 3\n"
        self.assertEqual(
            [{"a": 1}, [2], {"b": 3}],
            bounded_yaml.load_all(text, NAME),
        )


class TestFaults(testtools.TestCase):
    def _check(self, text: str, expected: str, limits: Limits) -> None:
        error = self.assertRaises(
            errors.InvalidPackage,
            bounded_yaml.load,
            text,
            NAME,
            limits,
        )
        self.assertEqual(f"{NAME}{expected}", str(error))

    def test_errors_have_line_and_column(self) -> None:
        for text, expected in (
            (
                "a: 1\nb: 2\na: 3",
                ", line 3, column 1: duplicate key 'a'",
            ),
            ("a: 1\n'a': 3", ", line 2, column 1: duplicate key 'a'"),
            ("? [1]\n: 2", ", line 1, column 3: a key is not a plain scalar"),
            (
                "a: 1\n*a : 2",
                ", line 2, column 1: a key is not a plain scalar",
            ),
            ("a: *b", ", line 1, column 4: there is no anchor 'b'"),
            (
                "a: &a [*a]",
                ", line 1, column 8: the alias 'a' contains itself",
            ),
            (
                "a: &a {b: *a}",
                ", line 1, column 11: the alias 'a' contains itself",
            ),
            (
                "a: !!python/name:os.system ''",
                (
                    ", line 1, column 4: the tag"
                    " tag:yaml.org,2002:python/name:os.system is not accepted"
                ),
            ),
            (
                "a: !!timestamp 2026-11-20",
                (
                    ", line 1, column 4: the tag tag:yaml.org,2002:timestamp"
                    " is not accepted"
                ),
            ),
            (
                "a: !!binary aGVsbG8=",
                (
                    ", line 1, column 4: the tag tag:yaml.org,2002:binary"
                    " is not accepted"
                ),
            ),
            ("a: !own {}", ", line 1, column 4: the tag !own is not accepted"),
            ("a: !own []", ", line 1, column 4: the tag !own is not accepted"),
            (
                "!!int a: 1",
                (
                    ", line 1, column 1: the tag tag:yaml.org,2002:int is not"
                    " accepted"
                ),
            ),
            ("a: !!int x", ", line 1, column 4: 'x' is not an integer"),
            ("a: !!float x", ", line 1, column 4: 'x' is not a finite number"),
            (
                "a: !!float 1e999",
                ", line 1, column 4: '1e999' is not a finite number",
            ),
            ("a: !!bool x", ", line 1, column 4: 'x' is not a boolean"),
            ("a: !!null x", ", line 1, column 4: 'x' is not null"),
            (
                "a: 9223372036854775808",
                ", line 1, column 4: the number is too large",
            ),
            (
                "a: -9223372036854775809",
                ", line 1, column 4: the number is too large",
            ),
            (
                "a: 1" + "0" * 5000,
                ", line 1, column 4: the number is too large",
            ),
            (
                "a:\n  <<: text",
                ", line 2, column 3: << merges a value that is not a map",
            ),
            ("a: [1", ", line 2, column 1: did not find expected ',' or ']'"),
            (
                "a: 1\n--- \nb: 2",
                ": one YAML document is expected, not 2",
            ),
            (
                "\x00",
                ": this is not YAML: unacceptable character #x0000: control characters are not allowed",
            ),
            (
                "a: \ud800",
                (
                    ": this is not YAML: 'utf-8' codec can't encode"
                    " character '\\ud800' in position 3: surrogates not allowed"
                ),
            ),
        ):
            self._check(text, expected, Limits())

    def test_a_long_text(self) -> None:
        self._check(
            "a: " + "b" * 100,
            ": the YAML text is longer than the 100 bytes accepted",
            Limits(max_yaml_bytes=100),
        )

    def test_deep_nesting(self) -> None:
        limits = Limits(max_yaml_depth=4)
        self.assertEqual([[[[]]]], bounded_yaml.load("[[[[]]]]", "", limits))
        for text, column in (
            ("[[[[[]]]]]", 5),
            ("[[[[1]]]]", 5),
            ("a: {b: {c: {d: 1}}}", 16),
            ("[&x [[1]], [*x]]", 13),
        ):
            self._check(
                text,
                f", line 1, column {column}: values are nested deeper than 4",
                limits,
            )

    def test_nesting_far_beyond_the_limit(self) -> None:
        for opening in ("[", "{a: ", "- "):
            self._check(
                opening * 200_000,
                f", line 1, column {64 * len(opening) + 1}:"
                " values are nested deeper than 64",
                Limits(),
            )

    def test_many_values(self) -> None:
        self._check(
            "[1,2,3,4,5]",
            ", line 1, column 8: there are more than 4 values",
            Limits(max_yaml_nodes=4),
        )

    def test_aliases_count_as_their_values(self) -> None:
        lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
        for name, before in zip("bcdefgh", "abcdefg", strict=True):
            several = ", ".join([f"*{before}"] * 9)
            lines.append(f"{name}: &{name} [{several}]")
        error = self.assertRaises(
            errors.InvalidPackage,
            bounded_yaml.load,
            "\n".join(lines),
            NAME,
        )
        self.assertIn("there are more than 200000 values", str(error))


#: a text, the number of its values and keys, and how deep they are nested
SIZES = (
    ("1", 1, 1),
    ("[1, 2, 3, 4, 5]", 6, 2),
    ("a: 1", 3, 2),
    ("a: 1\n---\nb: [1]", 7, 3),
    ("&k a: *k", 3, 2),
    ("a: &x [1, 2]\nb: *x", 9, 3),
    ("a: &x [[1]]\nb: [*x]", 10, 5),
    ("a: &x {b: &y [1]}\nc: *y\nd: [*x]", 15, 5),
    # the height of an anchored value is its own
    ("- [[[1]]]\n- &x [1]\n- [[*x]]", 11, 5),
    ("- &x [[1]]\n- [&y [1], [[*y]]]\n- [*x]", 15, 6),
)


class TestSizes(testtools.TestCase):
    def test_values_and_nesting_are_counted(self) -> None:
        for text, nodes, depth in SIZES:
            limits = Limits(max_yaml_nodes=nodes, max_yaml_depth=depth)
            bounded_yaml.load_all(text, NAME, limits)
            for fewer, message in (
                (Limits(max_yaml_nodes=nodes - 1), "there are more than"),
                (Limits(max_yaml_depth=depth - 1), "nested deeper than"),
            ):
                error = self.assertRaises(
                    errors.InvalidPackage,
                    bounded_yaml.load_all,
                    text,
                    NAME,
                    fewer,
                )
                self.assertIn(message, str(error), text)

    def test_a_text_may_be_as_long_as_the_limit(self) -> None:
        limits = Limits(max_yaml_bytes=100)
        self.assertEqual("b" * 100, bounded_yaml.load("b" * 100, "", limits))


class TestTextOf(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.path = Path(self.useFixture(fixtures.TempDir()).path) / "file"

    def refused(self, limit: int | None = None) -> str:
        error = self.assertRaises(
            errors.InvalidPackage,
            bounded_yaml.text_of,
            self.path,
            NAME,
            limit,
        )
        return str(error)

    def test_files_up_to_a_limit(self) -> None:
        self.path.write_bytes(b"abc")
        for limit in (None, 4, 3):
            text = bounded_yaml.text_of(self.path, NAME, limit)
            self.assertEqual("abc", text)
        for limit in (2, 1, 0):
            self.assertEqual(
                f"{NAME}: longer than the {limit} bytes accepted here",
                self.refused(limit),
            )

    def test_the_usual_limit(self) -> None:
        limit = Limits().max_yaml_bytes
        self.path.write_bytes(b"a" * limit)
        self.assertEqual("a" * limit, bounded_yaml.text_of(self.path, NAME))
        self.path.write_bytes(b"a" * (limit + 1))
        self.assertIn(f"longer than the {limit} bytes", self.refused())

    def test_only_utf8(self) -> None:
        self.path.write_bytes(b"\xef\xbb\xbfa")
        self.assertEqual("a", bounded_yaml.text_of(self.path, NAME))
        self.path.write_bytes(b"\xff")
        self.assertEqual(f"{NAME}: not UTF-8", self.refused())
