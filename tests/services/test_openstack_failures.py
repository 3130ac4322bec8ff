"""Failures on a real Heat, and retry, rollback or fail after them."""

from typing import Any

import testtools

from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tests.fixtures import waiting
from tests.fixtures.openstack import require_fault_injection
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
        require_fault_injection(self)  # before the slow fixtures
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project

    def start_hanging(self) -> str:
        """Start an operation that Heat does not complete; return its URI."""
        self.project.hang("store")
        response = self.vnf.task(self.vnf.id, "heal", {})
        assert response.status == 202, response.content

        def is_started() -> bool:
            stack = self.project.stacks()[self.vnf.stack]
            return bool(stack["stack_status"] == "UPDATE_IN_PROGRESS")

        waiting.until(is_started, "the update")
        return str(response.headers["Location"])


class TestInstantiate(FailureCase):
    def test_the_reason_is_reported_and_a_retry_completes(self) -> None:
        vnf = self.vnf
        self.project.fail("store", "Quota exceeded for cores.")
        failed = vnf.run_operation("instantiate", vnf.request(), "FAILED_TEMP")
        detail = failed["error"]["detail"]
        self.assertIn("is CREATE_FAILED", detail)
        self.assertIn("resources.store", detail)
        self.assertIn("Quota exceeded for cores.", detail)
        self.assertEqual(422, failed["error"]["status"])
        self.project.repair("store")
        stack = vnf.stack_id
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(stack, vnf.stack_id)
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))

    def test_a_rollback_deletes_the_stack(self) -> None:
        vnf = self.vnf
        nfv = {"VDU": {"front": {"desired_capacity": 99}}}
        refused = vnf.request(additionalParams={"nfv": nfv})
        failed = vnf.run_operation("instantiate", refused, "FAILED_TEMP")
        self.assertIn("between MinSize and MaxSize", failed["error"]["detail"])
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.project.fail("store", "No room.")
        failed = vnf.run_operation("instantiate", vnf.request(), "FAILED_TEMP")
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        instance = vnf.instance(vnf.id)
        self.assertEqual("NOT_INSTANTIATED", instance["instantiationState"])
        self.project.repair("store")
        # at once: Heat still reserves the name of the deleted stack
        vnf.start()
        self.assertEqual(2, len(vnf.ids()))


class TestScale(FailureCase):
    def test_a_rollback_restores_the_size_and_a_retry_completes(self) -> None:
        vnf = self.vnf
        vnf.start()
        before = vnf.ids()
        self.project.fail("front", "No room.")
        failed = vnf.run_operation(
            "scale", {**OUT, "numberOfSteps": 2}, "FAILED_TEMP"
        )
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(before, vnf.ids())
        self.assertEqual(before, vnf.servers())
        failed = vnf.run_operation("scale", OUT, "FAILED_TEMP")
        self.project.repair("front")
        vnf.run_decision(failed, "retry", "COMPLETED")
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
        failed = vnf.run_operation("change_ext_conn", body, "FAILED_TEMP")
        self.assertNotIn("changedExtConnectivity", failed)
        self.project.repair("store_cp")
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        (link,) = vnf.info["extVirtualLinkInfo"]
        self.assertEqual(
            before[0]["currentVnfExtCpData"], link["currentVnfExtCpData"]
        )
        nfv = vnf.info["metadata"]["nfv"]
        self.assertEqual(vnf.network, nfv["CP"]["store_cp"]["network"])

    def test_a_retry_completes_a_failed_scale_in(self) -> None:
        vnf = self.vnf
        vnf.start()
        first = vnf.ids()
        vnf.run_operation("scale", OUT)
        self.project.fail_deletion("front", "It is in use.")
        failed = vnf.run_operation("scale", IN, "FAILED_TEMP")
        self.assertIn("It is in use.", failed["error"]["detail"])
        self.project.repair("front")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(first, vnf.ids())
        self.assertEqual(first, vnf.servers())
        self.assertEqual(0, vnf.info["scaleStatus"][0]["scaleLevel"])


class TestPackage(FailureCase):
    """The next package's template has an additional volume."""

    def resources(self) -> set[str]:
        found = self.project.resources(self.vnf.stack)
        return {resource["resource_name"] for resource in found}

    def test_a_failed_template_is_rolled_back(self) -> None:
        vnf = self.vnf
        vnf.start()
        template = (Csar.source("vnf") / TEMPLATE).read_text()
        files = {TEMPLATE: template + MORE}
        another = vnf.onboard(self.useFixture(Csar("vnf", files=files)))
        body = {
            "vnfdId": another,
            "additionalParams": {"upgrade_type": "RollingUpdate"},
        }
        before, before_resources, nfv = (
            vnf.ids(),
            self.resources(),
            vnf.info["metadata"],
        )
        self.project.fail("more", "No room.")
        failed = vnf.run_operation("change_vnfpkg", body, "FAILED_TEMP")
        self.assertIn("resources.more", failed["error"]["detail"])
        self.assertIn("more", self.resources())
        # the rollback does not need the failing resource
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(before_resources, self.resources())
        self.assertEqual(before, vnf.ids())
        self.assertEqual(before, vnf.servers())
        self.assertEqual(nfv, vnf.info["metadata"])
        self.assertEqual(vnf.vnfd_id, vnf.instance(vnf.id)["vnfdId"])
        failed = vnf.run_operation("change_vnfpkg", body, "FAILED_TEMP")
        self.project.repair("more")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(before_resources | {"more"}, self.resources())
        self.assertEqual(before, vnf.ids())
        self.assertEqual(another, vnf.instance(vnf.id)["vnfdId"])


class TestTerminate(FailureCase):
    def test_a_retry_completes_a_failed_deletion(self) -> None:
        vnf = self.vnf
        vnf.start()
        stack = vnf.stack_id
        self.project.fail_deletion("store", "It is in use.")
        failed = vnf.run_operation("terminate", FORCEFUL, "FAILED_TEMP")
        detail = failed["error"]["detail"]
        self.assertIn("is DELETE_FAILED", detail)
        self.assertIn("It is in use.", detail)
        self.assertEqual(stack, vnf.stack_id)
        failed = vnf.run_decision(failed, "retry", "FAILED_TEMP")
        self.assertIn("It is in use.", failed["error"]["detail"])
        refused = vnf.call("POST", f"{OP_OCCS}/{failed['id']}/rollback")
        self.assertEqual(409, refused.status)
        self.project.repair("store")
        vnf.run_decision(failed, "retry", "COMPLETED")
        instance = vnf.instance(vnf.id)
        self.assertEqual("NOT_INSTANTIATED", instance["instantiationState"])
        waiting.until(lambda: not self.project.stacks(), "the deletion")


class TestSingle(FailureCase):
    """Each VNFC is a separate resource."""

    def run_operation(
        self, task: str, body: Any, end: str = "COMPLETED"
    ) -> Any:
        parameters = {**body.get("additionalParams", {}), **SINGLE}
        return self.vnf.run_operation(
            task, {**body, "additionalParams": parameters}, end
        )

    def test_retries_and_rollbacks_after_each_failure(self) -> None:
        vnf = self.vnf
        request = vnf.request(flavourId="single")
        self.project.fail("store", "No room.")
        failed = self.run_operation("instantiate", request, "FAILED_TEMP")
        self.assertIn("No room.", failed["error"]["detail"])
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        failed = self.run_operation("instantiate", request, "FAILED_TEMP")
        self.project.repair("store")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(2, len(vnf.ids()))
        first, nfv = vnf.ids(), vnf.info["metadata"]["nfv"]
        self.assertEqual(first, vnf.servers())
        self.project.fail("front", "No room.")
        failed = self.run_operation("scale", OUT, "FAILED_TEMP")
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(first, vnf.ids())
        self.assertEqual(first, vnf.servers())
        self.assertEqual(nfv, vnf.info["metadata"]["nfv"])
        failed = self.run_operation("scale", OUT, "FAILED_TEMP")
        self.project.repair("front")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual([1, 0], self.list_vnfc_numbers())
        self.assertTrue(first < vnf.ids())
        self.project.fail("front", "No room.")
        heal = {"vnfcInstanceId": [vnf.vnfc("front")["id"]]}
        before = vnf.ids()
        failed = self.run_operation("heal", heal, "FAILED_TEMP")
        self.project.repair("front")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(1, len(before - vnf.ids()))
        self.assertEqual(vnf.servers(), vnf.ids())
        self.project.fail_deletion("front", "It is in use.")
        failed = self.run_operation("scale", IN, "FAILED_TEMP")
        self.project.repair("front")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual([0], self.list_vnfc_numbers())
        self.assertEqual(vnf.servers(), vnf.ids())

    def list_vnfc_numbers(self) -> list[int]:
        """Return the indexes of the VNFCs of the VDU that scales."""
        found = self.vnf.vnfcs("front")
        return [vnfc["metadata"]["vdu_idx"] for vnfc in found]


class TestDuringUpdate(FailureCase):
    def test_a_forceful_cancel_ends_the_wait_and_a_retry_completes(
        self,
    ) -> None:
        vnf = self.vnf
        vnf.start()
        before = vnf.ids()
        location = self.start_hanging()
        cancel = {"cancelMode": "FORCEFUL"}
        response = vnf.call("POST", f"{location}/cancel", cancel)
        self.assertEqual(202, response.status)
        cancelled = vnf.wait_operation(location)
        self.assertEqual("FAILED_TEMP", cancelled["operationState"])
        self.assertIn("cancelled", cancelled["error"]["detail"])
        # Heat is still busy with the update of the first attempt
        self.project.repair("store")
        vnf.run_decision(cancelled, "retry", "COMPLETED")
        self.assertEqual(set(), before & vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())

    def test_an_expired_token_is_replaced(self) -> None:
        vnf = self.vnf
        driver = vnf.parts.drivers.for_type("openstack")
        assert isinstance(driver, OpenstackDriver)
        vnf.start()
        location = self.start_hanging()
        for api in driver._clouds._apis.values():
            api.session.auth.auth_ref._auth_token = "expired"
        self.project.repair("store")
        done = vnf.wait_operation(location)
        self.assertEqual("COMPLETED", done["operationState"], done)

    def test_a_stack_deleted_during_the_update_is_reported(self) -> None:
        vnf = self.vnf
        vnf.start()
        location = self.start_hanging()
        self.project.heat("DELETE", f"/stacks/{vnf.stack}/{vnf.stack_id}")
        self.project.repair("store")
        failed = vnf.wait_operation(location)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        self.assertIn("deleted", failed["error"]["detail"].lower())
        vnf.decide(failed["id"], "fail")
        vnf.run_operation("terminate", FORCEFUL)
        instance = vnf.instance(vnf.id)
        self.assertEqual("NOT_INSTANTIATED", instance["instantiationState"])


class TestTimeouts(testtools.TestCase):
    def test_the_stack_timeout_ends_the_operation(self) -> None:
        vnf = self.useFixture(VnfService(self, openstack={"stack_timeout": 1}))
        vnf.project.hang("store")
        failed = vnf.run_operation("instantiate", vnf.request(), "FAILED_TEMP")
        self.assertIn("in time", failed["error"]["detail"])

    def test_a_graceful_termination_does_not_block_a_worker(self) -> None:
        vnf = self.useFixture(VnfService(self, conductor={"workers": 1}))
        vnf.start()
        body = {
            "terminationType": "GRACEFUL",
            "gracefulTerminationTimeout": 600,
        }
        location = vnf.task(vnf.id, "terminate", body).headers["Location"]

        def is_waiting() -> bool:
            return "600 s" in vnf.call("GET", location).json.get(
                "progress", ""
            )

        waiting.until(is_waiting, "the wait")
        another = vnf.create(vnf.vnfd_id)
        done = vnf.modify(another, {"vnfInstanceName": "another"})
        self.assertEqual("COMPLETED", done["operationState"])
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.call("POST", f"{location}/cancel", {"cancelMode": "FORCEFUL"})
        cancelled = vnf.wait_operation(location)
        self.assertEqual("FAILED_TEMP", cancelled["operationState"])
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.decide(cancelled["id"], "fail")
        vnf.run_operation("terminate", FORCEFUL)


class TestZones(testtools.TestCase):
    def test_without_a_valid_host_another_zone_is_used(self) -> None:
        require_fault_injection(self)  # a zone that is full
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

    def test_registration_fails_for_an_unusable_vim(self) -> None:
        vim = {**self.project.vim, "name": "another"}
        wrong = {**vim["auth_cred"], "password": "wrong"}
        for change, message in (
            ({"auth_cred": wrong}, "Keystone rejected the credentials"),
            ({"auth_url": "http://127.0.0.1:1/v3"}, "does not answer"),
        ):
            response = self.vnf.call(
                "POST", "/v1.0/vims", {"vim": vim | change}
            )
            self.assertEqual(422, response.status)
            self.assertIn(message, response.detail)

    def test_an_application_credential_authenticates(self) -> None:
        credential = self.project.application()
        vim = {
            "type": "openstack",
            "name": "another",
            "auth_url": self.project.auth_url,
            "auth_cred": credential,
        }
        response = self.vnf.call("POST", "/v1.0/vims", {"vim": vim})
        self.assertEqual(201, response.status)
        vim_connections = {"vim1": {"vimId": response.json["vim"]["id"]}}
        self.vnf.start(vimConnectionInfo=vim_connections)
        self.assertEqual(self.project.id, self.vnf.info["metadata"]["tenant"])
        self.vnf.run_operation("scale", OUT)
        self.assertEqual(self.vnf.servers(), self.vnf.ids())
        self.assertEqual(3, len(self.vnf.ids()))
        self.vnf.run_operation("terminate", FORCEFUL)
        credential["application_credential_secret"] = "wrong"
        response = self.vnf.call("POST", "/v1.0/vims", {"vim": vim})
        self.assertEqual(422, response.status)
