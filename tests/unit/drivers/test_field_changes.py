"""Comparison of values, field by field."""

from typing import Any

import testtools

from tacker_cnf.drivers.field_changes import compare


def compared(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [(c.path, c.before, c.after) for c in compare(before, after)]


class TestCompare(testtools.TestCase):
    def test_equal_values(self) -> None:
        self.assertEqual(
            [], compared({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]})
        )

    def test_fields(self) -> None:
        before = {"spec": {"replicas": 1, "paused": True}, "kept": 1}
        after = {"spec": {"replicas": 2, "ports": [80]}, "kept": 1}
        self.assertEqual(
            [
                ("spec.paused", True, None),
                ("spec.ports", None, [80]),
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

    def test_secrets_are_hidden(self) -> None:
        before = {"adminPass": "one", "env": [{"name": "TOKEN", "value": "1"}]}
        after = {"adminPass": "two", "env": [{"name": "TOKEN", "value": "2"}]}
        self.assertEqual(
            [("adminPass", "***", "***"), ("env[TOKEN].value", "***", "***")],
            compared(before, after),
        )
        self.assertEqual(
            [("env", None, [{"name": "TOKEN"}])],
            compared({}, {"env": [{"name": "TOKEN", "value": "2"}]}),
        )
        self.assertEqual(
            [("users", {"name": "me"}, None)],
            compared({"users": {"name": "me", "password": "secret"}}, {}),
        )

    def test_secrets_above_and_with_dots_are_hidden(self) -> None:
        both = ("***", "***")
        for before, after, path in (
            (
                {"data": {"tls.key": "1"}},
                {"data": {"tls.key": "2"}},
                "tls.key",
            ),
            (
                {"credentials": {"key": 1}},
                {"credentials": {"key": 2}},
                "credentials",
            ),
            ({"password": {"a": [1]}}, {"password": {"a": [2]}}, "password"),
            (
                {"accessInfo": {"any": 1, "region": "a"}},
                {"accessInfo": {"any": 2, "region": "a"}},
                "accessInfo.any",
            ),
            (
                {"accessInfo": {"x": [{"any": 1}]}},
                {"accessInfo": {"x": [{"any": 2}]}},
                "accessInfo.x",
            ),
        ):
            (change,) = compared(before, after)
            self.assertEqual(both, change[1:])
            self.assertTrue(change[0].endswith(path), change[0])
        self.assertEqual(
            [("accessInfo", None, {"region": "a"})],
            compared({}, {"accessInfo": {"any": 1, "region": "a"}}),
        )

    def test_pairs_are_hidden_in_lists_without_names(self) -> None:
        secret = {"name": "DB_PASSWORD", "value": "one"}
        self.assertEqual(
            [
                ("env[0].name", "DB_PASSWORD", "OTHER"),
                ("env[0].value", "***", "***"),
            ],
            compared(
                {"env": [secret, {"value": "x"}]},
                {"env": [{"name": "OTHER", "value": "1"}, {"value": "x"}]},
            ),
        )

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
