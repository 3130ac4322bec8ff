"""What goes wrong on a real Heat, and how a VNF comes out of it."""

from typing import Any

import testtools

from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tests.fixtures import waiting
from tests.fixtures.openstack import need_faults
from tests.fixtures.vnf import (
    FORCEFUL,
    IN,
    OUT,
    SINGLE,
    VnfService,
    a_link,
    a_point,
)
from tests.fixtures.vnfm import Csar

OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
TEMPLATE = "BaseHOT/simple/front_and_store.yaml"
MORE = """
  more:
    type: OS::Cinder::Volume
    properties: { size: 1 }
"""


class FailureCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        need_faults(self)  # before anything is made for long
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project

    def held(self) -> str:
        """Ask for an operation that Heat does not end; give where it is."""
        self.project.hold("store")
        answer = self.vnf.task(self.vnf.id, "heal", {})
        assert answer.status == 202, answer.content

        def begun() -> bool:
            stack = self.project.stacks()[self.vnf.stack]
            return bool(stack["stack_status"] == "UPDATE_IN_PROGRESS")

        waiting.until(begun, "the update")
        return str(answer.headers["Location"])


class TestInstantiate(FailureCase):
    def test_why_it_failed_and_a_retry_that_mends_it(self) -> None:
        vnf = self.vnf
        self.project.fail("store", "Quota exceeded for cores.")
        failed = vnf.do("instantiate", vnf.request(), "FAILED_TEMP")
        detail = failed["error"]["detail"]
        self.assertIn("is CREATE_FAILED", detail)
        self.assertIn("resources.store", detail)
        self.assertIn("Quota exceeded for cores.", detail)
        self.assertEqual(422, failed["error"]["status"])
        self.project.mend("store")
        stack = vnf.stack_id
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(stack, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))

    def test_a_rollback_leaves_nothing(self) -> None:
        vnf = self.vnf
        nfv = {"VDU": {"front": {"desired_capacity": 99}}}
        refused = vnf.request(additionalParams={"nfv": nfv})
        failed = vnf.do("instantiate", refused, "FAILED_TEMP")
        self.assertIn("between MinSize and MaxSize", failed["error"]["detail"])
        vnf.then(failed, "rollback", "ROLLED_BACK")
        self.project.fail("store", "No room.")
        failed = vnf.do("instantiate", vnf.request(), "FAILED_TEMP")
        vnf.then(failed, "rollback", "ROLLED_BACK")
        instance = vnf.instance(vnf.id)
        self.assertEqual("NOT_INSTANTIATED", instance["instantiationState"])
        self.project.mend("store")
        # at once: Heat keeps the name of a deleted stack for a while
        vnf.start()
        self.assertEqual(2, len(vnf.ids()))


class TestScale(FailureCase):
    def test_a_rollback_leaves_what_was_and_a_retry_ends_it(self) -> None:
        vnf = self.vnf
        vnf.start()
        before = vnf.ids()
        self.project.fail("front", "No room.")
        failed = vnf.do("scale", {**OUT, "numberOfSteps": 2}, "FAILED_TEMP")
        vnf.then(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(before, vnf.ids())
        self.assertEqual(before, vnf.servers())
        failed = vnf.do("scale", OUT, "FAILED_TEMP")
        self.project.mend("front")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertTrue(before < vnf.ids())
        self.assertEqual(2, len(vnf.ids("front")))

    def test_a_rollback_restores_the_networks(self) -> None:
        vnf = self.vnf
        other = self.project.network()
        vnf.start()
        before = vnf.info["extVirtualLinkInfo"]
        self.project.fail("store_cp", "No address.")
        body = {"extVirtualLinks": [a_link(other, a_point("store_cp"))]}
        failed = vnf.do("change_ext_conn", body, "FAILED_TEMP")
        self.assertNotIn("changedExtConnectivity", failed)
        self.project.mend("store_cp")
        vnf.then(failed, "rollback", "ROLLED_BACK")
        (link,) = vnf.info["extVirtualLinkInfo"]
        self.assertEqual(
            before[0]["currentVnfExtCpData"], link["currentVnfExtCpData"]
        )
        nfv = vnf.info["metadata"]["nfv"]
        self.assertEqual(vnf.network, nfv["CP"]["store_cp"]["network"])

    def test_a_scale_in_that_fails_goes_on(self) -> None:
        vnf = self.vnf
        vnf.start()
        first = vnf.ids()
        vnf.do("scale", OUT)
        self.project.keep("front", "It is in use.")
        failed = vnf.do("scale", IN, "FAILED_TEMP")
        self.assertIn("It is in use.", failed["error"]["detail"])
        self.project.mend("front")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(first, vnf.ids())
        self.assertEqual(first, vnf.servers())
        self.assertEqual(0, vnf.info["scaleStatus"][0]["scaleLevel"])


class TestPackage(FailureCase):
    """The next package's template has a volume more."""

    def resources(self) -> set[str]:
        found = self.project.resources(self.vnf.stack)
        return {one["resource_name"] for one in found}

    def test_a_template_that_fails_is_taken_back(self) -> None:
        vnf = self.vnf
        vnf.start()
        template = (Csar.source("vnf") / TEMPLATE).read_text()
        files = {TEMPLATE: template + MORE}
        another = vnf.onboard(self.useFixture(Csar("vnf", files=files)))
        body = {
            "vnfdId": another,
            "additionalParams": {"upgrade_type": "RollingUpdate"},
        }
        before, had, nfv = vnf.ids(), self.resources(), vnf.info["metadata"]
        self.project.fail("more", "No room.")
        failed = vnf.do("change_vnfpkg", body, "FAILED_TEMP")
        self.assertIn("resources.more", failed["error"]["detail"])
        self.assertIn("more", self.resources())
        # the rollback has no need of what fails
        vnf.then(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(had, self.resources())
        self.assertEqual(before, vnf.ids())
        self.assertEqual(before, vnf.servers())
        self.assertEqual(nfv, vnf.info["metadata"])
        self.assertEqual(vnf.vnfd_id, vnf.instance(vnf.id)["vnfdId"])
        failed = vnf.do("change_vnfpkg", body, "FAILED_TEMP")
        self.project.mend("more")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(had | {"more"}, self.resources())
        self.assertEqual(before, vnf.ids())
        self.assertEqual(another, vnf.instance(vnf.id)["vnfdId"])


class TestTerminate(FailureCase):
    def test_what_could_not_be_deleted_is_deleted_later(self) -> None:
        vnf = self.vnf
        vnf.start()
        stack = vnf.stack_id
        self.project.keep("store", "It is in use.")
        failed = vnf.do("terminate", FORCEFUL, "FAILED_TEMP")
        detail = failed["error"]["detail"]
        self.assertIn("is DELETE_FAILED", detail)
        self.assertIn("It is in use.", detail)
        self.assertEqual(stack, vnf.stack_id)
        failed = vnf.then(failed, "retry", "FAILED_TEMP")
        self.assertIn("It is in use.", failed["error"]["detail"])
        refused = vnf.call("POST", f"{OP_OCCS}/{failed['id']}/rollback")
        self.assertEqual(409, refused.status)
        self.project.mend("store")
        vnf.then(failed, "retry", "COMPLETED")
        instance = vnf.instance(vnf.id)
        self.assertEqual("NOT_INSTANTIATED", instance["instantiationState"])
        waiting.until(lambda: not self.project.stacks(), "its end")


class TestSingle(FailureCase):
    """Each VNFC is a resource of its own."""

    def do(self, task: str, body: Any, end: str = "COMPLETED") -> Any:
        given = {**body.get("additionalParams", {}), **SINGLE}
        return self.vnf.do(task, {**body, "additionalParams": given}, end)

    def test_it_comes_back_from_each_failure(self) -> None:
        vnf = self.vnf
        request = vnf.request(flavourId="single")
        self.project.fail("store", "No room.")
        failed = self.do("instantiate", request, "FAILED_TEMP")
        self.assertIn("No room.", failed["error"]["detail"])
        vnf.then(failed, "rollback", "ROLLED_BACK")
        failed = self.do("instantiate", request, "FAILED_TEMP")
        self.project.mend("store")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(2, len(vnf.ids()))
        first, nfv = vnf.ids(), vnf.info["metadata"]["nfv"]
        self.assertEqual(first, vnf.servers())
        self.project.fail("front", "No room.")
        failed = self.do("scale", OUT, "FAILED_TEMP")
        vnf.then(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(first, vnf.ids())
        self.assertEqual(first, vnf.servers())
        self.assertEqual(nfv, vnf.info["metadata"]["nfv"])
        failed = self.do("scale", OUT, "FAILED_TEMP")
        self.project.mend("front")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual([1, 0], self.numbers())
        self.assertTrue(first < vnf.ids())
        self.project.fail("front", "No room.")
        heal = {"vnfcInstanceId": [vnf.vnfc("front")["id"]]}
        before = vnf.ids()
        failed = self.do("heal", heal, "FAILED_TEMP")
        self.project.mend("front")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(1, len(before - vnf.ids()))
        self.assertEqual(vnf.servers(), vnf.ids())
        self.project.keep("front", "It is in use.")
        failed = self.do("scale", IN, "FAILED_TEMP")
        self.project.mend("front")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual([0], self.numbers())
        self.assertEqual(vnf.servers(), vnf.ids())

    def numbers(self) -> list[int]:
        """Tell which VNFCs of the VDU that scales there are."""
        found = self.vnf.vnfcs("front")
        return [vnfc["metadata"]["vdu_idx"] for vnfc in found]


class TestInBetween(FailureCase):
    def test_who_waits_is_called_off_at_once_and_goes_on_later(self) -> None:
        vnf = self.vnf
        vnf.start()
        before = vnf.ids()
        where = self.held()
        cancel = {"cancelMode": "FORCEFUL"}
        answer = vnf.call("POST", f"{where}/cancel", cancel)
        self.assertEqual(202, answer.status)
        cancelled = vnf.ended(where)
        self.assertEqual("FAILED_TEMP", cancelled["operationState"])
        self.assertIn("cancelled", cancelled["error"]["detail"])
        # Heat is still at the first try's update
        self.project.mend("store")
        vnf.then(cancelled, "retry", "COMPLETED")
        self.assertEqual(set(), before & vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())

    def test_a_token_that_no_longer_holds_is_replaced(self) -> None:
        vnf = self.vnf
        driver = vnf.parts.drivers.of_type("openstack")
        assert isinstance(driver, OpenstackDriver)
        vnf.start()
        where = self.held()
        for link in driver._clouds._kept.values():
            link.session.auth.auth_ref._auth_token = "expired"
        self.project.mend("store")
        done = vnf.ended(where)
        self.assertEqual("COMPLETED", done["operationState"], done)

    def test_a_stack_that_somebody_deletes_meanwhile(self) -> None:
        vnf = self.vnf
        vnf.start()
        where = self.held()
        self.project.heat("DELETE", f"/stacks/{vnf.stack}/{vnf.stack_id}")
        self.project.mend("store")
        failed = vnf.ended(where)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        self.assertIn("deleted", failed["error"]["detail"].lower())
        vnf.decide(failed["id"], "fail")
        vnf.do("terminate", FORCEFUL)
        instance = vnf.instance(vnf.id)
        self.assertEqual("NOT_INSTANTIATED", instance["instantiationState"])


class TestTimes(testtools.TestCase):
    def test_heat_that_does_not_end_in_time(self) -> None:
        vnf = self.useFixture(VnfService(self, openstack={"stack_timeout": 1}))
        vnf.project.hold("store")
        failed = vnf.do("instantiate", vnf.request(), "FAILED_TEMP")
        self.assertIn("in time", failed["error"]["detail"])

    def test_a_vnf_that_gets_its_time_to_end_holds_up_nobody(self) -> None:
        vnf = self.useFixture(VnfService(self, conductor={"workers": 1}))
        vnf.start()
        body = {
            "terminationType": "GRACEFUL",
            "gracefulTerminationTimeout": 600,
        }
        where = vnf.task(vnf.id, "terminate", body).headers["Location"]

        def waits() -> bool:
            return "600 s" in vnf.call("GET", where).json.get("progress", "")

        waiting.until(waits, "the wait")
        another = vnf.create(vnf.vnfd_id)
        done = vnf.modify(another, {"vnfInstanceName": "another"})
        self.assertEqual("COMPLETED", done["operationState"])
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.call("POST", f"{where}/cancel", {"cancelMode": "FORCEFUL"})
        cancelled = vnf.ended(where)
        self.assertEqual("FAILED_TEMP", cancelled["operationState"])
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.decide(cancelled["id"], "fail")
        vnf.do("terminate", FORCEFUL)


class TestZones(testtools.TestCase):
    def test_who_finds_no_host_goes_to_another_zone(self) -> None:
        need_faults(self)  # a zone that is full
        options = {"openstack": {"fallback_zones": ["full", "nova"]}}
        vnf = self.useFixture(VnfService(self, **options))
        nfv = {"VDU": {"store": {"locationConstraints": "full"}}}
        vnf.start(additionalParams={"nfv": nfv})
        (store,) = vnf.vnfcs("store")
        self.assertEqual("nova", store["zoneId"])
        self.assertEqual(vnf.servers(), vnf.ids())


class TestVim(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        brief = {"contact_timeout": 0, "outage_timeout": 0}
        self.vnf = self.useFixture(VnfService(self, openstack=brief))
        self.project = self.vnf.project

    def test_a_vim_has_to_answer_and_to_let_us_in(self) -> None:
        vim = {**self.project.vim, "name": "another"}
        wrong = {**vim["auth_cred"], "password": "wrong"}
        for change, says in (
            ({"auth_cred": wrong}, "Keystone refused the credentials"),
            ({"auth_url": "http://127.0.0.1:1/v3"}, "does not answer"),
        ):
            answer = self.vnf.call("POST", "/v1.0/vims", {"vim": vim | change})
            self.assertEqual(422, answer.status)
            self.assertIn(says, answer.detail)

    def test_an_application_credential_logs_in(self) -> None:
        credential = self.project.application()
        vim = {
            "type": "openstack",
            "name": "another",
            "auth_url": self.project.auth_url,
            "auth_cred": credential,
        }
        answer = self.vnf.call("POST", "/v1.0/vims", {"vim": vim})
        self.assertEqual(201, answer.status)
        known = {"vim1": {"vimId": answer.json["vim"]["id"]}}
        self.vnf.start(vimConnectionInfo=known)
        self.assertEqual(self.project.id, self.vnf.info["metadata"]["tenant"])
        self.vnf.do("scale", OUT)
        self.assertEqual(self.vnf.servers(), self.vnf.ids())
        self.assertEqual(3, len(self.vnf.ids()))
        self.vnf.do("terminate", FORCEFUL)
        credential["application_credential_secret"] = "wrong"
        answer = self.vnf.call("POST", "/v1.0/vims", {"vim": vim})
        self.assertEqual(422, answer.status)
