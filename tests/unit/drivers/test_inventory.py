import itertools
from typing import Any

import testtools

from tacker_cnf.drivers.kubernetes import inventory
from tacker_cnf.drivers.kubernetes.manifests import Manifest, Rendered
from tests.unit.drivers.pods import a_pod

#: kind of a VDU -> kind of the controller of its pods
OWNERS = {
    "Deployment": "ReplicaSet",
    "ReplicaSet": "ReplicaSet",
    "StatefulSet": "StatefulSet",
    "DaemonSet": "DaemonSet",
    "Pod": None,
}


def rendered(kind: str = "Deployment") -> Rendered:
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "web"}}
    return Rendered(
        instance_id="an-instance",
        namespace="here",
        def_files=("a.yaml", "b.yaml"),
        objects=(Manifest(body, "web"),),
        counts={"web": 1},
    )


def names(*pods: Any, kind: str = "Deployment") -> list[str]:
    found = inventory.vnfcs_from_pods(pods, rendered(kind), "vim1")
    return [vnfc.id for vnfc in found]


class TestVnfcsFromPods(testtools.TestCase):
    def test_a_pod_is_a_vnfc_if_its_vdu_controls_it(self) -> None:
        owners = {*OWNERS.values(), "Job", "Deployment"}
        for kind, owner in itertools.product(OWNERS, owners):
            is_owned = owner == OWNERS[kind]
            self.assertEqual(
                ["web-1"] if is_owned else [],
                names(a_pod(owner=owner), kind=kind),
                f"{owner} of {kind}",
            )

    def test_pods_without_the_label_of_a_vdu_are_no_vnfcs(self) -> None:
        self.assertEqual([], names(a_pod(vdu=None), a_pod(vdu="moon")))
        bare = a_pod()
        del bare["metadata"]["labels"]
        self.assertEqual([], names(bare))

    def test_an_owner_that_is_no_controller_is_ignored(self) -> None:
        extra = [{"kind": "Widget", "name": "w", "uid": "u"}]
        cases = [
            ("Pod", extra, ["web-1"]),
            ("Deployment", extra, []),
            (
                "Deployment",
                [*extra, {"kind": "ReplicaSet", "controller": True}],
                ["web-1"],
            ),
        ]
        for kind, owners, found in cases:
            pod = a_pod(meta={"ownerReferences": owners})
            self.assertEqual(found, names(pod, kind=kind))

    def test_terminating_and_ended_pods_are_left_out(self) -> None:
        cases: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
            ({}, {"phase": "Pending"}, True),
            ({}, {"phase": "Running"}, True),
            ({}, {"phase": "Unknown"}, True),
            ({}, {"phase": "Succeeded"}, False),
            ({}, {"phase": "Failed"}, False),
            ({"deletionTimestamp": "now"}, {"phase": "Running"}, False),
        ]
        for meta, status, is_living in cases:
            pod = a_pod(meta=meta, status=status)
            self.assertEqual(is_living, inventory.is_living(pod))
            self.assertEqual(["web-1"] if is_living else [], names(pod))

    def test_a_pod_without_status_is_a_vnfc(self) -> None:
        pod = a_pod()
        del pod["status"]
        self.assertEqual(["web-1"], names(pod))

    def test_vnfcs_are_sorted_by_creation(self) -> None:
        times = {"b": "2026-01-02", "c": "2026-01-01", "a": "2026-01-02"}
        pods = [
            a_pod(name, meta={"creationTimestamp": time})
            for name, time in times.items()
        ]
        self.assertEqual(["c", "a", "b"], names(*pods))

    def test_attributes_of_a_vnfc(self) -> None:
        (vnfc,) = inventory.vnfcs_from_pods([a_pod()], rendered(), "vim1")
        self.assertEqual("web-1", vnfc.id)
        self.assertEqual("web", vnfc.vdu_id)
        self.assertEqual({"uid": "uid of web-1"}, vnfc.metadata)
        self.assertEqual("web-1", vnfc.compute_resource.resource_id)
        self.assertEqual("vim1", vnfc.compute_resource.vim_connection_id)
        self.assertEqual(
            "Deployment", vnfc.compute_resource.vim_level_resource_type
        )

    def test_metadata_of_an_instance(self) -> None:
        metadata = inventory.instance_metadata(rendered(), {})
        self.assertNotIn("vim_connections", metadata)
        self.assertEqual("here", metadata["namespace"])
        self.assertEqual(
            ["a.yaml", "b.yaml"], metadata["lcm-kubernetes-def-files"]
        )
        self.assertEqual({"web"}, set(metadata["vdu_reses"]))

    def test_the_cluster_of_a_vdu_is_recorded_if_there_are_several(
        self,
    ) -> None:
        metadata = inventory.instance_metadata(rendered(), {"web": "vim2"})
        self.assertEqual({"web": "vim2"}, metadata["vim_connections"])
