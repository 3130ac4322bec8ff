"""Outages, TLS errors and lost responses of a real Keystone and Heat."""

import json
from collections.abc import Callable
from typing import Any

import fixtures
import testtools
from trustme import CA

from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tests.fixtures import waiting
from tests.fixtures.http_fault_proxy import HttpFaultProxy
from tests.fixtures.openstack import require_fault_injection
from tests.fixtures.openstack_vnf import FORCEFUL, OUT, VnfService

#: the template of a stack that another client creates
ANOTHER = {"heat_template_version": "2021-04-16", "resources": {}}
LONG_OUTAGE = {"request_timeout": 2.0, "outage_timeout": 300.0}


def pem(authority: CA) -> str:
    return authority.cert_pem.bytes().decode()


class ProxiedService(VnfService):
    """A VNF whose VIM is reached through proxies of Keystone and Heat.

    :param authorities: the CAs of Keystone's and Heat's certificates; None:
        without TLS
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
        heat = cloud.endpoint("orchestration")
        self.heat = self.useFixture(HttpFaultProxy(heat, of_heat))
        self.keystone = self.useFixture(
            HttpFaultProxy(cloud.endpoint("identity"), of_keystone)
        )
        self.keystone.replacements[heat] = self.heat.url
        if of_keystone:
            return ""  # the test registers the VIM
        response = self.register_vim()
        assert response.status == 201, response.content
        return str(response.json["vim"]["id"])

    def register_vim(self, **cred: str) -> Any:
        """Register the VIM behind the proxies; return the response."""
        vim = self.project.vim
        body = {
            **vim,
            "name": "cloud",
            "is_default": True,
            "auth_url": f"{self.keystone.url}/v3",
            "auth_cred": {**vim["auth_cred"], **cred},
        }
        return self.call("POST", "/v1.0/vims", {"vim": body})

    def start_hanging(self) -> str:
        """Start an instantiation that Heat does not complete; return its URI."""
        self.project.hang("store")
        response = self.task(self.id, "instantiate", self.request())
        assert response.status == 202, response.content
        waiting.until(
            lambda: self.heat.count_requests("GET", "/events"), "the wait"
        )
        return str(response.headers["Location"])


class TestTls(testtools.TestCase):
    def test_certificates_are_verified(self) -> None:
        own_authority, heat_authority, other = CA(), CA(), CA()
        vnf = self.useFixture(
            ProxiedService(self, (own_authority, heat_authority))
        )
        for cred, url in (
            ({}, vnf.keystone.url),
            ({"ssl_ca_cert": pem(other)}, vnf.keystone.url),
            # the CA of Keystone is trusted, that of Heat is not
            ({"ssl_ca_cert": pem(own_authority)}, vnf.heat.url),
        ):
            response = vnf.register_vim(**cred)
            self.assertEqual(422, response.status)
            self.assertIn("The TLS connection to", response.detail)
            self.assertIn("CERTIFICATE_VERIFY_FAILED", response.detail)
            self.assertIn(url, response.detail)
        self.assertEqual(0, vnf.heat.count)
        response = vnf.register_vim(
            ssl_ca_cert=pem(own_authority) + pem(heat_authority)
        )
        self.assertEqual(201, response.status, response.content)
        vnf.start()
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(1, vnf.heat.count_requests("POST", "/stacks"))
        vnf.run_operation("terminate", FORCEFUL)

    def test_verification_can_be_disabled(self) -> None:
        vnf = self.useFixture(ProxiedService(self, (CA(), CA())))
        response = vnf.register_vim(cert_verify="False")
        self.assertEqual(201, response.status, response.content)
        self.assertEqual(1, vnf.heat.count_requests("GET", "/stacks?limit=1"))


class TestOutages(testtools.TestCase):
    def test_a_wait_for_a_stack_continues_after_outages(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        require_fault_injection(self)
        vnf = self.useFixture(ProxiedService(self, openstack=LONG_OUTAGE))
        location = vnf.start_hanging()

        def wait_for_log(message: str, cause: Callable[[], object]) -> None:
            before = log.output.count(message)
            cause()
            waiting.until(lambda: log.output.count(message) > before, message)

        def expire_with(fault: Callable[[], object]) -> None:
            fault()
            self.expire(vnf)

        def wait_for_requests() -> None:
            before = vnf.heat.count_requests("GET")
            waiting.until(
                lambda: vnf.heat.count_requests("GET") > before + 1, "a poll"
            )

        wait_for_log("does not answer", vnf.heat.close)
        vnf.heat.repair()
        wait_for_requests()
        wait_for_log("timed out", vnf.heat.hang)
        vnf.heat.repair()
        wait_for_requests()
        wait_for_log(
            "Heat answered 503: down for maintenance",
            lambda: vnf.heat.fail_with(503, "down for maintenance"),
        )
        vnf.heat.repair()
        wait_for_requests()
        # the token has expired, and Keystone is unreachable
        wait_for_log(
            "does not answer", lambda: expire_with(vnf.keystone.close)
        )
        vnf.keystone.repair()
        wait_for_requests()
        wait_for_log(
            "Keystone answered 502",
            lambda: expire_with(lambda: vnf.keystone.fail_with(502)),
        )
        vnf.keystone.repair()
        vnf.project.repair("store")
        done = vnf.wait_operation(location)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(1, vnf.heat.count_requests("POST", "/stacks"))
        self.assertEqual(vnf.servers(), vnf.ids())

    def expire(self, vnf: ProxiedService) -> None:
        driver = vnf.parts.drivers.for_type("openstack")
        assert isinstance(driver, OpenstackDriver)
        for api in driver._clouds._apis.values():
            api.session.auth.auth_ref._auth_token = "expired"

    def test_an_outage_beyond_the_timeout_fails_the_operation(self) -> None:
        require_fault_injection(self)
        vnf = self.useFixture(ProxiedService(self, openstack=LONG_OUTAGE))
        location = vnf.start_hanging()
        vnf.conf.set_override("outage_timeout", 0.0, "openstack")
        response = vnf.call(
            "POST", f"{location}/cancel", {"cancelMode": "FORCEFUL"}
        )
        self.assertEqual(202, response.status)
        failed = vnf.wait_operation(location)
        for fault, message in (
            (vnf.heat.close, f"{vnf.keystone.url}/v3 does not answer"),
            (lambda: vnf.heat.fail_with(500, "oh"), "Heat answered 500: oh"),
        ):
            fault()
            failed = vnf.run_decision(failed, "retry", "FAILED_TEMP")
            self.assertIn(message, failed["error"]["detail"])
            vnf.heat.repair()
        vnf.project.repair("store")
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(1, vnf.heat.count_requests("POST", "/stacks"))
        self.assertEqual(vnf.servers(), vnf.ids())


class TestLostResponses(testtools.TestCase):
    def test_a_repeated_request_has_no_second_effect(self) -> None:
        vnf = self.useFixture(ProxiedService(self))
        vnf.heat.lose_response("POST", "/stacks")
        vnf.start()
        # the second was rejected, as the name was in use
        self.assertEqual(2, vnf.heat.count_requests("POST", "/stacks"))
        self.assertEqual([vnf.stack], list(vnf.project.stacks()))
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))
        stack, first = vnf.stack_id, vnf.ids()
        vnf.heat.lose_response("PATCH", stack)
        vnf.run_operation("scale", OUT)
        self.assertEqual(stack, vnf.stack_id)
        self.assertTrue(first < vnf.ids())
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(3, len(vnf.ids()))
        vnf.heat.lose_response("DELETE", stack)
        vnf.run_operation("terminate", FORCEFUL)
        waiting.until(lambda: not vnf.project.stacks(), "the deletion")


class TestRejected(testtools.TestCase):
    def test_a_stack_created_by_another_client_is_updated(self) -> None:
        vnf = self.useFixture(ProxiedService(self))
        body = {"stack_name": vnf.stack, "template": ANOTHER}
        vnf.heat.run_before(
            "POST", lambda: vnf.project.heat("POST", "/stacks", body)
        )
        vnf.start()
        self.assertEqual(1, vnf.heat.count_requests("POST", "/stacks"))
        self.assertEqual([vnf.stack], list(vnf.project.stacks()))
        self.assertEqual(vnf.servers(), vnf.ids())
        self.assertEqual(2, len(vnf.ids()))

    def test_the_stack_quota_of_heat_is_reported(self) -> None:
        vnf = self.useFixture(ProxiedService(self))
        reason = "You have reached the maximum stacks per tenant, 1."
        error = {"type": "RequestLimitExceeded", "message": reason}
        body = json.dumps({"code": 403, "error": error})

        def instantiate_over_quota(vnf: ProxiedService) -> Any:
            vnf.heat.fail_with(403, body, "POST")
            return vnf.run_operation(
                "instantiate", vnf.request(), "FAILED_TEMP"
            )

        failed = instantiate_over_quota(vnf)
        self.assertEqual(422, failed["error"]["status"])
        self.assertIn(
            f"Heat answered 403: {reason}", failed["error"]["detail"]
        )
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        failed = instantiate_over_quota(vnf)
        vnf.heat.repair()
        vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertEqual(vnf.servers(), vnf.ids())
