"""A VNF on a real Heat, by version 1 of the lifecycle API."""

import uuid
from typing import Any

import testtools

from tests.fixtures.openstack_vnf import VnfService

INSTANCES = "/vnflcm/v1/vnf_instances"


class TestVersionOne(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self))
        created = self.vnf.call(
            "POST", INSTANCES, {"vnfdId": self.vnf.vnfd_id}
        )
        self.vnf.id = created.json["id"]
        vim = {
            "id": str(uuid.uuid4()),
            "vimId": self.vnf.vim_id,
            "vimType": "openstack",
        }
        request = self.vnf.request(vimConnectionInfo=[vim])
        for link in request["extVirtualLinks"]:
            for point in link["extCps"]:
                point["cpConfig"] = list(point["cpConfig"].values())
        self.run_completed("instantiate", request)

    def run_completed(self, task: str, body: Any) -> Any:
        path = f"{INSTANCES}/{self.vnf.id}/{task}"
        response = self.vnf.call("POST", path, body)
        self.assertEqual(202, response.status, str(response.content))
        op_occ = self.vnf.wait_operation(response.headers["Location"])
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        return op_occ

    def show(self) -> Any:
        return self.vnf.call("GET", f"{INSTANCES}/{self.vnf.id}").json

    def vnfcs(self) -> dict[str, str]:
        """Return the VNFCs: id in version 1 -> server."""
        found = self.show()["instantiatedVnfInfo"]["vnfcResourceInfo"]
        return {v["id"]: v["computeResource"]["resourceId"] for v in found}

    def test_heals(self) -> None:
        vnf = self.vnf
        self.assertEqual(vnf.stack, self.show()["vnfInstanceName"])
        self.assertIn("tenant", self.show()["metadata"])
        stack, before = vnf.stack_id, self.vnfcs()
        self.assertEqual(set(), {*before} & {*before.values()})
        self.run_completed("heal", {})
        whole, healed = vnf.stack_id, self.vnfcs()
        self.assertNotEqual(stack, whole)
        status = vnf.project.stacks()[vnf.stack]["stack_status"]
        self.assertEqual("CREATE_COMPLETE", status)
        self.assertEqual(set(), {*before} & {*healed})
        one, *others = healed
        self.run_completed("heal", {"vnfcInstanceId": [one]})
        after = self.vnfcs()
        self.assertEqual(whole, vnf.stack_id)
        self.assertNotIn(one, after)
        self.assertTrue({*others} < {*after})
        self.run_completed("heal", {"vnfcInstanceId": list(after)})
        self.assertEqual(set(), {*after} & {*self.vnfcs()})
        self.assertEqual(whole, vnf.stack_id)

    def test_volumes_of_healed_vnfcs_are_replaced(self) -> None:
        keep = {"tacker_extension_heal_include_block_storage": False}
        for params, is_kept in ((keep, True), ({}, False)):
            before = self.disk()
            info = self.show()["instantiatedVnfInfo"]
            (store,) = (
                vnfc["id"]
                for vnfc in info["vnfcResourceInfo"]
                if vnfc["vduId"] == "store"
            )
            body = {"vnfcInstanceId": [store], "additionalParams": params}
            self.run_completed("heal", body)
            self.assertEqual(is_kept, before == self.disk())

    def disk(self) -> str:
        info = self.show()["instantiatedVnfInfo"]
        (disk,) = info["virtualStorageResourceInfo"]
        return str(disk["storageResource"]["resourceId"])

    def test_scale(self) -> None:
        scale = {"aspectId": "front_aspect", "type": "SCALE_OUT"}
        self.run_completed("scale", scale)
        before = self.vnfcs()
        self.assertEqual(3, len(before))
        reverse = {"is_reverse": "True", "is_auto": "False"}
        self.run_completed(
            "scale",
            scale | {"type": "SCALE_IN", "additionalParams": reverse},
        )
        self.assertTrue({*self.vnfcs()} < {*before})
