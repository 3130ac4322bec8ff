"""Changes of a cluster by itself are recorded by a sync."""

from typing import Any

import testtools

from tacker_cnf import errors
from tests.fixtures import waiting
from tests.fixtures.cluster import APPS, CnfService
from tests.fixtures.vnfm import Vnfm

#: VDU -> the resource of the workload that creates its pods
WORKLOADS = {
    "web": "deployments",
    "cache": "replicasets",
    "store": "statefulsets",
    "agent": "daemonsets",
}


class TestSync(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(CnfService())
        self.cluster = self.vnfm.cluster
        self.vnf = self.vnfm.start_vnf()

    def sync(self) -> Any:
        return self.vnfm.task(self.vnf, "sync", None)

    def vdus(self) -> list[str]:
        return [v["vduId"] for v in self.vnfm.vnfcs(self.vnf).values()]

    def sync_until(self, done: Any) -> None:
        """Request syncs until the condition is true."""

        def is_done() -> bool:
            self.assertEqual(202, self.sync().status)
            return bool(done())

        waiting.until(is_done, "the synchronized instance")

    def test_the_recovery_of_a_pod_that_was_replaced(self) -> None:
        name = self.vnfm.vnfc_of(self.vnf, "web")
        pod = self.vnfm.vnfcs(self.vnf)[name]["id"]
        self.cluster.sandbox.kill_pod(self.vnfm.namespace, pod)
        op_occ = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertIn("(POST .../sync)", op_occ["error"]["detail"])
        self.assertEqual(409, self.sync().status)
        self.vnfm.decide(op_occ["id"], "fail")
        self.sync_until(
            lambda: (
                name not in self.vnfm.vnfcs(self.vnf) and "web" in self.vdus()
            )
        )
        new = self.vnfm.vnfc_of(self.vnf, "web")
        done = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [new]})
        self.assertEqual("COMPLETED", done["operationState"], done)

    def level(self) -> int:
        info = self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]
        levels = {s["aspectId"]: s["scaleLevel"] for s in info["scaleStatus"]}
        return int(levels["web_aspect"])

    def set_replicas(self, count: int) -> None:
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        scale = self.cluster.call("GET", f"{path}/scale")
        scale["spec"]["replicas"] = count
        self.cluster.call("PUT", f"{path}/scale", scale)

    def test_the_level_follows_the_pods_while_it_can(self) -> None:
        self.set_replicas(3)
        self.sync_until(lambda: self.vdus().count("web") == 3)
        self.assertEqual(2, self.level())
        self.set_replicas(9)  # beyond the largest level
        self.sync_until(lambda: self.vdus().count("web") == 9)
        self.assertEqual(2, self.level())
        unmatched_levels = {"web_aspect": {"web": 9}}
        self.assertEqual(unmatched_levels, self.unmatched())
        more = {"type": "SCALE_IN", "aspectId": "web_aspect"}
        done = self.vnfm.run(self.vnf, "scale", more)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual({"web_aspect": {"web": 8}}, self.unmatched())
        self.set_replicas(3)
        self.sync_until(lambda: self.unmatched() is None)
        self.assertEqual(2, self.level())

    def test_the_level_follows_the_pods_that_an_operation_finds(self) -> None:
        """This happens after a failed scale that was never synchronized: a
        sync finds no difference any more.
        """
        self.set_replicas(3)
        name = self.vnfm.vnfc_of(self.vnf, "web")
        done = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(3, self.vdus().count("web"))
        self.assertEqual(2, self.level())

    def unmatched(self) -> Any:
        info = self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]
        return info["metadata"].get("unmatched_counts")

    def test_lost_pods_are_recorded_after_a_heal_of_the_whole_vnf(
        self,
    ) -> None:
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        self.cluster.call("DELETE", path)
        self.sync_until(lambda: self.states("web") == {"STOPPED"})
        done = self.vnfm.run(self.vnf, "heal", {})
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(1, self.vdus().count("web"))
        self.assertIsNone(self.unmatched())

    def states(self, vdu: str) -> set[str]:
        """Return the states of the VNFCs of a VDU."""
        info = self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]
        return {
            vnfc["vnfcState"]
            for vnfc in info["vnfcInfo"]
            if vnfc["vduId"] == vdu
        }

    def properties(self, name: str) -> Any:
        """Return the properties that a client has set on a VNFC."""
        info = self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]
        vnfc = next(v for v in info["vnfcInfo"] if v["id"] == name)
        return vnfc.get("vnfcConfigurableProperties")

    def heal(self, name: str) -> Any:
        done = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("COMPLETED", done["operationState"], done)
        changes = done["resourceChanges"]["affectedVnfcs"]
        return sorted((c["changeType"], c["vduId"]) for c in changes)

    def test_a_lost_pod_stays_recorded_and_is_healed_by_its_id(self) -> None:
        self.vnfm.parts.store.public_names = frozenset({"a"})
        properties = {"a": "b"}
        change = {
            "id": "probe-probe",
            "vnfcConfigurableProperties": properties,
        }
        self.vnfm.modify(self.vnf, {"vnfcInfoModifications": [change]})
        self.cluster.sandbox.kill_pod(self.vnfm.namespace, "probe")
        self.sync_until(lambda: self.states("probe") == {"STOPPED"})
        lost_vnfc = self.vnfm.vnfcs(self.vnf)["probe-probe"]
        uid = lost_vnfc["metadata"]["uid"]
        self.assertEqual({"uid": uid, "lost": True}, lost_vnfc["metadata"])
        self.assertFalse(
            self.vnfm.conductor.synchronizer.sync.sync_instance(self.vnf)
        )
        scaled = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        done = self.vnfm.run(self.vnf, "scale", scaled)
        changes = done["resourceChanges"]["affectedVnfcs"]
        self.assertEqual(["web"], [c["vduId"] for c in changes], done)
        self.assertEqual({"STOPPED"}, self.states("probe"))
        before = self.cluster.uids(self.vnfm.namespace)
        self.assertEqual([("ADDED", "probe")], self.heal("probe-probe"))
        self.assertEqual({"STARTED"}, self.states("probe"))
        self.assertEqual(properties, self.properties("probe-probe"))
        found = self.vnfm.vnfcs(self.vnf)["probe-probe"]["metadata"]
        after = self.cluster.uids(self.vnfm.namespace)
        self.assertEqual({"uid": after.pop(("pods", "probe"))}, found)
        self.assertEqual(before, after)

    def test_a_lost_workload_is_created_by_a_heal_of_its_vnfc(self) -> None:
        for vdu, plural in WORKLOADS.items():
            count = self.vdus().count(vdu)
            path = f"{APPS}/namespaces/{self.vnfm.namespace}/{plural}/{vdu}"
            self.cluster.call("DELETE", path)
            self.sync_until(lambda vdu=vdu: self.states(vdu) == {"STOPPED"})
            self.assertEqual(count, self.vdus().count(vdu))
            changes = self.heal(self.vnfm.vnfc_of(self.vnf, vdu))
            self.assertEqual([("ADDED", vdu)] * count, changes)
            self.assertEqual({"STARTED"}, self.states(vdu))
            self.assertEqual(count, self.vdus().count(vdu))

    def test_a_lost_pod_that_cannot_start_is_not_replaced_by_a_retry(
        self,
    ) -> None:
        self.cluster.sandbox.kill_pod(self.vnfm.namespace, "probe")
        self.sync_until(lambda: self.states("probe") == {"STOPPED"})
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        heal = {"vnfcInstanceId": ["probe-probe"]}
        failed = self.vnfm.run(self.vnf, "heal", heal)
        self.assertIn("Unschedulable", failed["error"]["detail"])
        before = self.cluster.uids(self.vnfm.namespace)["pods", "probe"]
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.sandbox.set_node_capacity(node, pods=100)
        done = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("COMPLETED", done["operationState"], done)
        after = self.cluster.uids(self.vnfm.namespace)["pods", "probe"]
        self.assertEqual(before, after)

    def test_a_sync_without_changes_changes_no_level(self) -> None:
        before = self.vnfm.instance(self.vnf)
        self.assertFalse(
            self.vnfm.conductor.synchronizer.sync.sync_instance(self.vnf)
        )
        self.assertEqual(before, self.vnfm.instance(self.vnf))

    def test_an_instance_that_is_not_instantiated(self) -> None:
        self.assertEqual(
            404, self.vnfm.task("no-such-id", "sync", None).status
        )
        response = self.vnfm.task(self.vnfm.create(), "sync", None)
        self.assertEqual(409, response.status)
        self.assertIn("NOT_INSTANTIATED", response.detail)


class TestRace(testtools.TestCase):
    def test_a_concurrent_operation_is_not_overwritten(self) -> None:
        vnfm = self.useFixture(Vnfm())
        instance_id = vnfm.create_instantiated()
        looks = []

        def scale_meanwhile(task: Any) -> None:
            looks.append(task)
            if len(looks) == 1:
                body = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
                done = vnfm.run(instance_id, "scale", body)
                self.assertEqual("COMPLETED", done["operationState"])
                # the state that the sync has read is stale by now
                vnfm.driver.vnfcs[instance_id] = ()

        once = vnfm.conductor.synchronizer.sync.sync_instance
        vnfm.driver.before["observe"] = scale_meanwhile
        self.assertRaises(errors.OperationInProgress, once, instance_id)
        info = vnfm.instance(instance_id)["instantiatedVnfInfo"]
        vdus = [v["vduId"] for v in info["vnfcResourceInfo"]]
        self.assertEqual(2, vdus.count("web"))
        vnfm.driver.before.clear()
        self.assertTrue(once(instance_id))
        self.assertFalse(once(instance_id))
