"""Pods on lost nodes are deleted, and created again on other nodes."""

from typing import Any

from tests.fixtures.cluster import CORE, CnfCase

#: where the pods are
LOST_NODE = "sandbox-node-1"


class TestLostNodes(CnfCase):
    def setUp(self) -> None:
        super().setUp()
        # all pods but an agent are scheduled to the node that fails later
        self.cordon("sandbox-node-2", is_cordoned=True)
        self.instance_id = self.vnfm.start_vnf()
        self.cordon("sandbox-node-2", is_cordoned=False)

    def fail_node(self, notice: float = 0.0) -> None:
        self.cluster.sandbox.lose_node(LOST_NODE, notice)

    def pods(self) -> dict[str, Any]:
        """Return the pods: uid -> pod."""
        return {
            body["metadata"]["uid"]: body
            for (kind, _), body in self.objects().items()
            if kind == "pods"
        }

    def heal(self, *vdus: str) -> Any:
        vnfcs = [self.vnfm.vnfc_of(self.instance_id, vdu) for vdu in vdus]
        return self.vnfm.run(
            self.instance_id, "heal", {"vnfcInstanceId": vnfcs}
        )

    def assert_rescheduled(self, vdu: str, before: dict[str, Any]) -> None:
        """Check that all pods of a VDU are new, on a node that is ready."""
        vdu_pods = {
            uid: pod
            for uid, pod in self.pods().items()
            if pod["metadata"]["labels"].get("tacker_vdu_id") == vdu
        }
        self.assertNotEqual({}, vdu_pods)
        self.assertEqual(set(), vdu_pods.keys() & before.keys())
        nodes = {pod["spec"]["nodeName"] for pod in vdu_pods.values()}
        self.assertEqual({"sandbox-node-2"}, nodes)

    def test_each_kind_of_vdu_is_rescheduled(self) -> None:
        before = self.pods()
        self.fail_node()
        done = self.heal("web", "store", "probe", "cache")
        self.assertEqual("COMPLETED", done["operationState"], done)
        for vdu in ("web", "store", "probe", "cache"):
            self.assert_rescheduled(vdu, before)

    def test_a_loss_that_is_noticed_later(self) -> None:
        before = self.pods()
        self.fail_node(notice=2.5)
        done = self.heal("store")
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assert_rescheduled("store", before)

    def test_a_node_that_no_longer_exists(self) -> None:
        before = self.pods()
        self.fail_node()
        self.cluster.call("DELETE", f"{CORE}/nodes/{LOST_NODE}")
        done = self.heal("store", "probe")
        self.assertEqual("COMPLETED", done["operationState"], done)
        for vdu in ("store", "probe"):
            self.assert_rescheduled(vdu, before)

    def test_the_whole_vnf_is_rescheduled(self) -> None:
        before = self.pods()
        self.fail_node()
        done = self.vnfm.run(self.instance_id, "heal", {})
        self.assertEqual("COMPLETED", done["operationState"], done)
        for vdu in ("web", "store", "probe", "cache"):
            self.assert_rescheduled(vdu, before)

    def test_the_vnf_is_terminated(self) -> None:
        self.fail_node()
        body = {
            "terminationType": "GRACEFUL",
            "gracefulTerminationTimeout": 1,
        }
        done = self.vnfm.run(self.instance_id, "terminate", body)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual({}, self.pods())

    def test_a_daemon_pod_does_not_wait_for_the_one_on_the_lost_node(
        self,
    ) -> None:
        before = self.pods()
        self.fail_node()
        agents = {
            pod["spec"]["nodeName"]: uid
            for uid, pod in before.items()
            if pod["metadata"]["labels"]["tacker_vdu_id"] == "agent"
        }
        agent = agents["sandbox-node-2"]
        name = before[agent]["metadata"]["name"]
        heal = {"vnfcInstanceId": [f"agent-{name}"]}
        done = self.vnfm.run(self.instance_id, "heal", heal)
        self.assertEqual("COMPLETED", done["operationState"], done)
        pods = self.pods()
        self.assertNotIn(agent, pods)
        self.assertIn(agents[LOST_NODE], pods)
        self.assertEqual(len(before), len(pods))

    def test_a_terminating_pod_blocks_nothing(self) -> None:
        before = self.pods()
        self.fail_node()
        for pod in before.values():
            self.cluster.call(
                "DELETE",
                f"{CORE}/namespaces/{self.vnfm.namespace}/pods/"
                f"{pod['metadata']['name']}",
            )
        self.vnfm.task(self.instance_id, "sync", {})
        scaled = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        done = self.vnfm.run(self.instance_id, "scale", scaled)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assert_rescheduled("web", before)


class TestNodesThatCannotBeRead(CnfCase):
    def test_the_error_names_the_missing_permission(self) -> None:
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        self.cluster.allow_viewer(self.vnfm.namespace, rule)
        token = self.cluster.sandbox.viewer_token
        vim = self.cluster.vim(bearer_token=token)
        request = self.vnfm.request(vimConnectionInfo=vim)
        instance_id = self.vnfm.start_vnf(request)
        for node in (LOST_NODE, "sandbox-node-2"):
            self.cluster.sandbox.lose_node(node)
        vnfc = self.vnfm.vnfc_of(instance_id, "store")
        body = {"vnfcInstanceId": [vnfc]}
        self.vnfm.conf.set_override("ready_timeout", 6.0, "kubernetes")
        failed = self.vnfm.run(instance_id, "heal", body)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        detail = failed["error"]["detail"]
        self.assertIn("were not deleted in time: store-0 on node", detail)
        self.assertIn('cannot get resource "nodes"', detail)
