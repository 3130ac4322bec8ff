"""A real Keystone and Heat that cannot be reached, or are not believed."""

import json
from typing import Any

import fixtures
import testtools
from trustme import CA

from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tests.fixtures import waiting
from tests.fixtures.front import Front
from tests.fixtures.openstack import need_faults
from tests.fixtures.vnf import FORCEFUL, OUT, VnfService

#: a stack of somebody else
ANOTHER = {"heat_template_version": "2021-04-16", "resources": {}}
PATIENT = {"request_timeout": 2.0, "outage_timeout": 300.0}


def pem(authority: CA) -> str:
    return authority.cert_pem.bytes().decode()


class FrontedService(VnfService):
    """What stands before its Keystone and its Heat may fail.

    :param authorities: who signed Keystone's certificate, and Heat's; they
        speak TLS then
    """

    def __init__(
        self,
        case: testtools.TestCase,
        authorities: tuple[CA, CA] | None = None,
        **options: dict[str, Any],
    ) -> None:
        super().__init__(case, **options)
        self._authorities: tuple[CA | None, CA | None] = authorities or (
            None,
            None,
        )

    def register(self) -> str:
        cloud = self.project.cloud
        of_keystone, of_heat = self._authorities
        heat = cloud.place("orchestration")
        self.heat = self.useFixture(Front(heat, of_heat))
        self.keystone = self.useFixture(
            Front(cloud.place("identity"), of_keystone)
        )
        self.keystone.puts[heat] = self.heat.url
        if of_keystone:
            return ""  # the test says who is trusted
        answer = self.register_vim()
        assert answer.status == 201, answer.content
        return str(answer.json["vim"]["id"])

    def register_vim(self, **cred: str) -> Any:
        """Register the VIM that the fronts are; give the answer."""
        vim = self.project.vim
        body = {
            **vim,
            "name": "cloud",
            "is_default": True,
            "auth_url": f"{self.keystone.url}/v3",
            "auth_cred": {**vim["auth_cred"], **cred},
        }
        return self.call("POST", "/v1.0/vims", {"vim": body})

    def begun(self) -> str:
        """Begin an instantiation that Heat does not end; give where it is."""
        self.project.hold("store")
        answer = self.task(self.id, "instantiate", self.request())
        assert answer.status == 202, answer.content
        waiting.until(lambda: self.heat.asked("GET", "/events"), "the wait")
        return str(answer.headers["Location"])


class TestTls(testtools.TestCase):
    def test_whom_to_trust(self) -> None:
        ours, heats, other = CA(), CA(), CA()
        vnf = self.useFixture(FrontedService(self, (ours, heats)))
        for cred, says in (
            ({}, vnf.keystone.url),
            ({"ssl_ca_cert": pem(other)}, vnf.keystone.url),
            # Keystone is trusted, and the Heat that it names is not
            ({"ssl_ca_cert": pem(ours)}, vnf.heat.url),
        ):
            answer = vnf.register_vim(**cred)
            self.assertEqual(422, answer.status)
            self.assertIn("is not to be trusted", answer.detail)
            self.assertIn("CERTIFICATE_VERIFY_FAILED", answer.detail)
            self.assertIn(says, answer.detail)
        self.assertEqual(0, vnf.heat.count)
        answer = vnf.register_vim(ssl_ca_cert=pem(ours) + pem(heats))
        self.assertEqual(201, answer.status, answer.content)
        vnf.start()
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(1, vnf.heat.asked("POST", "/stacks"))
        vnf.do("terminate", FORCEFUL)

    def test_whoever_wants_may_trust_everybody(self) -> None:
        vnf = self.useFixture(FrontedService(self, (CA(), CA())))
        answer = vnf.register_vim(cert_verify="False")
        self.assertEqual(201, answer.status, answer.content)
        self.assertEqual(1, vnf.heat.asked("GET", "/stacks?limit=1"))


class TestAway(testtools.TestCase):
    def test_who_is_away_while_a_stack_is_waited_for(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        need_faults(self)
        vnf = self.useFixture(FrontedService(self, openstack=PATIENT))
        where = vnf.begun()

        def noticed(what: str) -> None:
            had = log.output.count(what)
            waiting.until(lambda: log.output.count(what) > had, what)

        def went_on() -> None:
            had = vnf.heat.asked("GET")
            waiting.until(lambda: vnf.heat.asked("GET") > had + 1, "a look")

        vnf.heat.shut()
        noticed("does not answer")
        vnf.heat.mend()
        went_on()
        vnf.heat.hush()
        noticed("timed out")
        vnf.heat.mend()
        went_on()
        vnf.heat.answer(503, "down for maintenance")
        noticed("Heat answered 503: down for maintenance")
        vnf.heat.mend()
        went_on()
        # a new token is needed, and Keystone is away
        vnf.keystone.shut()
        self.expire(vnf)
        noticed("does not answer")
        vnf.keystone.mend()
        went_on()
        vnf.keystone.answer(502)
        self.expire(vnf)
        noticed("Keystone answered 502")
        vnf.keystone.mend()
        vnf.project.mend("store")
        done = vnf.ended(where)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(1, vnf.heat.asked("POST", "/stacks"))
        self.assertEqual(vnf.servers(), vnf.ids())

    def expire(self, vnf: FrontedService) -> None:
        driver = vnf.parts.drivers.of_type("openstack")
        assert isinstance(driver, OpenstackDriver)
        for link in driver._clouds._kept.values():
            link.session.auth.auth_ref._auth_token = "expired"

    def test_who_is_away_for_too_long(self) -> None:
        need_faults(self)
        vnf = self.useFixture(FrontedService(self, openstack=PATIENT))
        where = vnf.begun()
        vnf.conf.set_override("outage_timeout", 0.0, "openstack")
        answer = vnf.call(
            "POST", f"{where}/cancel", {"cancelMode": "FORCEFUL"}
        )
        self.assertEqual(202, answer.status)
        failed = vnf.ended(where)
        for fault, says in (
            (vnf.heat.shut, f"{vnf.keystone.url}/v3 does not answer"),
            (lambda: vnf.heat.answer(500, "oh"), "Heat answered 500: oh"),
        ):
            fault()
            failed = vnf.then(failed, "retry", "FAILED_TEMP")
            self.assertIn(says, failed["error"]["detail"])
            vnf.heat.mend()
        vnf.project.mend("store")
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(1, vnf.heat.asked("POST", "/stacks"))
        self.assertEqual(vnf.servers(), vnf.ids())


class TestLostAnswers(testtools.TestCase):
    def test_what_was_done_is_not_done_twice(self) -> None:
        vnf = self.useFixture(FrontedService(self))
        vnf.heat.lose("POST", "/stacks")
        vnf.start()
        # the second was refused, as the name was taken
        self.assertEqual(2, vnf.heat.asked("POST", "/stacks"))
        self.assertEqual([vnf.stack], list(vnf.project.stacks()))
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))
        stack, first = vnf.stack_id, vnf.ids()
        vnf.heat.lose("PATCH", stack)
        vnf.do("scale", OUT)
        self.assertEqual(stack, vnf.stack_id)
        self.assertTrue(first < vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(3, len(vnf.ids()))
        vnf.heat.lose("DELETE", stack)
        vnf.do("terminate", FORCEFUL)
        waiting.until(lambda: not vnf.project.stacks(), "its end")


class TestRefused(testtools.TestCase):
    def test_somebody_else_takes_the_name_at_the_last_moment(self) -> None:
        vnf = self.useFixture(FrontedService(self))
        body = {"stack_name": vnf.stack, "template": ANOTHER}
        vnf.heat.precede(
            "POST", lambda: vnf.project.heat("POST", "/stacks", body)
        )
        vnf.start()
        self.assertEqual(1, vnf.heat.asked("POST", "/stacks"))
        self.assertEqual([vnf.stack], list(vnf.project.stacks()))
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))

    def test_a_quota_of_heats_own(self) -> None:
        vnf = self.useFixture(FrontedService(self))
        why = "You have reached the maximum stacks per tenant, 1."
        error = {"type": "RequestLimitExceeded", "message": why}
        told = json.dumps({"code": 403, "error": error})

        def refused(vnf: FrontedService) -> Any:
            vnf.heat.answer(403, told, "POST")
            return vnf.do("instantiate", vnf.request(), "FAILED_TEMP")

        failed = refused(vnf)
        self.assertEqual(422, failed["error"]["status"])
        self.assertIn(f"Heat answered 403: {why}", failed["error"]["detail"])
        vnf.then(failed, "rollback", "ROLLED_BACK")
        failed = refused(vnf)
        vnf.heat.mend()
        vnf.then(failed, "retry", "COMPLETED")
        self.assertEqual(vnf.servers(), vnf.ids())
