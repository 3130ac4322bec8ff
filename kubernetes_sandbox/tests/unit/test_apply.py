"""Field ownership and server-side apply."""

import json
from typing import Any

import testtools

from kubernetes_sandbox import field_sets, managed_fields, server_side_apply
from kubernetes_sandbox.errors import ApiError

Obj = dict[str, Any]


def _config(**fields: Any) -> Obj:
    head = {"kind": "ConfigMap", "apiVersion": "v1"}
    return {**head, "metadata": {"name": "x"}, **fields}


def _applied(
    live: Obj | None, config: Obj, manager: str, *, force: bool = False
) -> Obj:
    base = live or _config()
    return server_side_apply.apply(
        base, config, manager, force=force, keyed=True
    )


class TestApply(testtools.TestCase):
    def test_field_no_longer_applied_is_removed(self) -> None:
        one = _applied(None, _config(data={"a": "1", "b": "2"}), "me")
        two = _applied(one, _config(data={"a": "1"}), "me")
        self.assertEqual({"a": "1"}, two["data"])

    def test_shared_field_stays_until_its_last_owner_drops_it(self) -> None:
        live = _applied(None, _config(data={"a": "1"}), "me")
        live = _applied(live, _config(data={"a": "1"}), "you")
        live = _applied(live, _config(), "me")
        self.assertEqual({"a": "1"}, live["data"])
        live = _applied(live, _config(), "you")
        self.assertEqual({}, live.get("data", {}))

    def test_conflict_names_owner_and_field(self) -> None:
        live = _applied(None, _config(data={"a": "1"}), "me")
        error = self.assertRaises(
            ApiError, _applied, live, _config(data={"a": "2"}), "you"
        )
        expected = 'Apply failed with 1 conflict: conflict with "me": .data.a'
        self.assertEqual(expected, error.message)

    def test_several_conflicts_are_listed(self) -> None:
        live = _applied(None, _config(data={"a": "1", "b": "1"}), "me")
        config = _config(data={"a": "2", "b": "2"})
        error = self.assertRaises(ApiError, _applied, live, config, "you")
        expected = (
            'Apply failed with 2 conflicts: conflicts with "me":\n'
            "- .data.a\n- .data.b"
        )
        self.assertEqual(expected, error.message)

    def test_force_takes_the_field(self) -> None:
        live = _applied(None, _config(data={"a": "1"}), "me")
        live = _applied(live, _config(data={"a": "2"}), "you", force=True)
        self.assertEqual({"a": "2"}, live["data"])
        owners = [e["manager"] for e in live["metadata"]["managedFields"]]
        self.assertEqual(["you"], owners)

    def test_kubectl_updates_the_annotation_of_client_side_apply(self) -> None:
        name = "kubectl.kubernetes.io/last-applied-configuration"
        live = _config(data={"a": "1"})
        live["metadata"]["annotations"] = {name: "{}"}
        config = _config(data={"a": "1"})
        for manager, expected in (
            ("me", "{}"),
            (
                "kubectl",
                json.dumps(config, separators=(",", ":"), sort_keys=True)
                + "\n",
            ),
        ):
            result = _applied(live, config, manager)
            found = result["metadata"]["annotations"][name]
            self.assertEqual(expected, found)

    def test_list_items_are_merged_by_key(self) -> None:
        mine = {"name": "a", "image": "1", "ports": [{"containerPort": 80}]}
        live = _applied(None, _config(spec={"containers": [mine]}), "me")
        theirs = {"name": "b", "image": "1"}
        live = _applied(live, _config(spec={"containers": [theirs]}), "you")
        names = [one["name"] for one in live["spec"]["containers"]]
        self.assertEqual(["a", "b"], names)
        live = _applied(live, _config(spec={"containers": []}), "me")
        names = [one["name"] for one in live["spec"]["containers"]]
        self.assertEqual(["b"], names)

    def test_a_key_that_is_not_given_means_its_default(self) -> None:
        live = {"ports": [{"containerPort": 80, "protocol": "TCP"}]}
        config = {"ports": [{"containerPort": 80, "name": "http"}]}
        port = {"containerPort": 80, "name": "http", "protocol": "TCP"}
        self.assertEqual(
            {"ports": [port]}, server_side_apply.merged(live, config)
        )

    def test_an_update_takes_ownership(self) -> None:
        live = _applied(None, _config(spec={"replicas": 1}), "me")
        scaled = {
            **live,
            "metadata": dict(live["metadata"]),
            "spec": {"replicas": 3},
        }
        managed_fields.record(scaled, live, "scaler", "scale")
        error = self.assertRaises(
            ApiError, _applied, scaled, _config(spec={"replicas": 1}), "me"
        )
        self.assertIn('"scaler" with subresource "scale"', error.message)
        again = _applied(scaled, _config(spec={"replicas": 3}), "me")
        self.assertEqual(3, again["spec"]["replicas"])


class TestFieldTrees(testtools.TestCase):
    def test_set_operations(self) -> None:
        one = field_sets.from_value({"a": 1, "b": {"c": 1, "d": 1}})
        other = field_sets.from_value({"b": {"c": 1}})
        self.assertEqual(
            {"f:a": {}, "f:b": {"f:d": {}}},
            field_sets.difference(one, other),
        )
        self.assertEqual(other, field_sets.intersection(one, other))
        self.assertEqual(one, field_sets.union(one, other))
        self.assertEqual(
            other, field_sets.existing_fields(one, {"b": {"c": 5}})
        )

    def test_paths_are_shown_as_the_server_does(self) -> None:
        item = {"name": "main", "image": "x"}
        tree = field_sets.from_value({"containers": [item]})
        self.assertEqual(
            [
                '.containers[name="main"].image',
                '.containers[name="main"].name',
            ],
            sorted(field_sets.field_paths(tree)),
        )

    def test_what_is_owned_whole(self) -> None:
        for value in (
            {"selector": {"a": {"b": 1}}},
            {"args": ["a", "b"]},
            {"tolerations": [{"key": "a"}]},
        ):
            (name,) = value
            self.assertEqual({f"f:{name}": {}}, field_sets.from_value(value))
