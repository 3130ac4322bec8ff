from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.api import selectors
from tacker_cnf.sol.base import SolType


class Leaf(SolType):
    id: str
    note: str | None = None
    tags: tuple[str, ...] = ()
    more: dict[str, Any] = msgspec.field(default_factory=dict)


class Links(SolType):
    self_: str = msgspec.field(name="self")


class Tree(SolType):
    id: str
    note: str | None = None
    needed: Leaf
    light: dict[str, Any] = msgspec.field(default_factory=dict)
    heavy: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()
    by_name: dict[str, Leaf] = msgspec.field(default_factory=dict)
    links: Links | None = msgspec.field(default=None, name="_links")


HEAVY = frozenset({"heavy", "by_name"})


def a_leaf(name: str) -> Leaf:
    return Leaf(id=name, note="n", tags=("t",), more={"a": 1, "b": {"c": 2}})


SHOWN = msgspec.to_builtins(
    Tree(
        id="i",
        note="n",
        needed=a_leaf("needed"),
        light={"a": 1, "b": {"c": 2, "d": 3}},
        heavy=a_leaf("heavy"),
        leaves=(a_leaf("1"), a_leaf("2")),
        by_name={"x": a_leaf("x"), "y/z": a_leaf("y")},
        links=Links(self_="here"),
    )
)
ALWAYS = {k: SHOWN[k] for k in ("id", "note", "needed", "_links")}
BARE = {"note": "n"}
ALL_NAMES = {"light", "heavy", "leaves", "byName"}

# the selectors, and the attributes shown in addition to the required ones
CASES: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({"all_fields": ""}, {n: SHOWN[n] for n in ALL_NAMES}),
    ({"all_fields": "true"}, {n: SHOWN[n] for n in ALL_NAMES}),
    ({}, {n: SHOWN[n] for n in ("light", "leaves")}),
    ({"exclude_default": ""}, {n: SHOWN[n] for n in ("light", "leaves")}),
    ({"fields": "heavy"}, {"heavy": SHOWN["heavy"]}),
    ({"fields": "heavy,light"}, {n: SHOWN[n] for n in ("light", "heavy")}),
    ({"fields": "heavy/more,heavy"}, {"heavy": SHOWN["heavy"]}),
    ({"fields": "heavy,heavy/more"}, {"heavy": SHOWN["heavy"]}),
    # simple and required ones are always shown
    ({"fields": "note,id,needed"}, {}),
    ({"fields": "heavy/id"}, {"heavy": {"id": "heavy", **BARE}}),
    (
        {"fields": "heavy/tags"},
        {"heavy": {"id": "heavy", **BARE, "tags": ("t",)}},
    ),
    (
        {"fields": "heavy/tags,heavy/more/b"},
        {
            "heavy": {
                "id": "heavy",
                **BARE,
                "tags": ("t",),
                "more": {"b": {"c": 2}},
            }
        },
    ),
    (
        {"fields": "leaves/more/a"},
        {
            "leaves": [
                {"id": "1", **BARE, "more": {"a": 1}},
                {"id": "2", **BARE, "more": {"a": 1}},
            ]
        },
    ),
    ({"fields": "byName/y~1z"}, {"byName": {"y/z": SHOWN["byName"]["y/z"]}}),
    (
        {"fields": "byName/x/id"},
        {"byName": {"x": {"id": "x", **BARE}}},
    ),
    ({"fields": "byName/nothing"}, {"byName": {}}),
    ({"fields": "light/b/c"}, {"light": {"b": {"c": 2}}}),
    (
        {"fields": "heavy/id", "exclude_default": ""},
        {
            "heavy": {"id": "heavy", **BARE},
            "light": SHOWN["light"],
            "leaves": SHOWN["leaves"],
        },
    ),
    (
        {"fields": "note", "exclude_default": ""},
        {n: SHOWN[n] for n in ("light", "leaves")},
    ),
    (
        {"exclude_fields": "heavy,byName"},
        {n: SHOWN[n] for n in ("light", "leaves")},
    ),
    # required attributes cannot be excluded
    ({"exclude_fields": "id,needed,_links"}, {n: SHOWN[n] for n in ALL_NAMES}),
    (
        {"exclude_fields": "light,byName,leaves,heavy/more,heavy/id"},
        {"heavy": {"id": "heavy", **BARE, "tags": ("t",)}},
    ),
    (
        {"exclude_fields": "light,heavy,byName,leaves/more/b,leaves/tags"},
        {
            "leaves": [
                {"id": "1", **BARE, "more": {"a": 1}},
                {"id": "2", **BARE, "more": {"a": 1}},
            ]
        },
    ),
    (
        {"exclude_fields": "heavy,byName,leaves,light/b/d,light/nothing"},
        {"light": {"a": 1, "b": {"c": 2}}},
    ),
]
REFUSED = [
    (
        {"all_fields": "", "fields": "heavy"},
        "all_fields and fields exclude each other; use one selector, or fields with exclude_default.",
    ),
    (
        {"all_fields": "", "exclude_default": ""},
        "all_fields and exclude_default exclude each other; use one selector, or fields with exclude_default.",
    ),
    (
        {"all_fields": "", "exclude_fields": "heavy"},
        "all_fields and exclude_fields exclude each other; use one selector, or fields with exclude_default.",
    ),
    (
        {"fields": "heavy", "exclude_fields": "light"},
        "exclude_fields and fields exclude each other; use one selector, or fields with exclude_default.",
    ),
    (
        {"exclude_default": "", "exclude_fields": "light"},
        "exclude_default and exclude_fields exclude each other; use one selector, or fields with exclude_default.",
    ),
    (
        {"fields": "a", "exclude_default": "", "exclude_fields": "light"},
        "exclude_default and exclude_fields and fields exclude each other; use one selector, or fields with exclude_default.",
    ),
    ({"all_fields": "false"}, "all_fields takes no value."),
    ({"exclude_default": "1"}, "exclude_default takes no value."),
    ({"fields": ""}, "fields: Tree has no attribute ''."),
    ({"fields": "heavy,"}, "fields: Tree has no attribute ''."),
    ({"fields": "heavy, light"}, "fields: Tree has no attribute ' light'."),
    ({"fields": "nope"}, "fields: Tree has no attribute 'nope'."),
    ({"fields": "by_name"}, "fields: Tree has no attribute 'by_name'."),
    ({"fields": "heavy/nope"}, "fields: Tree has no attribute 'heavy/nope'."),
    ({"fields": "id/x"}, "fields: Tree has no attribute 'id/x'."),
    (
        {"fields": "byName/x/no"},
        "fields: Tree has no attribute 'byName/x/no'.",
    ),
    ({"exclude_fields": "x"}, "exclude_fields: Tree has no attribute 'x'."),
    ({"fields": "light/~x"}, "fields: light/~x has an unknown escape."),
]


class TestApply(testtools.TestCase):
    def test_every_combination(self) -> None:
        for given, expected in CASES:
            selector = selectors.parse(given, Tree, HEAVY)
            left = selector.apply(SHOWN)
            self.assertEqual(ALWAYS | expected, left, str(given))
            self.assertEqual(
                [name for name in SHOWN if name in left],
                list(left),
                str(given),
            )

    def test_a_simple_attribute_can_be_excluded(self) -> None:
        given = {"exclude_fields": "note"}
        left = selectors.parse(given, Tree, HEAVY).apply(SHOWN)
        self.assertEqual(SHOWN.keys() - {"note"}, left.keys())

    def test_the_argument_is_not_changed(self) -> None:
        before = msgspec.json.encode(SHOWN)
        for given, _ in CASES:
            selectors.parse(given, Tree, HEAVY).apply(SHOWN)
        self.assertEqual(before, msgspec.json.encode(SHOWN))

    def test_absent_attributes_are_not_added(self) -> None:
        bare = {"id": "i", "needed": {"id": "n"}, "_links": {"self": "x"}}
        for given, _ in CASES:
            selector = selectors.parse(given, Tree, HEAVY)
            self.assertEqual(bare, selector.apply(bare), str(given))


class TestAttributes(testtools.TestCase):
    def test_attributes_that_are_not_shown_are_not_read(self) -> None:
        always = {"id", "note", "needed", "links"}
        names = {"by_name": "byName"}
        for given, expected in CASES:
            needed = selectors.parse(given, Tree, HEAVY).attributes
            shown = {
                name
                for name in ("light", "heavy", "leaves", "by_name")
                if names.get(name, name) in expected
            }
            self.assertEqual(always | shown, needed, str(given))

    def test_simple_attributes_are_always_read(self) -> None:
        given = {"exclude_fields": "note,heavy"}
        needed = selectors.parse(given, Tree, HEAVY).attributes
        self.assertEqual(set(Tree.__struct_fields__) - {"heavy"}, needed)


class TestParse(testtools.TestCase):
    def test_invalid_selectors_are_rejected(self) -> None:
        for given, why in REFUSED:
            error = self.assertRaises(
                errors.InvalidSelector, selectors.parse, given, Tree, HEAVY
            )
            self.assertEqual(why, str(error))
