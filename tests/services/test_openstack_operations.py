"""Scale to a level, change of the flavour, start and stop of a VNF of VMs."""

from typing import Any, Final

import testtools

from tests.fixtures.openstack import require_cloud, require_fault_injection
from tests.fixtures.openstack_vnf import SINGLE, VnfService

STOP: Final = {"changeStateTo": "STOPPED"}
START: Final = {"changeStateTo": "STARTED"}
SINGLE_FLAVOUR: Final = {
    "newFlavourId": "single",
    "additionalParams": SINGLE,
}


class OperationCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project

    def check(self, fronts: int) -> None:
        """Check the number of VNFCs, and that the stack has exactly these."""
        self.assertEqual(fronts, len(self.vnf.ids("front")))
        self.assertEqual(1, len(self.vnf.ids("store")))
        self.assertEqual(self.vnf.servers(), self.vnf.ids())


class TestScaleToLevel(OperationCase):
    def scale_there_and_back(self, **more: Any) -> None:
        busy = {"instantiationLevelId": "busy", **more}
        done = self.vnf.run_operation("scale_to_level", busy)
        self.assertEqual(2, len(done["resourceChanges"]["affectedVnfcs"]))
        self.check(3)
        kept = self.vnf.ids("store")
        one = {"aspectId": "front_aspect", "scaleLevel": 1}
        self.vnf.run_operation("scale_to_level", {"scaleInfo": [one], **more})
        self.check(2)
        self.vnf.run_operation(
            "scale_to_level", {"instantiationLevelId": "quiet", **more}
        )
        self.check(1)
        self.assertEqual(kept, self.vnf.ids("store"))

    def test_a_group(self) -> None:
        self.vnf.start()
        self.scale_there_and_back()

    def test_single_resources(self) -> None:
        self.vnf.start(flavourId="single", additionalParams=SINGLE)
        self.scale_there_and_back(additionalParams=SINGLE)

    def test_rollbacks(self) -> None:
        require_fault_injection(self)
        busy = {"instantiationLevelId": "busy", "additionalParams": SINGLE}
        self.vnf.start(flavourId="single", additionalParams=SINGLE)
        before = self.vnf.ids()
        self.project.fail("front", "No room.")
        failed = self.vnf.run_operation("scale_to_level", busy, "FAILED_TEMP")
        self.project.repair("front")
        self.vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(before, self.vnf.ids())
        self.check(1)


class TestChangeFlavour(OperationCase):
    def test_there_and_back(self) -> None:
        vnf = self.vnf
        vnf.start()
        vnf.run_operation("change_flavour", SINGLE_FLAVOUR)
        self.assertEqual("single", vnf.info["flavourId"])
        self.check(1)
        self.assertEqual(0, vnf.vnfcs("front")[0]["metadata"]["vdu_idx"])
        back = {"newFlavourId": "simple", "instantiationLevelId": "busy"}
        vnf.run_operation("change_flavour", back)
        self.assertEqual("simple", vnf.info["flavourId"])
        self.check(3)

    def test_the_rollback_restores_the_stack(self) -> None:
        require_fault_injection(self)
        vnf = self.vnf
        vnf.start()
        nfv = vnf.info["metadata"]["nfv"]
        self.project.fail("store", "No room.")
        failed = vnf.run_operation(
            "change_flavour", SINGLE_FLAVOUR, "FAILED_TEMP"
        )
        self.project.repair("store")
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual("simple", vnf.info["flavourId"])
        self.assertEqual(nfv, vnf.info["metadata"]["nfv"])
        self.check(1)
        vnf.run_operation("change_flavour", SINGLE_FLAVOUR)
        self.check(1)


class TestOperate(OperationCase):
    def statuses(self) -> set[str]:
        """Return the statuses of the servers in Nova."""
        return {
            self.project.server(server)["status"]
            for server in self.vnf.servers()
        }

    def test_stop_and_start(self) -> None:
        require_cloud(self)
        vnf = self.vnf
        vnf.start()
        before = vnf.ids()
        graceful = {"stopType": "GRACEFUL", "gracefulStopTimeout": 1}
        vnf.run_operation("operate", {**STOP, **graceful})
        self.assertEqual({"SHUTOFF"}, self.statuses())
        self.assertEqual("STOPPED", vnf.info["vnfState"])
        self.assertEqual(
            {"STOPPED"}, {v["vnfcState"] for v in vnf.info["vnfcInfo"]}
        )
        self.assertEqual(before, vnf.ids())
        level = {"scaleInfo": [{"aspectId": "front_aspect", "scaleLevel": 1}]}
        vnf.run_operation("scale_to_level", level)
        self.check(2)
        one = vnf.vnfcs("front")[0]["id"]
        vnf.run_operation("heal", {"vnfcInstanceId": [one]})
        self.assertNotIn(one, vnf.ids())
        self.assertEqual({"SHUTOFF"}, self.statuses())
        vnf.run_operation("operate", START)
        self.assertEqual({"ACTIVE"}, self.statuses())
        self.assertEqual("STARTED", vnf.info["vnfState"])
        self.check(2)

    def test_a_vim_without_compute_service(self) -> None:
        if self.project.tier != "core":
            self.skipTest("The VIM has a compute service.")
        self.vnf.start()
        failed = self.vnf.run_operation("operate", STOP, "FAILED_TEMP")
        self.assertIn("no compute service (Nova)", failed["error"]["detail"])
        self.vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual("STARTED", self.vnf.info["vnfState"])
