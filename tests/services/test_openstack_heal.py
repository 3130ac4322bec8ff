"""Heals, successful and failed, of a VNF on a real Heat."""

from typing import Any, ClassVar

import testtools

from tests.fixtures import waiting
from tests.fixtures.openstack import require_cloud
from tests.fixtures.openstack_vnf import OUT, SINGLE, VnfService


class HealCase(testtools.TestCase):
    options: ClassVar[dict[str, Any]] = {}
    request: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self, **self.options))
        self.project = self.vnf.project
        self.vnf.start(**self.request)

    @property
    def volume_id(self) -> str:
        (disk,) = self.vnf.info["virtualStorageResourceInfo"]
        return str(disk["storageResource"]["resourceId"])


class TestVnfcs(HealCase):
    def test_only_the_requested_vnfc_is_replaced(self) -> None:
        vnf = self.vnf
        vnf.run_operation("scale", OUT)
        before, stack, disk = vnf.ids(), vnf.stack_id, self.volume_id
        vnfc = vnf.vnfc("front")
        done = vnf.run_operation("heal", {"vnfcInstanceId": [vnfc["id"]]})
        self.assertEqual({vnfc["vnfcResourceInfoId"]}, before - vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(3, len(vnf.ids()))
        self.assertEqual((stack, disk), (vnf.stack_id, self.volume_id))
        changed = done["resourceChanges"]["affectedVnfcs"]
        self.assertEqual(
            ["ADDED", "REMOVED"], sorted(c["changeType"] for c in changed)
        )

    def test_storages_are_kept_unless_all_is_requested(self) -> None:
        vnf = self.vnf
        disk = self.volume_id
        vnf.run_operation(
            "heal", {"vnfcInstanceId": [vnf.vnfc("store")["id"]]}
        )
        self.assertEqual(disk, self.volume_id)
        done = vnf.run_operation(
            "heal",
            {
                "vnfcInstanceId": [vnf.vnfc("store")["id"]],
                "additionalParams": {"all": True},
            },
        )
        self.assertNotEqual(disk, self.volume_id)
        storages = done["resourceChanges"]["affectedVirtualStorages"]
        self.assertEqual(
            {("REMOVED", disk), ("ADDED", self.volume_id)},
            {
                (s["changeType"], s["storageResource"]["resourceId"])
                for s in storages
            },
        )

    def test_a_retry_keeps_servers_of_an_earlier_attempt(self) -> None:
        vnf = self.vnf
        vnf.run_operation("scale", OUT)
        before = vnf.ids()
        names = [vnf.vnfc("front")["id"], vnf.vnfc("store")["id"]]
        self.project.fail("store", "No room.")
        failed = vnf.run_operation(
            "heal", {"vnfcInstanceId": names}, "FAILED_TEMP"
        )
        self.assertIn("No room.", failed["error"]["detail"])
        # Heat completes or cancels resources in progress
        waiting.until(self.is_stack_idle, "an idle stack")
        servers = self.project.servers(vnf.stack).items()
        created = {id_ for id_, name in servers if name == "front"} - before
        self.project.repair("store")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertTrue(created <= vnf.ids("front"))
        self.assertEqual(1, len(before & vnf.ids()))
        self.assertEqual(3, len(vnf.ids()))

    def test_a_rejected_update_leaves_no_mark(self) -> None:
        vnf = self.vnf
        before = vnf.ids()
        nfv = {"VDU": {"front": {"desired_capacity": 99}}}
        body = {
            "vnfcInstanceId": [vnf.vnfc("store")["id"]],
            "additionalParams": {"nfv": nfv},
        }
        failed = vnf.run_operation("heal", body, "FAILED_TEMP")
        self.assertIn("between MinSize and MaxSize", failed["error"]["detail"])
        vnf.decide(failed["id"], "fail")
        vnf.run_operation("scale", OUT)
        self.assertTrue(before < vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())

    def is_stack_idle(self) -> bool:
        resources = self.project.resources(self.vnf.stack)
        return not any("PROGRESS" in r["resource_status"] for r in resources)

    def test_invalid_requests_are_rejected_with_400(self) -> None:
        for body, message in (
            ({"vnfcInstanceId": ["front-1"]}, "no VNFC instance front-1"),
            ({"additionalParams": {"all": "yes"}}, "`$.all`"),
        ):
            response = self.vnf.task(self.vnf.id, "heal", body)
            self.assertEqual(400, response.status)
            self.assertIn(message, response.detail)


class TestDeleted(HealCase):
    """Servers deleted or locked in Nova."""

    def test_a_deleted_server_is_replaced_with_its_volume(self) -> None:
        vnf = self.vnf
        require_cloud(self)
        disk, front = self.volume_id, vnf.ids("front")
        vnfc = vnf.vnfc("store")
        (old_vnfc,) = vnf.ids("store")
        self.project.delete_server(old_vnfc)
        vnf.run_operation("heal", {"vnfcInstanceId": [vnfc["id"]]})
        (store,) = vnf.ids("store")
        self.assertNotEqual(old_vnfc, store)
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual((front, disk), (vnf.ids("front"), self.volume_id))
        self.assertEqual([disk], self.project.volumes_of(store))

    def test_a_locked_server_is_not_deleted(self) -> None:
        vnf = self.vnf
        require_cloud(self)
        (old_vnfc,) = vnf.ids("store")
        self.project.lock_server(old_vnfc)
        body = {"vnfcInstanceId": [vnf.vnfc("store")["id"]]}
        failed = vnf.run_operation("heal", body, "FAILED_TEMP")
        self.assertIn("Nova answered 409", failed["error"]["detail"])
        self.assertIn("locked", failed["error"]["detail"])
        self.assertEqual({old_vnfc}, vnf.ids("store"))
        # the next update replaces nothing
        self.assertEqual({"CHECK_COMPLETE"}, self.statuses("store"))
        self.project.unlock_server(old_vnfc)
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertNotEqual({old_vnfc}, vnf.ids("store"))
        self.assertEqual(vnf.servers(), vnf.ids())

    def statuses(self, name: str) -> set[str]:
        return {
            resource["resource_status"]
            for resource in self.project.resources(self.vnf.stack)
            if resource["resource_name"] == name
        }


class TestSingle(HealCase):
    """Each VNFC is a separate resource, in a nested stack."""

    request: ClassVar[dict[str, Any]] = {
        "flavourId": "single",
        "additionalParams": SINGLE,
    }

    def test_the_volume_in_its_stack_is_kept(self) -> None:
        vnf = self.vnf
        disk, before = self.volume_id, vnf.ids()
        vnfc = vnf.vnfc("store")
        body = {"vnfcInstanceId": [vnfc["id"]], "additionalParams": SINGLE}
        vnf.run_operation("heal", body)
        self.assertEqual({vnfc["vnfcResourceInfoId"]}, before - vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(disk, self.volume_id)


class TestWholeVnf(HealCase):
    def test_the_stack_is_recreated_at_its_size(self) -> None:
        vnf = self.vnf
        vnf.run_operation("scale", OUT)
        before, stack = vnf.ids(), vnf.stack_id
        self.project.fail("store", "No room.")
        body = {"additionalParams": {"all": True}}
        failed = vnf.run_operation("heal", body, "FAILED_TEMP")
        self.assertIn("No room.", failed["error"]["detail"])
        self.project.repair("store")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertNotEqual(stack, vnf.stack_id)
        self.assertEqual(vnf.stack_id, vnf.info["metadata"]["stack_id"])
        self.assertEqual(set(), before & vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(3, len(vnf.ids()))

    def test_a_deleted_stack_is_recreated(self) -> None:
        vnf = self.vnf
        self.delete()
        waiting.until(
            lambda: vnf.stack not in self.project.stacks(), "the deletion"
        )
        response = vnf.call("POST", f"/vnflcm/v2/vnf_instances/{vnf.id}/sync")
        self.assertEqual(202, response.status)
        waiting.until(lambda: not vnf.ids(), "the synchronization")
        failed = vnf.run_operation("heal", {}, "FAILED_TEMP")
        self.assertIn("another client has deleted", failed["error"]["detail"])
        self.vnf.decide(failed["id"], "fail")
        self.recreate_stack()

    def test_a_stack_with_a_failed_deletion_is_recreated(self) -> None:
        vnf = self.vnf
        self.project.fail_deletion("store", "It is in use.")
        self.delete()
        waiting.until(
            lambda: (
                self.project.stacks()[vnf.stack]["stack_status"]
                == "DELETE_FAILED"
            ),
            "the failed deletion",
        )
        failed = vnf.run_operation("heal", {}, "FAILED_TEMP")
        self.assertIn("It is in use.", failed["error"]["detail"])
        self.vnf.decide(failed["id"], "fail")
        self.project.repair("store")
        self.recreate_stack()

    def delete(self) -> None:
        """Delete the stack without this service."""
        path = f"/stacks/{self.vnf.stack}/{self.vnf.stack_id}"
        self.project.heat("DELETE", path)

    def recreate_stack(self) -> None:
        """Heal the whole VNF; check that the stack is a new one."""
        vnf = self.vnf
        stack_id = vnf.info["metadata"]["stack_id"]
        vnf.run_operation("heal", {"additionalParams": {"all": True}})
        self.assertNotEqual(stack_id, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))


class TestConfiguredDefault(HealCase):
    options: ClassVar[dict[str, Any]] = {"openstack": {"heal_whole_all": True}}

    def test_the_stack_is_recreated_unless_all_is_false(self) -> None:
        vnf = self.vnf
        before, stack, disk = vnf.ids(), vnf.stack_id, self.volume_id
        vnf.run_operation("heal", {"additionalParams": {"all": False}})
        self.assertEqual(set(), before & vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual((stack, disk), (vnf.stack_id, self.volume_id))
        vnf.run_operation("heal", {})
        self.assertNotEqual(stack, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
