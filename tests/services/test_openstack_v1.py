"""A VNF on a real Heat, by version 1 of the lifecycle API."""

import json
import uuid
from typing import Any, ClassVar

import testtools

from tests.fixtures import user_data_v1, waiting
from tests.fixtures.openstack_vnf import VnfService

INSTANCES = "/vnflcm/v1/vnf_instances"


class VersionOneCase(testtools.TestCase):
    #: path -> text of additional files of the package
    files: ClassVar[dict[str, str]] = {}

    def setUp(self) -> None:
        super().setUp()
        vnf = VnfService(self)
        vnf.files = self.files
        self.vnf = self.useFixture(vnf)

    def create(self, **body: Any) -> None:
        """Create the VNF instance of the next requests."""
        request = {"vnfdId": self.vnf.vnfd_id} | body
        created = self.vnf.call("POST", INSTANCES, request)
        self.vnf.id = created.json["id"]

    def instantiation(self) -> dict[str, Any]:
        vim = {
            "id": str(uuid.uuid4()),
            "vimId": self.vnf.vim_id,
            "vimType": "openstack",
        }
        request = self.vnf.request(vimConnectionInfo=[vim])
        for link in request["extVirtualLinks"]:
            for point in link["extCps"]:
                point["cpConfig"] = list(point["cpConfig"].values())
        return request

    def run_completed(self, task: str, body: Any) -> None:
        self.assertEqual("COMPLETED", self.run_operation(task, body))

    def run_operation(self, task: str, body: Any) -> str:
        """Run an operation; return its final state."""
        path = f"{INSTANCES}/{self.vnf.id}/{task}"
        response = self.vnf.call("POST", path, body)
        self.assertEqual(202, response.status, str(response.content))
        op_occ = self.vnf.wait_operation(response.headers["Location"])
        self.op_occ_id = op_occ["id"]
        return str(op_occ["operationState"])


class TestStackNames(VersionOneCase):
    def setUp(self) -> None:
        super().setUp()
        self.name = f"a.vnf-{uuid.uuid4().hex[:8]}"

    def stacks(self) -> set[str]:
        return set(self.vnf.project.stacks())

    def test_the_stack_has_the_name_of_the_instance(self) -> None:
        self.create(vnfInstanceName=self.name)
        self.run_completed("instantiate", self.instantiation())
        self.assertEqual({self.name}, self.stacks())
        before = self.vnf.project.stacks()[self.name]["id"]
        # the stack keeps the name that the instance had
        self.vnf.modify(self.vnf.id, {"vnfInstanceName": "renamed"})
        self.run_completed("heal", {})
        self.assertEqual({self.name}, self.stacks())
        self.assertNotEqual(before, self.vnf.project.stacks()[self.name]["id"])
        scale = {"aspectId": "front_aspect", "type": "SCALE_OUT"}
        self.run_completed("scale", scale)
        first = self.vnf.id
        self.create(vnfInstanceName=self.name)
        self.run_completed("instantiate", self.instantiation())
        self.assertEqual({self.name, self.vnf.stack}, self.stacks())
        self.run_completed("heal", {})
        self.assertEqual({self.name, self.vnf.stack}, self.stacks())
        for instance_id in (first, self.vnf.id):
            self.vnf.id = instance_id
            self.run_completed("terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual(set(), self.stacks())

    def test_a_name_that_heat_does_not_accept(self) -> None:
        self.create(vnfInstanceName="my VNF")
        self.run_completed("instantiate", self.instantiation())
        self.assertEqual({self.vnf.stack}, self.stacks())

    def test_a_failed_instantiation(self) -> None:
        self.create(vnfInstanceName=self.name)
        self.vnf.project.fail("store", "No room.")
        state = self.run_operation("instantiate", self.instantiation())
        self.assertEqual("FAILED_TEMP", state)
        self.assertEqual({self.name}, self.stacks())
        op_occ = f"/vnflcm/v1/vnf_lcm_op_occs/{self.op_occ_id}"
        self.assertEqual(200, self.vnf.call("POST", f"{op_occ}/fail").status)
        path = f"{INSTANCES}/{self.vnf.id}"
        waiting.until(
            lambda: self.vnf.call("DELETE", path).status == 204,
            "the deletion of the leftovers",
        )
        self.assertEqual(set(), self.stacks())

    def test_a_rollback(self) -> None:
        self.create(vnfInstanceName=self.name)
        self.vnf.project.fail("store", "No room.")
        self.run_operation("instantiate", self.instantiation())
        self.vnf.project.repair("store")
        done = self.vnf.decide(self.op_occ_id, "rollback")
        self.assertEqual("ROLLED_BACK", done["operationState"])
        self.assertEqual(set(), self.stacks())


class LifeCase(VersionOneCase):
    def show(self) -> Any:
        return self.vnf.call("GET", f"{INSTANCES}/{self.vnf.id}").json

    def vnfcs(self) -> dict[str, str]:
        """Return the VNFCs: id in version 1 -> server."""
        found = self.show()["instantiatedVnfInfo"]["vnfcResourceInfo"]
        return {v["id"]: v["computeResource"]["resourceId"] for v in found}


class TestVersionOne(LifeCase):
    def setUp(self) -> None:
        super().setUp()
        self.create()
        self.run_completed("instantiate", self.instantiation())

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


class TestUserData(LifeCase):
    """User data of version 1 with methods for scale and heal."""

    files = user_data_v1.package_files(
        user_data_v1.METHODS, user_data_v1.IN_NFV
    )

    def test_life(self) -> None:
        self.create()
        parameters = {"additionalParams": user_data_v1.PARAMETERS}
        self.run_completed("instantiate", self.instantiation() | parameters)
        first = self.vnfcs()
        self.check(2)
        scale = {"aspectId": "front_aspect", "type": "SCALE_OUT"}
        self.run_completed("scale", scale)
        self.check(3)
        self.assertEqual(2, self.nfv["seen"]["scale"][-1])
        self.run_completed("scale", scale | {"type": "SCALE_IN"})
        self.check(2)
        stack, (one, other) = self.vnf.stack_id, self.vnfcs()
        self.assertEqual([*first], [one, other])
        self.run_completed("heal", {"vnfcInstanceId": [one]})
        self.check(2)
        self.assertEqual(stack, self.vnf.stack_id)
        self.assertTrue(self.nfv["seen"]["named"])
        self.assertNotIn(one, self.vnfcs())
        self.assertIn(other, self.vnfcs())
        self.run_completed("heal", {})
        self.check(2)
        self.assertNotEqual(stack, self.vnf.stack_id)
        self.run_completed("terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual({}, self.vnf.project.stacks())

    @property
    def nfv(self) -> Any:
        """The parameter of the stack."""
        path = f"/stacks/{self.vnf.stack}/{self.vnf.stack_id}"
        stack = self.vnf.project.heat("GET", path)["stack"]
        return json.loads(stack["parameters"]["nfv"])

    def check(self, count: int) -> None:
        """Check that the VNFCs are the servers in Heat."""
        servers = {*self.vnfcs().values()}
        self.assertEqual(self.vnf.servers(), servers)
        self.assertEqual(count, len(servers))
