"""How a VNF on a real Heat is healed, and what happens when that fails."""

from typing import Any, ClassVar

import testtools

from tests.fixtures import waiting
from tests.fixtures.openstack import need_cloud
from tests.fixtures.vnf import OUT, SINGLE, VnfService


class HealCase(testtools.TestCase):
    options: ClassVar[dict[str, Any]] = {}
    request: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self, **self.options))
        self.project = self.vnf.project
        self.vnf.start(**self.request)

    @property
    def disk(self) -> str:
        (disk,) = self.vnf.info["virtualStorageResourceInfo"]
        return str(disk["storageResource"]["resourceId"])


class TestVnfcs(HealCase):
    def test_one_is_made_anew_and_nothing_else(self) -> None:
        vnf = self.vnf
        vnf.do("scale", OUT)
        before, stack, disk = vnf.ids(), vnf.stack_id, self.disk
        vnfc = vnf.vnfc("front")
        done = vnf.do("heal", {"vnfcInstanceId": [vnfc["id"]]})
        self.assertEqual({vnfc["vnfcResourceInfoId"]}, before - vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(3, len(vnf.ids()))
        self.assertEqual((stack, disk), (vnf.stack_id, self.disk))
        changed = done["resourceChanges"]["affectedVnfcs"]
        self.assertEqual(
            ["ADDED", "REMOVED"], sorted(c["changeType"] for c in changed)
        )

    def test_its_storages_stay_unless_all_is_asked_for(self) -> None:
        vnf = self.vnf
        disk = self.disk
        vnf.do("heal", {"vnfcInstanceId": [vnf.vnfc("store")["id"]]})
        self.assertEqual(disk, self.disk)
        done = vnf.do(
            "heal",
            {
                "vnfcInstanceId": [vnf.vnfc("store")["id"]],
                "additionalParams": {"all": True},
            },
        )
        self.assertNotEqual(disk, self.disk)
        storages = done["resourceChanges"]["affectedVirtualStorages"]
        self.assertEqual(
            {("REMOVED", disk), ("ADDED", self.disk)},
            {
                (s["changeType"], s["storageResource"]["resourceId"])
                for s in storages
            },
        )

    def test_a_retry_touches_none_that_an_earlier_try_has_made(self) -> None:
        vnf = self.vnf
        vnf.do("scale", OUT)
        before = vnf.ids()
        names = [vnf.vnfc("front")["id"], vnf.vnfc("store")["id"]]
        self.project.fail("store", "No room.")
        failed = vnf.do("heal", {"vnfcInstanceId": names}, "FAILED_TEMP")
        self.assertIn("No room.", failed["error"]["detail"])
        # Heat ends by itself what it has begun, or cancels it
        waiting.until(self.is_quiet, "quiet")
        servers = self.project.servers(vnf.stack).items()
        made = {id_ for id_, name in servers if name == "front"} - before
        self.project.mend("store")
        vnf.then(failed, "retry", "COMPLETED")
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
        failed = vnf.do("heal", body, "FAILED_TEMP")
        self.assertIn("between MinSize and MaxSize", failed["error"]["detail"])
        vnf.decide(failed["id"], "fail")
        vnf.do("scale", OUT)
        self.assertTrue(before < vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())

    def is_quiet(self) -> bool:
        resources = self.project.resources(self.vnf.stack)
        return not any("PROGRESS" in r["resource_status"] for r in resources)

    def test_what_is_wrong_is_told_at_once(self) -> None:
        for body, said in (
            ({"vnfcInstanceId": ["front-1"]}, "no VNFC instance front-1"),
            ({"additionalParams": {"all": "yes"}}, "`$.all`"),
        ):
            answer = self.vnf.task(self.vnf.id, "heal", body)
            self.assertEqual(400, answer.status)
            self.assertIn(said, answer.detail)


class TestDeleted(HealCase):
    """A server that Heat does not know to have gone."""

    def test_it_comes_back_with_its_volume(self) -> None:
        vnf = self.vnf
        need_cloud(self)
        disk, front = self.disk, vnf.ids("front")
        vnfc = vnf.vnfc("store")
        (former,) = vnf.ids("store")
        self.project.delete_server(former)
        vnf.do("heal", {"vnfcInstanceId": [vnfc["id"]]})
        (store,) = vnf.ids("store")
        self.assertNotEqual(former, store)
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual((front, disk), (vnf.ids("front"), self.disk))
        self.assertEqual([disk], self.project.volumes_of(store))

    def test_nobody_may_delete_one_that_is_locked(self) -> None:
        vnf = self.vnf
        need_cloud(self)
        (former,) = vnf.ids("store")
        self.project.lock_server(former)
        body = {"vnfcInstanceId": [vnf.vnfc("store")["id"]]}
        failed = vnf.do("heal", body, "FAILED_TEMP")
        self.assertIn("Nova answered 409", failed["error"]["detail"])
        self.assertIn("locked", failed["error"]["detail"])
        self.assertEqual({former}, vnf.ids("store"))
        # and nothing is left that an update would replace
        self.assertEqual({"CHECK_COMPLETE"}, self.statuses("store"))
        self.project.unlock_server(former)
        vnf.then(failed, "retry", "COMPLETED")
        self.assertNotEqual({former}, vnf.ids("store"))
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
        disk, before = self.disk, vnf.ids()
        vnfc = vnf.vnfc("store")
        body = {"vnfcInstanceId": [vnfc["id"]], "additionalParams": SINGLE}
        vnf.do("heal", body)
        self.assertEqual({vnfc["vnfcResourceInfoId"]}, before - vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(disk, self.disk)


class TestWhole(HealCase):
    def test_all_of_it_in_a_new_stack_at_its_size(self) -> None:
        vnf = self.vnf
        vnf.do("scale", OUT)
        before, stack = vnf.ids(), vnf.stack_id
        self.project.fail("store", "No room.")
        body = {"additionalParams": {"all": True}}
        failed = vnf.do("heal", body, "FAILED_TEMP")
        self.assertIn("No room.", failed["error"]["detail"])
        self.project.mend("store")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertNotEqual(stack, vnf.stack_id)
        self.assertEqual(vnf.stack_id, vnf.info["metadata"]["stack_id"])
        self.assertEqual(set(), before & vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(3, len(vnf.ids()))

    def test_a_stack_that_somebody_deleted_comes_back(self) -> None:
        vnf = self.vnf
        self.delete()
        waiting.until(
            lambda: vnf.stack not in self.project.stacks(), "its end"
        )
        answer = vnf.call("POST", f"/vnflcm/v2/vnf_instances/{vnf.id}/sync")
        self.assertEqual(202, answer.status)
        waiting.until(lambda: not vnf.ids(), "that it is known")
        failed = vnf.do("heal", {}, "FAILED_TEMP")
        self.assertIn("somebody else has deleted", failed["error"]["detail"])
        self.vnf.decide(failed["id"], "fail")
        self.comes_back()

    def test_a_stack_that_heat_could_not_delete_comes_back(self) -> None:
        vnf = self.vnf
        self.project.keep("store", "It is in use.")
        self.delete()
        waiting.until(
            lambda: (
                self.project.stacks()[vnf.stack]["stack_status"]
                == "DELETE_FAILED"
            ),
            "its failure",
        )
        failed = vnf.do("heal", {}, "FAILED_TEMP")
        self.assertIn("It is in use.", failed["error"]["detail"])
        self.vnf.decide(failed["id"], "fail")
        self.project.mend("store")
        self.comes_back()

    def delete(self) -> None:
        """Delete the stack as somebody else does."""
        path = f"/stacks/{self.vnf.stack}/{self.vnf.stack_id}"
        self.project.heat("DELETE", path)

    def comes_back(self) -> None:
        """Have the lost stack made anew."""
        vnf = self.vnf
        known = vnf.info["metadata"]["stack_id"]
        vnf.do("heal", {"additionalParams": {"all": True}})
        self.assertNotEqual(known, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))


class TestByDefault(HealCase):
    options: ClassVar[dict[str, Any]] = {"openstack": {"heal_whole_all": True}}

    def test_the_stack_is_new_unless_the_request_says_no(self) -> None:
        vnf = self.vnf
        before, stack, disk = vnf.ids(), vnf.stack_id, self.disk
        vnf.do("heal", {"additionalParams": {"all": False}})
        self.assertEqual(set(), before & vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual((stack, disk), (vnf.stack_id, self.disk))
        vnf.do("heal", {})
        self.assertNotEqual(stack, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
