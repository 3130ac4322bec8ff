"""Rollbacks of scale operations: the pods that they delete and keep."""

from typing import Any

from tacker_cnf.drivers.kubernetes.scale_rollback import (
    DELETION_COST,
    LOWEST_COST,
)
from tests.fixtures.cluster import APPS, CORE, CnfCase

OUT: dict[str, Any] = {"type": "SCALE_OUT"}


class TestScaleRollback(CnfCase):
    def setUp(self) -> None:
        super().setUp()
        self.cordon("sandbox-node-2", is_cordoned=True)
        self.vnf = self.vnfm.start_vnf()

    def scale(self, vdu: str, **more: Any) -> Any:
        body = OUT | {"aspectId": f"{vdu}_aspect"} | more
        return self.vnfm.run(self.vnf, "scale", body)

    def uids(self, vdu: str) -> set[str]:
        """Return the uids of the VNFCs of a VDU."""
        return {
            vnfc["metadata"]["uid"]
            for vnfc in self.vnfm.vnfcs(self.vnf).values()
            if vnfc["vduId"] == vdu
        }

    def roll_back(self, failed: Any) -> str:
        """Roll back an operation; return its log."""
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        return str(back.get("scriptLog", ""))

    def replicas(self, plural: str, name: str) -> Any:
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/{plural}/{name}"
        return self.cluster.call("GET", path)["spec"]["replicas"]

    def test_only_the_new_pods_are_deleted(self) -> None:
        """Of ready pods, Kubernetes deletes those on the node with the most
        pods first: the two pods of before are on one node.
        """
        self.assertEqual("COMPLETED", self.scale("web")["operationState"])
        before = self.uids("web")
        self.cordon("sandbox-node-1", is_cordoned=True)
        self.cordon("sandbox-node-2", is_cordoned=False)
        # an agent, and one more
        self.cluster.sandbox.set_node_capacity("sandbox-node-2", pods=2)
        failed = self.scale("web", numberOfSteps=2)
        self.assertIn("Unschedulable", failed["error"]["detail"])
        self.assertEqual("", self.roll_back(failed))
        self.assertEqual(before, self.uids("web"))
        self.assertEqual(2, self.replicas("deployments", "web"))

    def pods(self, vdu: str) -> list[Any]:
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/pods"
        found = self.cluster.call("GET", path)["items"]
        return [p for p in found if p["metadata"]["name"].startswith(vdu)]

    def test_a_replaced_pod_is_kept(self) -> None:
        """A pod of before was deleted during the scale: one of the new pods
        stays without a deletion cost, as do pods of an earlier rollback.
        """
        self.assertEqual("COMPLETED", self.scale("web")["operationState"])
        before = self.uids("web")
        deleted, kept = (p["metadata"] for p in self.pods("web"))
        self.cordon("sandbox-node-1", is_cordoned=True)
        self.cordon("sandbox-node-2", is_cordoned=False)
        self.cluster.sandbox.set_node_capacity("sandbox-node-2", pods=2)
        failed = self.scale("web", numberOfSteps=2)
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/pods"
        self.cluster.call("DELETE", f"{path}/{deleted['name']}")
        pod = self.cluster.call("GET", f"{path}/{kept['name']}")
        pod["metadata"]["annotations"] = {DELETION_COST: LOWEST_COST}
        self.cluster.call("PUT", f"{path}/{kept['name']}", pod)
        self.roll_back(failed)
        self.assertEqual({kept["uid"]}, before & self.uids("web"))
        remaining = self.pods("web")
        self.assertEqual(2, len(remaining))
        for pod in remaining:
            self.assertFalse(pod["metadata"].get("annotations"), pod)

    def break_pod_image(self) -> set[str]:
        """Let the pod of a ReplicaSet be created again with an image that
        cannot be pulled; return the uid of its VNFC.
        """
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/replicasets/cache"
        body = self.cluster.call("GET", path)
        (container,) = body["spec"]["template"]["spec"]["containers"]
        container["image"] = "registry/invalid:1"
        self.cluster.call("PUT", path, body)
        (name,) = (
            v["id"]
            for v in self.vnfm.vnfcs(self.vnf).values()
            if v["vduId"] == "cache"
        )
        before = self.uids("cache")
        self.cluster.sandbox.kill_pod(self.vnfm.namespace, name)
        while not self.uids("cache") - before:
            self.vnfm.task(self.vnf, "sync", None)
        return self.uids("cache")

    def test_pods_that_were_broken_before_do_not_block_it(self) -> None:
        before = self.break_pod_image()
        log = self.roll_back(self.scale("cache"))
        self.assertIn("Pod cache-", log)
        self.assertRegex(log, "ErrImagePull|ImagePullBackOff")
        self.assertEqual(1, self.replicas("replicasets", "cache"))
        self.assertEqual(before, self.uids("cache"))
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        self.cluster.call("DELETE", path)
        log = self.roll_back(self.scale("web"))
        self.assertIn("Deployment web no longer exists", log)


class TestCredentials(CnfCase):
    def test_pods_that_the_credentials_cannot_change(self) -> None:
        rule = {"apiGroups": ["*"], "resources": ["*"]}
        verbs = ["get", "list", "watch", "create", "delete"]
        self.cluster.allow_viewer(
            self.vnfm.namespace,
            rule | {"verbs": verbs},
            rule | {"apiGroups": ["apps"], "verbs": ["patch"]},
        )
        vim = self.cluster.vim(bearer_token=self.cluster.sandbox.viewer_token)
        instance_id = self.vnfm.start_vnf(
            self.vnfm.deployment_only(vimConnectionInfo=vim)
        )
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        body = OUT | {"aspectId": "web_aspect"}
        failed = self.vnfm.run(instance_id, "scale", body)
        self.assertIn("Unschedulable", failed["error"]["detail"])
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
