"""Attacks by web pages on a service without authentication."""

import fixtures
import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.api import authentication
from tests.fixtures.vnfm import ApiCase, Vnfm

INSTANCES = "/vnflcm/v2/vnf_instances"


class TestWebPages(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        endpoint = "https://VNFM.example/base"
        self.vnfm = self.useFixture(Vnfm(api={"endpoint": endpoint}))

    def test_host_names_of_others(self) -> None:
        """Their addresses can be changed to that of this service."""
        for host in ("evil.example", "evil.example:80", "localhost.evil", "["):
            response = self.vnfm.call("GET", INSTANCES, None, {"Host": host})
            self.assert_problem(403, response, "Host: ")
        for host in (
            "localhost",
            "LOCALHOST:9890",
            "127.0.0.1:9890",
            "192.0.2.1",
            "[::1]:9890",
            "vnfm.example",
        ):
            response = self.vnfm.call("GET", INSTANCES, None, {"Host": host})
            self.assertEqual(200, response.status, host)

    def test_requests_of_other_pages(self) -> None:
        instance_id = self.vnfm.create()
        path = f"{INSTANCES}/{instance_id}/terminate"
        for origin in ("https://evil.example", "null", "http://localhost:1"):
            headers = {"Origin": origin}
            for method in ("GET", "POST"):
                response = self.vnfm.call(method, path, b"{}", headers)
                self.assert_problem(403, response, "Origin: ")
        own = {"Origin": "http://localhost:80"}
        response = self.vnfm.call("GET", INSTANCES, None, own)
        self.assertEqual(200, response.status)

    def test_bodies_of_forms(self) -> None:
        for kind in (
            "text/plain",
            "Text/Plain; charset=utf-8",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ):
            headers = {"Content-Type": kind}
            response = self.vnfm.call("POST", INSTANCES, b"{}", headers)
            self.assert_problem(415, response, "accepts application/json, not")


class TestOptions(testtools.TestCase):
    def test_a_service_without_authentication_warns(self) -> None:
        logger = self.useFixture(fixtures.FakeLogger())
        conf = configuration.load(["--config-dir", "."])
        conf.set_override("auth_strategy", "noauth", "api")
        authentication.check_options(conf)
        self.assertIn("every client that reaches", logger.output)

    def test_options_of_keystone(self) -> None:
        conf = configuration.load(["--config-dir", "."])
        error = self.assertRaises(
            errors.VnfmError, authentication.check_options, conf
        )
        self.assertIn("[keystone_authtoken] auth_type", str(error))
        conf.set_override("auth_type", "password", "keystone_authtoken")
        authentication.check_options(conf)
