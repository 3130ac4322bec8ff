"""The lifecycle of a VNF on a real Heat, through the service's API."""

from typing import Any

import testtools

from tests.fixtures import waiting
from tests.fixtures.openstack import NEXT_IMAGE, require_fault_injection
from tests.fixtures.openstack_vnf import (
    FORCEFUL,
    IN,
    OUT,
    SINGLE,
    VnfService,
    a_link,
    a_point,
)
from tests.fixtures.vnfm import Csar

FRONT_IMAGE = "name: cirros\n          version: '0.6'"


class LifeCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project


class TestGroup(LifeCase):
    """A VDU that scales is a Heat group."""

    def test_instantiate_scale_and_terminate(self) -> None:
        vnf = self.vnf
        vnf.start()
        self.assertEqual(vnf.servers(), vnf.ids())
        info = vnf.info
        self.assertEqual(vnf.stack_id, info["metadata"]["stack_id"])
        self.assertEqual(self.project.name, info["metadata"]["tenant"])
        (disk,) = info["virtualStorageResourceInfo"]
        (store,) = vnf.vnfcs("store")
        self.assertEqual([disk["id"]], store["storageResourceIds"])
        (link,) = info["vnfVirtualLinkResourceInfo"]
        self.assertEqual(2, len(link["vnfLinkPorts"]))
        self.assertEqual(
            {"front_cp", "store_cp"}, {c["cpdId"] for c in info["extCpInfo"]}
        )
        self.assertEqual(
            {"front_cp", "front_inside_cp"},
            {p["cpdId"] for p in vnf.vnfcs("front")[0]["vnfcCpInfo"]},
        )
        first = vnf.ids()
        done = vnf.run_operation("scale", {**OUT, "numberOfSteps": 2})
        changes = done["resourceChanges"]
        self.assertEqual(2, len(changes["affectedVnfcs"]))
        self.assertEqual(2, len(changes["affectedExtLinkPorts"]))
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertTrue(first < vnf.ids())
        self.assertEqual(3, len(vnf.ids("front")))
        # the last created VNFCs are removed first
        last = vnf.vnfcs("front")[0]["id"]
        before = vnf.ids()
        vnf.run_operation("scale", IN)
        self.assertEqual({last}, before - vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(1, vnf.info["scaleStatus"][0]["scaleLevel"])
        vnf.run_operation("terminate", FORCEFUL)
        # Heat lists deleted resources for some seconds
        waiting.until(lambda: not self.project.stacks(), "its end")

    def test_change_of_the_external_network(self) -> None:
        vnf = self.vnf
        other = self.project.network()
        vnf.start()
        before = vnf.ids()
        body = {"extVirtualLinks": [a_link(other, a_point("store_cp"))]}
        done = vnf.run_operation("change_ext_conn", body)
        networks = {
            link["resourceHandle"]["resourceId"]: [
                cp["cpdId"] for cp in link["currentVnfExtCpData"]
            ]
            for link in done["changedExtConnectivity"]
        }
        wanted = {vnf.network: ["front_cp"], other: ["store_cp"]}
        self.assertEqual(wanted, networks)
        self.assertEqual(
            done["changedExtConnectivity"], vnf.info["extVirtualLinkInfo"]
        )
        self.assertEqual(before, vnf.ids())
        nfv = vnf.info["metadata"]["nfv"]
        self.assertEqual(other, nfv["CP"]["store_cp"]["network"])
        kinds = [
            port["changeType"]
            for port in done["resourceChanges"]["affectedExtLinkPorts"]
        ]
        self.assertEqual(["ADDED", "REMOVED"], sorted(kinds))

    def another(self) -> dict[str, Any]:
        """Onboard a package with another image; return a request for it."""
        source = "Definitions/front_and_store_df_simple.yaml"
        text = (Csar.source("vnf") / source).read_text()
        changed = text.replace(
            FRONT_IMAGE, FRONT_IMAGE.replace("cirros", NEXT_IMAGE)
        )
        self.assertNotEqual(text, changed)
        csar = self.useFixture(Csar("vnf", files={source: changed}))
        return {
            "vnfdId": self.vnf.onboard(csar),
            "additionalParams": {"upgrade_type": "RollingUpdate"},
        }

    def test_a_failed_change_of_package_is_rolled_back(self) -> None:
        vnf = self.vnf
        require_fault_injection(self)
        vnf.start()
        nfv = vnf.info["metadata"]["nfv"]
        body = self.another()
        self.project.fail("store", "No room.")
        failed = vnf.run_operation("change_vnfpkg", body, "FAILED_TEMP")
        self.project.repair("store")
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(vnf.vnfd_id, vnf.instance(vnf.id)["vnfdId"])
        self.assertEqual(nfv, vnf.info["metadata"]["nfv"])
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.run_operation("change_vnfpkg", body)
        self.assertEqual(body["vnfdId"], vnf.instance(vnf.id)["vnfdId"])

    def test_change_of_package(self) -> None:
        vnf = self.vnf
        vnf.start()
        before = vnf.ids()
        body = self.another()
        vnf.run_operation("change_vnfpkg", body)
        instance = vnf.instance(vnf.id)
        self.assertEqual(body["vnfdId"], instance["vnfdId"])
        self.assertEqual(vnf.servers(), vnf.ids())
        images = vnf.info["metadata"]["nfv"]["VDU"]
        self.assertEqual(
            self.project.image(NEXT_IMAGE), images["front"]["vcImageId"]
        )
        self.assertEqual(len(before), len(vnf.ids()))
        wrong = {**body, "additionalParams": {"upgrade_type": "BlueGreen"}}
        wrong["vnfdId"] = vnf.vnfd_id
        response = vnf.task(vnf.id, "change_vnfpkg", wrong)
        self.assertEqual(400, response.status)
        self.assertIn("upgrade_type", response.detail)


class TestSingle(LifeCase):
    """Each VNFC is a separate resource."""

    def test_instantiate_scale_and_heal(self) -> None:
        vnf = self.vnf
        parameters = {"additionalParams": SINGLE}
        vnf.start(flavourId="single", **parameters)
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.run_operation("scale", {**OUT, **parameters})
        last, first = vnf.vnfcs("front")
        self.assertEqual(1, last["metadata"]["vdu_idx"])
        self.assertEqual(0, first["metadata"]["vdu_idx"])
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.run_operation(
            "heal", {"vnfcInstanceId": [first["id"]], **parameters}
        )
        self.assertNotIn(first["id"], vnf.ids())
        self.assertIn(last["id"], vnf.ids())
        vnf.run_operation("scale", {**IN, **parameters})
        self.assertNotIn(last["id"], vnf.ids())
        self.assertEqual(1, len(vnf.ids("front")))
        self.assertEqual(vnf.servers(), vnf.ids())
