"""YAML documents that are no valid objects."""

from typing import Any, Final

from tacker_cnf import errors
from tests.unit.drivers.test_manifests import ManifestTest, an_object

A_LIST: Final = {"apiVersion": "v1", "kind": "List"}
#: rejected by the driver
REJECTED: Final[tuple[Any, ...]] = (
    A_LIST | {"items": 5},
    A_LIST | {"items": "ab"},
    A_LIST | {"items": {"a": 1}},
    an_object("Service") | {"metadata": {"name": ["a"]}},
    an_object("Service") | {"metadata": {"name": {"a": 1}}},
    an_object("Service") | {"metadata": {"name": 5}},
    an_object("Service") | {"metadata": {"name": "a", "namespace": ["x"]}},
    an_object("Service") | {"metadata": {"name": "a", "namespace": 5}},
    an_object("Service") | {"metadata": {"name": "a", "labels": "x"}},
    an_object("Service") | {"metadata": {"name": "a", "labels": ["x"]}},
    an_object("Service") | {"metadata": None},
    an_object("Deployment", spec={"template": {"metadata": "x"}}),
)
#: passed to the cluster, which rejects them
PASSED_ON: Final[tuple[Any, ...]] = (
    an_object("Deployment", spec={"template": {"metadata": None}}),
    an_object("Deployment", spec={"template": {"metadata": []}}),
    an_object("Deployment", spec={"template": "x"}),
    an_object("Deployment", spec="x"),
    an_object("StatefulSet", spec={"volumeClaimTemplates": 5}),
    an_object("StatefulSet", spec={"volumeClaimTemplates": {"a": {}}}),
    an_object(
        "StatefulSet", spec={"volumeClaimTemplates": [{"metadata": None}]}
    ),
    an_object("CronJob", spec={"jobTemplate": {"spec": "x"}}),
    an_object("CronJob", spec={"jobTemplate": {"spec": [1]}}),
    an_object("Widget", spec={"volumeClaimTemplates": 5}),
)


class TestHostileManifests(ManifestTest):
    def test_rejected_by_the_driver(self) -> None:
        for body in REJECTED:
            self.assertRaises(errors.InvalidParameters, self.render, body)

    def test_passed_on_to_the_cluster(self) -> None:
        for body in PASSED_ON:
            self.assertEqual(1, len(self.render(body).objects))

    def test_invalid_file_names_are_rejected(self) -> None:
        for name in ("a\0b", "a" * 300, "a/" * 3000 + "b"):
            self.assertRaises(
                errors.InvalidParameters,
                self.render,
                an_object("Service"),
                **{"lcm-kubernetes-def-files": [name]},
            )
