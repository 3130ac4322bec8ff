"""What goes wrong on a real Heat, and how a VNF comes out of it."""

import testtools

from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tests.fixtures import waiting
from tests.fixtures.vnf import FORCEFUL, OUT, VnfService, a_link, a_point


class FailureCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
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
        # it gets as far as Heat, which may make no trust by such a token
        failed = self.vnf.do(
            "instantiate",
            self.vnf.request(vimConnectionInfo=known),
            "FAILED_TEMP",
        )
        self.assertIn("Heat answered 500", failed["error"]["detail"])
        credential["application_credential_secret"] = "wrong"
        answer = self.vnf.call("POST", "/v1.0/vims", {"vim": vim})
        self.assertEqual(422, answer.status)
