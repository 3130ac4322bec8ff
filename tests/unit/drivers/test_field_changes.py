"""Comparison of values, field by field."""

from typing import Any

import testtools
from testtools import matchers

from tacker_cnf.drivers import field_changes
from tacker_cnf.drivers.field_changes import Structure

STRUCTURE = Structure(
    fields=frozenset({"image", "kept", "name", "paused", "port", "replicas"}),
    parents=frozenset({"containers", "env", "init", "ports", "spec"}),
    keyed=frozenset({"ids"}),
    maps=frozenset({"labels"}),
)


def compared(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [
        (c.path, c.before, c.after)
        for c in field_changes.compare(before, after, STRUCTURE)
    ]


class TestCompare(testtools.TestCase):
    def test_equal_values(self) -> None:
        self.assertEqual(
            [], compared({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]})
        )

    def test_fields(self) -> None:
        before = {"spec": {"replicas": 1, "paused": True}, "kept": 1}
        after = {"spec": {"replicas": 2, "port": [80]}, "kept": 1}
        self.assertEqual(
            [
                ("spec.paused", True, None),
                ("spec.port", None, [80]),
                ("spec.replicas", 1, 2),
            ],
            compared(before, after),
        )

    def test_entries_are_compared_by_their_names(self) -> None:
        before = [{"name": "web", "image": "a"}, {"name": "log"}]
        after = [{"name": "log"}, {"name": "web", "image": "b"}]
        self.assertEqual(
            [("containers[web].image", "a", "b")],
            compared({"containers": before}, {"containers": after}),
        )

    def test_entries_without_names_are_compared_by_position(self) -> None:
        self.assertEqual(
            [("ports[1].port", 2, 3)],
            compared(
                {"ports": [{"port": 1}, {"port": 2}]},
                {"ports": [{"port": 1}, {"port": 3}]},
            ),
        )

    def test_values_of_other_fields_are_hidden(self) -> None:
        both = ("***", "***")
        for before, after, path in (
            ({"other": 1}, {"other": 2}, "other"),
            ({"args": ["a", "b"]}, {"args": ["c"]}, "args"),
            # what is in it is no field of the structure
            ({"data": {"image": "a"}}, {"data": {"image": "b"}}, "data.image"),
            ({"ids": {"image": "a"}}, {"ids": {"image": "b"}}, "ids.image"),
        ):
            (change,) = compared(before, after)
            self.assertEqual(path, change[0])
            for value, expected in zip(change[1:], both, strict=True):
                self.assertThat(
                    (expected, [expected], [expected] * 2),
                    matchers.Contains(value),
                )

    def test_whole_values_are_masked_inside(self) -> None:
        entry = {"name": "TOKEN", "value": "1", "on": True, "kept": None}
        shown = entry | {"value": "***"}
        self.assertEqual(
            [("env", None, [shown])], compared({}, {"env": [entry]})
        )
        self.assertEqual(
            [("env[TOKEN].value", "***", "***")],
            compared({"env": [entry]}, {"env": [entry | {"value": "2"}]}),
        )

    def test_maps_and_ids(self) -> None:
        self.assertEqual(
            [("labels.a", "1", "2")],
            compared({"labels": {"a": "1"}}, {"labels": {"a": "2"}}),
        )
        self.assertEqual(
            [("ids.x.image", "a", "b")],
            compared(
                {"ids": {"x": {"image": "a"}}}, {"ids": {"x": {"image": "b"}}}
            ),
        )

    def test_nothing_of_a_secret_is_shown(self) -> None:
        (change,) = field_changes.compare(
            {"spec": {"image": "a"}},
            {"spec": {"image": "b"}},
            field_changes.HIDES_ALL,
        )
        self.assertEqual(("***", "***"), (change.before, change.after))

    def test_another_order(self) -> None:
        first, second = {"name": "a"}, {"name": "b"}
        self.assertEqual(
            [("init", ["a", "b"], ["b", "a"])],
            compared({"init": [first, second]}, {"init": [second, first]}),
        )

    def test_names_that_are_not_unique(self) -> None:
        before = [{"name": "dns", "port": 53}, {"name": "dns", "port": 54}]
        after = [{"name": "dns", "port": 53}, {"name": "dns", "port": 55}]
        self.assertEqual(
            [("ports[1].port", 54, 55)],
            compared({"ports": before}, {"ports": after}),
        )
