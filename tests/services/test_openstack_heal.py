"""How a VNF on a real Heat is healed, and what happens when that fails."""

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
    def test_one_is_recreated_and_nothing_else(self) -> None:
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

    def test_its_storages_stay_unless_all_is_asked_for(self) -> None:
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

    def test_a_retry_touches_none_that_an_earlier_try_has_made(self) -> None:
        vnf = self.vnf
        vnf.run_operation("scale", OUT)
        before = vnf.ids()
        names = [vnf.vnfc("front")["id"], vnf.vnfc("store")["id"]]
        self.project.fail("store", "No room.")
        failed = vnf.run_operation(
            "heal", {"vnfcInstanceId": names}, "FAILED_TEMP"
        )
        self.assertIn("No room.", failed["error"]["detail"])
        # Heat ends by itself what it has begun, or cancels it
        waiting.until(self.is_stack_idle, "quiet")
        servers = self.project.servers(vnf.stack).items()
        made = {id_ for id_, name in servers if name == "front"} - before
        self.project.repair("store")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertTrue(made <= vnf.ids("front"))
        self.assertEqual(1, len(before & vnf.ids()))
        self.assertEqual(3, len(vnf.ids()))

    def test_what_a_refused_update_would_have_replaced_stays(self) -> None:
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

    def test_invalid_requests_are_refused_at_once(self) -> None:
        for body, message in (
            ({"vnfcInstanceId": ["front-1"]}, "no VNFC instance front-1"),
            ({"additionalParams": {"all": "yes"}}, "`$.all`"),
        ):
            answer = self.vnf.task(self.vnf.id, "heal", body)
            self.assertEqual(400, answer.status)
            self.assertIn(message, answer.detail)


class TestDeleted(HealCase):
    """A server that Heat does not know to have gone."""

    def test_it_comes_back_with_its_volume(self) -> None:
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
        # and nothing is left that an update would replace
        self.assertEqual({"CHECK_COMPLETE"}, self.statuses("store"))
        self.project.unlock_server(old_vnfc)
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertNotEqual({old_vnfc}, vnf.ids("store"))
        self.assertEqual(vnf.servers(), vnf.ids())

    def statuses(self, name: str) -> set[str]:
        return {
            one["resource_status"]
            for one in self.project.resources(self.vnf.stack)
            if one["resource_name"] == name
        }


class TestSingle(HealCase):
    """Each VNFC is a resource of its own, in a stack of its own."""

    request: ClassVar[dict[str, Any]] = {
        "flavourId": "single",
        "additionalParams": SINGLE,
    }

    def test_the_volume_in_its_stack_stays(self) -> None:
        vnf = self.vnf
        disk, before = self.volume_id, vnf.ids()
        vnfc = vnf.vnfc("store")
        body = {"vnfcInstanceId": [vnfc["id"]], "additionalParams": SINGLE}
        vnf.run_operation("heal", body)
        self.assertEqual({vnfc["vnfcResourceInfoId"]}, before - vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(disk, self.volume_id)


class TestWhole(HealCase):
    def test_all_of_it_in_a_new_stack_at_its_size(self) -> None:
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
            lambda: vnf.stack not in self.project.stacks(), "its end"
        )
        answer = vnf.call("POST", f"/vnflcm/v2/vnf_instances/{vnf.id}/sync")
        self.assertEqual(202, answer.status)
        waiting.until(lambda: not vnf.ids(), "that it is known")
        failed = vnf.run_operation("heal", {}, "FAILED_TEMP")
        self.assertIn("another client has deleted", failed["error"]["detail"])
        self.vnf.decide(failed["id"], "fail")
        self.recreate_stack()

    def test_a_stack_that_heat_could_not_delete_comes_back(self) -> None:
        vnf = self.vnf
        self.project.fail_deletion("store", "It is in use.")
        self.delete()
        waiting.until(
            lambda: (
                self.project.stacks()[vnf.stack]["stack_status"]
                == "DELETE_FAILED"
            ),
            "its failure",
        )
        failed = vnf.run_operation("heal", {}, "FAILED_TEMP")
        self.assertIn("It is in use.", failed["error"]["detail"])
        self.vnf.decide(failed["id"], "fail")
        self.project.repair("store")
        self.recreate_stack()

    def delete(self) -> None:
        """Delete the stack as somebody else does."""
        path = f"/stacks/{self.vnf.stack}/{self.vnf.stack_id}"
        self.project.heat("DELETE", path)

    def recreate_stack(self) -> None:
        """Have the lost stack made anew."""
        vnf = self.vnf
        stack_id = vnf.info["metadata"]["stack_id"]
        vnf.run_operation("heal", {"additionalParams": {"all": True}})
        self.assertNotEqual(stack_id, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))


class TestByDefault(HealCase):
    options: ClassVar[dict[str, Any]] = {"openstack": {"heal_whole_all": True}}

    def test_the_stack_is_new_unless_the_request_says_no(self) -> None:
        vnf = self.vnf
        before, stack, disk = vnf.ids(), vnf.stack_id, self.volume_id
        vnf.run_operation("heal", {"additionalParams": {"all": False}})
        self.assertEqual(set(), before & vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual((stack, disk), (vnf.stack_id, self.volume_id))
        vnf.run_operation("heal", {})
        self.assertNotEqual(stack, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
