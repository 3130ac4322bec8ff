"""The kinds of patch, by tables."""

import copy
from typing import Any

import testtools

from kubernetes_sandbox import json_patches, strategic_merge
from kubernetes_sandbox.errors import ApiError


class TestMergePatch(testtools.TestCase):
    def test_examples_of_rfc_7386(self) -> None:
        table: tuple[tuple[Any, Any, Any], ...] = (
            ({"a": "b"}, {"a": "c"}, {"a": "c"}),
            ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
            ({"a": "b"}, {"a": None}, {}),
            ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
            (
                {"a": {"b": "c"}},
                {"a": {"b": "d", "c": None}},
                {"a": {"b": "d"}},
            ),
            ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
            ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
            ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        )
        for target, patch, wanted in table:
            before = copy.deepcopy(target)
            self.assertEqual(wanted, json_patches.merge(target, patch))
            self.assertEqual(before, target)


class TestJsonPatch(testtools.TestCase):
    def test_operations(self) -> None:
        document = {"a": {"b": [1, 2]}, "x~y/z": 0}
        table: tuple[tuple[dict[str, Any], Any], ...] = (
            ({"op": "add", "path": "/a/c", "value": 3}, {"b": [1, 2], "c": 3}),
            ({"op": "add", "path": "/a/b/-", "value": 3}, {"b": [1, 2, 3]}),
            ({"op": "add", "path": "/a/b/0", "value": 0}, {"b": [0, 1, 2]}),
            ({"op": "remove", "path": "/a/b/0"}, {"b": [2]}),
            ({"op": "replace", "path": "/a/b", "value": 5}, {"b": 5}),
            ({"op": "move", "from": "/a/b", "path": "/a/c"}, {"c": [1, 2]}),
            (
                {"op": "copy", "from": "/a/b/1", "path": "/a/c"},
                {"b": [1, 2], "c": 2},
            ),
            ({"op": "test", "path": "/x~0y~1z", "value": 0}, {"b": [1, 2]}),
        )
        for operation, wanted in table:
            found = json_patches.apply_operations(document, [operation])
            self.assertEqual(wanted, found["a"], str(operation))
        self.assertEqual({"a": {"b": [1, 2]}, "x~y/z": 0}, document)

    def test_refusals(self) -> None:
        for operation in (
            {"op": "remove", "path": "/nope"},
            {"op": "replace", "path": "/nope", "value": 1},
            {"op": "add", "path": "/a/b/c", "value": 1},
            {"op": "add", "path": "/list/7", "value": 1},
            {"op": "test", "path": "/list", "value": 1},
            {"op": "nonsense", "path": "/list"},
            {"op": "add", "path": "list", "value": 1},
        ):
            self.assertRaises(
                ApiError,
                json_patches.apply_operations,
                {"list": []},
                [operation],
            )


def _pod(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(containers)}}


class TestStrategicMerge(testtools.TestCase):
    def test_container_is_found_by_name(self) -> None:
        old = _pod({"name": "a", "image": "1"}, {"name": "b", "image": "1"})
        patch = _pod({"name": "b", "image": "2"})
        found = strategic_merge.merge(old, patch)["spec"]["containers"]
        self.assertEqual(
            {"a": "1", "b": "2"}, {one["name"]: one["image"] for one in found}
        )

    def test_new_container_comes_first(self) -> None:
        found = strategic_merge.merge(_pod({"name": "a"}), _pod({"name": "b"}))
        names = [one["name"] for one in found["spec"]["containers"]]
        self.assertEqual(["b", "a"], names)

    def test_directives(self) -> None:
        old = _pod({"name": "a"}, {"name": "b"})
        removed = _pod({"name": "a", "$patch": "delete"})
        self.assertEqual(
            _pod({"name": "b"}), strategic_merge.merge(old, removed)
        )
        replaced = _pod({"$patch": "replace"}, {"name": "c"})
        self.assertEqual(
            _pod({"name": "c"}), strategic_merge.merge(old, replaced)
        )
        whole = {"spec": {"$patch": "replace", "x": 1}}
        self.assertEqual({"spec": {"x": 1}}, strategic_merge.merge(old, whole))
        kept = {"s": {"$retainKeys": ["a"], "a": 2}}
        found = strategic_merge.merge({"s": {"a": 1, "b": 1}}, kept)
        self.assertEqual({"s": {"a": 2}}, found)

    def test_order_is_set(self) -> None:
        old = _pod({"name": "a"}, {"name": "b"})
        order = [{"name": "b"}, {"name": "a"}]
        patch = {"spec": {"$setElementOrder/containers": order}}
        found = strategic_merge.merge(old, patch)["spec"]["containers"]
        self.assertEqual(order, found)

    def test_ports_environment_and_finalizers(self) -> None:
        table: tuple[tuple[str, Any, Any, int], ...] = (
            ("ports", {"containerPort": 1}, {"containerPort": 1, "x": 1}, 1),
            ("ports", {"port": 1}, {"port": 2}, 2),
            ("env", {"name": "A"}, {"name": "B"}, 2),
            ("volumeMounts", {"mountPath": "/a"}, {"mountPath": "/a"}, 1),
            ("tolerations", {"key": "a"}, {"key": "b"}, 1),
            ("finalizers", "a", "b", 2),
        )
        for field, before, after, count in table:
            found = strategic_merge.merge({field: [before]}, {field: [after]})
            self.assertEqual(count, len(found[field]), field)

    def test_item_without_its_key_is_refused(self) -> None:
        patch = _pod({"image": "x"})
        old = _pod({"name": "a"})
        self.assertRaises(ApiError, strategic_merge.merge, old, patch)

    def test_primitive_items_are_deleted(self) -> None:
        patch = {"$deleteFromPrimitiveList/finalizers": ["a"]}
        found = strategic_merge.merge({"finalizers": ["a", "b"]}, patch)
        self.assertEqual({"finalizers": ["b"]}, found)
