"""Change of the deployment flavour of CNFs."""

from typing import Any, Final

from tacker_cnf.lcm.vnf_plan import VnfPlan
from tests.fixtures.cluster import APPS, CORE
from tests.functional.test_cnf_plans import CLAIMS, PlanCase

FILES: Final = "lcm-kubernetes-def-files"
KUBERNETES: Final = "Files/kubernetes"
SMALL_FILES: Final = [
    f"{KUBERNETES}/configmap.yaml",
    f"{KUBERNETES}/secret.yaml",
    f"{KUBERNETES}/deployment.yaml",
]
SMALL: Final = {
    "newFlavourId": "small",
    "additionalParams": {FILES: SMALL_FILES},
}


class TestChangeFlavour(PlanCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.vnfm.create()
        request = self.vnfm.request()
        self.run_completed("instantiate", request)
        self.all_files = request["additionalParams"][FILES]

    def run_completed(self, task: str, body: Any) -> Any:
        op_occ = self.vnfm.run(self.vnf, task, body)
        self.assertEqual("COMPLETED", op_occ["operationState"], op_occ)
        return op_occ

    def run_and_check(self, body: Any) -> VnfPlan:
        """Change the flavour, and compare both plans with what was done."""
        before = self.bodies()
        plan = self.dry_run(self.vnf, "change_flavour", body)
        self.run_completed("change_flavour", body)
        self.check_done(before, plan.actions)
        self.check_done(before, self.driver.plans[-1].actions, CLAIMS)
        return plan

    def simple(self, **more: Any) -> dict[str, Any]:
        params = {FILES: self.all_files}
        return {"newFlavourId": "simple", "additionalParams": params, **more}

    def info(self) -> Any:
        return self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]

    def vdus(self) -> list[str]:
        found = self.info()["vnfcResourceInfo"]
        return sorted({vnfc["vduId"] for vnfc in found})

    def test_there_and_back(self) -> None:
        before = self.vnfm.vnfc_of(self.vnf, "web")
        plan = self.run_and_check(SMALL)
        self.assertIn(
            "VDU probe and its VNFCs (1) are deleted.", plan.warnings
        )
        self.assertEqual("small", self.info()["flavourId"])
        self.assertEqual(["web"], self.vdus())
        self.assertEqual(before, self.vnfm.vnfc_of(self.vnf, "web"))
        self.run_and_check(self.simple(instantiationLevelId="busy"))
        info = self.info()
        self.assertEqual("simple", info["flavourId"])
        self.assertEqual(
            ["agent", "cache", "probe", "store", "web"], self.vdus()
        )
        levels = {
            scale["aspectId"]: scale["scaleLevel"]
            for scale in info["scaleStatus"]
        }
        self.assertEqual(2, levels["web_aspect"])
        self.run_completed("terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual({}, self.objects())

    def test_the_rollback_restores_the_flavour(self) -> None:
        self.run_completed("change_flavour", SMALL)
        before = self.contents()
        foreign = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "probe"},
            "spec": {"containers": [{"name": "main", "image": "other"}]},
        }
        pods = f"{CORE}/namespaces/{self.vnfm.namespace}/pods"
        self.cluster.call("POST", pods, foreign)
        op_occ = self.vnfm.run(self.vnf, "change_flavour", self.simple())
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], op_occ)
        self.assertNotEqual(before, self.contents())
        rolled_back = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", rolled_back["operationState"])
        self.assertEqual(before, self.contents())
        self.assertEqual("small", self.info()["flavourId"])
        self.cluster.call("DELETE", f"{pods}/probe")
        self.run_and_check(self.simple())

    def test_a_failed_change_leaves_nothing_behind(self) -> None:
        self.run_completed("change_flavour", SMALL)
        pods = f"{CORE}/namespaces/{self.vnfm.namespace}/pods"
        spec = {"containers": [{"name": "main", "image": "other"}]}
        foreign = {"metadata": {"name": "probe"}, "spec": spec}
        self.cluster.call("POST", pods, foreign)
        op_occ = self.vnfm.run(self.vnf, "change_flavour", self.simple())
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], op_occ)
        self.vnfm.decide(op_occ["id"], "fail")
        self.run_completed("terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual({("pods", "probe")}, self.objects().keys())

    def test_a_failed_change_reports_the_vnfcs_that_run(self) -> None:
        deployments = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments"
        self.cluster.call("DELETE", f"{deployments}/web")
        op_occ = self.vnfm.run(self.vnf, "change_flavour", SMALL)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], op_occ)
        affected = op_occ.get("resourceChanges", {}).get("affectedVnfcs", ())
        self.assertEqual([], [v for v in affected if v["vduId"] != "web"])

    def test_manifests_of_the_other_flavour_are_rejected(self) -> None:
        files = SMALL_FILES
        daemons = f"{KUBERNETES}/daemonset.yaml"
        for params, detail in (
            ({}, "flavour small has no VDU"),
            ({FILES: [*files, daemons]}, "flavour small has no VDU agent"),
            ({FILES: files, "namespace": "other"}, "stays in its namespace"),
        ):
            body = {"newFlavourId": "small", "additionalParams": params}
            response = self.vnfm.task(self.vnf, "change_flavour", body)
            self.assertEqual(400, response.status, response.json)
            self.assertIn(detail, response.json["detail"])

    def test_an_unknown_flavour(self) -> None:
        body = {"newFlavourId": "huge"}
        response = self.vnfm.task(self.vnf, "change_flavour", body)
        self.assertIn("newFlavourId: VNFD", response.detail)

    def test_impossible_requests_are_rejected(self) -> None:
        for flavour, detail in (
            ("moon", "has no flavour 'moon', only simple, small"),
            ("simple", "has the flavour simple already"),
        ):
            response = self.vnfm.task(
                self.vnf, "change_flavour", {"newFlavourId": flavour}
            )
            self.assertEqual(400, response.status, response.json)
            self.assertIn(detail, response.json["detail"])
        self.run_completed("operate", {"changeStateTo": "STOPPED"})
        response = self.vnfm.task(self.vnf, "change_flavour", SMALL)
        self.assertEqual(409, response.status, response.json)
