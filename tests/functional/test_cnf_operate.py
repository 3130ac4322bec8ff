"""Start and stop of CNFs."""

from collections import Counter
from typing import Any, Final

from tests.fixtures import waiting
from tests.fixtures.cluster import APPS, CnfCase

STOP: Final = {"changeStateTo": "STOPPED", "stopType": "FORCEFUL"}
START: Final = {"changeStateTo": "STARTED"}


class TestOperate(CnfCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.vnfm.create()
        self.run_completed("instantiate", self.vnfm.request())
        self.sizes = self.pod_counts()

    def run_completed(self, task: str, body: Any) -> Any:
        op_occ = self.vnfm.run(self.vnf, task, body)
        self.assertEqual("COMPLETED", op_occ["operationState"], op_occ)
        return op_occ

    def pod_counts(self) -> Counter[str]:
        return Counter(
            body["metadata"]["labels"]["tacker_vdu_id"]
            for (kind, _), body in self.objects().items()
            if kind == "pods"
        )

    def info(self) -> Any:
        return self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]

    def test_a_stop_leaves_no_pods_and_a_start_restores_them(self) -> None:
        op_occ = self.run_completed("operate", STOP)
        self.assertEqual(Counter(), self.pod_counts())
        info = self.info()
        self.assertEqual("STOPPED", info["vnfState"])
        self.assertEqual([], info.get("vnfcResourceInfo", []))
        affected = op_occ["resourceChanges"]["affectedVnfcs"]
        self.assertEqual(
            Counter({"REMOVED": self.sizes.total()}),
            Counter(vnfc["changeType"] for vnfc in affected),
        )
        self.run_completed("operate", START)
        self.assertEqual(self.sizes, self.pod_counts())
        info = self.info()
        self.assertEqual("STARTED", info["vnfState"])
        self.assertEqual(self.sizes.total(), len(info["vnfcResourceInfo"]))
        self.assertNotIn("stopped_counts", info["metadata"])

    def test_a_stopped_vnf_stays_stopped(self) -> None:
        self.run_completed("operate", STOP)
        scale = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        self.run_completed("scale", scale)
        self.run_completed("heal", {})
        self.assertEqual(Counter(), self.pod_counts())
        self.assertEqual("STOPPED", self.info()["vnfState"])
        self.run_completed("operate", START)
        self.assertEqual(self.sizes + Counter(web=1), self.pod_counts())
        levels = {
            scale["aspectId"]: scale["scaleLevel"]
            for scale in self.info()["scaleStatus"]
        }
        self.assertEqual(1, levels["web_aspect"])

    def test_a_synchronization_keeps_state_and_size(self) -> None:
        self.run_completed("operate", STOP)
        name = f"namespaces/{self.vnfm.namespace}/deployments/web"
        scale = self.cluster.call("GET", f"{APPS}/{name}/scale")
        scale["spec"]["replicas"] = 2
        self.cluster.call("PUT", f"{APPS}/{name}/scale", scale)

        def is_found() -> bool:
            self.assertEqual(
                202, self.vnfm.task(self.vnf, "sync", None).status
            )
            return len(self.info().get("vnfcResourceInfo", ())) == 2

        waiting.until(is_found, "the pods of the other client")
        self.assertEqual("STOPPED", self.info()["vnfState"])
        self.run_completed("operate", START)
        self.assertEqual(self.sizes, self.pod_counts())

    def test_a_vdu_without_pods(self) -> None:
        name = f"namespaces/{self.vnfm.namespace}/deployments/web"
        scale = self.cluster.call("GET", f"{APPS}/{name}/scale")
        scale["spec"]["replicas"] = 0
        self.cluster.call("PUT", f"{APPS}/{name}/scale", scale)

        def is_found() -> bool:
            self.vnfm.task(self.vnf, "sync", None)
            vnfcs = self.info()["vnfcResourceInfo"]
            return "web" not in {vnfc["vduId"] for vnfc in vnfcs}

        waiting.until(is_found, "the VDU without pods")
        before = self.pod_counts()
        self.run_completed("operate", STOP)
        self.assertEqual(Counter(), self.pod_counts())
        self.run_completed("operate", START)
        self.assertEqual(before, self.pod_counts())

    def test_a_graceful_stop(self) -> None:
        body = {
            "changeStateTo": "STOPPED",
            "stopType": "GRACEFUL",
            "gracefulStopTimeout": 60,
        }
        self.run_completed("operate", body)
        self.assertEqual(Counter(), self.pod_counts())

    def test_links_of_a_stopped_vnf(self) -> None:
        self.run_completed("operate", STOP)
        links = self.vnfm.instance(self.vnf)["_links"]
        self.assertIn("operate", links)
        self.assertFalse({"changeFlavour", "changeVnfPkg"} & links.keys())

    def test_a_stopped_vnf_is_terminated(self) -> None:
        self.run_completed("operate", STOP)
        self.run_completed("terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual({}, self.objects())

    def test_impossible_requests_are_rejected(self) -> None:
        path = f"/vnflcm/v2/vnf_instances/{self.vnf}"
        response = self.vnfm.call("POST", f"{path}/operate", START)
        self.assertEqual(409, response.status, response.json)
        self.assertIn("STARTED already", response.json["detail"])
        self.run_completed("operate", STOP)
        response = self.vnfm.call("POST", f"{path}/operate", STOP)
        self.assertEqual(409, response.status, response.json)
        change = {
            "vnfdId": self.vnfm.instance(self.vnf)["vnfdId"],
            "additionalParams": {"upgrade_type": "RollingUpdate"},
        }
        response = self.vnfm.call("POST", f"{path}/change_vnfpkg", change)
        self.assertEqual(409, response.status, response.json)
        self.assertIn("Start it first", response.json["detail"])
