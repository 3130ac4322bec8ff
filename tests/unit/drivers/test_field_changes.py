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
