"""What a cluster does by itself is known after a sync."""

import time
from typing import Any

import testtools

from tacker_cnf import errors
from tests.fixtures.cluster import APPS, CnfService
from tests.fixtures.vnfm import Vnfm


class TestSync(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(CnfService())
        self.cluster = self.vnfm.cluster
        self.vnf = self.vnfm.started()

    def sync(self) -> Any:
        return self.vnfm.task(self.vnf, "sync", None)

    def vdus(self) -> list[str]:
        return [v["vduId"] for v in self.vnfm.vnfcs(self.vnf).values()]

    def synced(self, done: Any) -> None:
        """Ask for a sync until what is wanted is known."""
        until = time.monotonic() + 60
        while not done():
            self.assertLess(time.monotonic(), until)
            self.assertEqual(202, self.sync().status)
            time.sleep(0.05)

    def test_the_recovery_of_a_pod_that_was_replaced(self) -> None:
        name = self.vnfm.vnfc_of(self.vnf, "web")
        pod = self.vnfm.vnfcs(self.vnf)[name]["id"]
        self.cluster.sandbox.kill_pod(self.vnfm.namespace, pod)
        op_occ = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertIn("(POST .../sync)", op_occ["error"]["detail"])
        self.assertEqual(409, self.sync().status)
        self.vnfm.decide(op_occ["id"], "fail")
        self.synced(
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
        self.synced(lambda: self.vdus().count("web") == 3)
        self.assertEqual(2, self.level())
        self.set_replicas(9)  # beyond the largest level
        self.synced(lambda: self.vdus().count("web") == 9)
        self.assertEqual(2, self.level())
        told = {"web_aspect": {"web": 9}}
        self.assertEqual(told, self.unmatched())
        more = {"type": "SCALE_IN", "aspectId": "web_aspect"}
        done = self.vnfm.run(self.vnf, "scale", more)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual({"web_aspect": {"web": 8}}, self.unmatched())
        self.set_replicas(3)
        self.synced(lambda: self.unmatched() is None)
        self.assertEqual(2, self.level())

    def unmatched(self) -> Any:
        info = self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]
        return info["metadata"].get("unmatched_counts")

    def test_what_was_lost_comes_back_by_a_heal_of_the_whole(self) -> None:
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        self.cluster.call("DELETE", path)
        self.synced(lambda: "web" not in self.vdus())
        done = self.vnfm.run(self.vnf, "heal", {})
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(1, self.vdus().count("web"))
        self.assertIsNone(self.unmatched())

    def test_a_look_changes_no_level(self) -> None:
        before = self.vnfm.instance(self.vnf)
        self.assertFalse(self.vnfm.conductor.upkeep.sync.once(self.vnf))
        self.assertEqual(before, self.vnfm.instance(self.vnf))

    def test_what_is_not_there_has_nothing_to_sync(self) -> None:
        self.assertEqual(
            404, self.vnfm.task("no-such-id", "sync", None).status
        )
        answer = self.vnfm.task(self.vnfm.create(), "sync", None)
        self.assertEqual(409, answer.status)
        self.assertIn("NOT_INSTANTIATED", answer.detail)


class TestRace(testtools.TestCase):
    def test_an_operation_in_between_is_not_overwritten(self) -> None:
        vnfm = self.useFixture(Vnfm())
        instance_id = vnfm.instantiated()
        looks = []

        def scale_meanwhile(task: Any) -> None:
            looks.append(task)
            if len(looks) == 1:
                body = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
                done = vnfm.run(instance_id, "scale", body)
                self.assertEqual("COMPLETED", done["operationState"])
                # what the look began with is old news by now
                vnfm.driver.vnfcs[instance_id] = ()

        once = vnfm.conductor.upkeep.sync.once
        vnfm.driver.before["observe"] = scale_meanwhile
        self.assertRaises(errors.OperationInProgress, once, instance_id)
        info = vnfm.instance(instance_id)["instantiatedVnfInfo"]
        vdus = [v["vduId"] for v in info["vnfcResourceInfo"]]
        self.assertEqual(2, vdus.count("web"))
        vnfm.driver.before.clear()
        self.assertTrue(once(instance_id))
        self.assertFalse(once(instance_id))
