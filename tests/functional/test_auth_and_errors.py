"""Authentication, errors of upstreams, and credentials that are renewed."""

from typing import Any

import testtools
import webob
from keystonemiddleware.opts import list_auth_token_opts
from oslo_db import exception as db_errors

from tacker_cnf.api import middleware, request_log
from tacker_cnf.cmd import compose
from tests.fixtures.cluster import CnfService
from tests.fixtures.vnfm import FAKE_VIM, Response, Vnfm


class TestKeystone(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        conf = self.vnfm.conf
        for group, options in list_auth_token_opts():
            conf.register_opts(options, group)
        uri = "http://keystone.example/"
        conf.set_override("www_authenticate_uri", uri, "keystone_authtoken")
        conf.set_override("auth_strategy", "keystone", "api")
        self.vnfm.app = compose.application(self.vnfm.parts)

    def test_a_missing_token_is_refused_with_a_problem(self) -> None:
        response = self.vnfm.call("GET", "/vnflcm/v2/vnf_instances")
        self.assertEqual(401, response.status)
        self.assertEqual("application/problem+json", response.type)
        self.assertEqual("Authentication is required.", response.detail)
        self.assertIn(
            "http://keystone.example", response.headers["WWW-Authenticate"]
        )

    def test_versions_and_health_need_no_token(self) -> None:
        for path in middleware.PUBLIC:
            self.assertEqual(200, self.vnfm.call("GET", path).status, path)


class TestUpstreamErrors(testtools.TestCase):
    """Errors of the middleware and the database are returned as problems."""

    def request(self, app: Any) -> Response:
        vnfm = self.useFixture(Vnfm())
        wrapped = request_log.record_requests(
            middleware.handle_errors(app, vnfm.conf), vnfm.parts.audit
        )
        request = webob.Request.blank("/vnflcm/v2/vnf_instances")
        return Response(request.get_response(wrapped))

    def test_a_response_of_another_middleware(self) -> None:
        def app(_environ: Any, start: Any) -> list[bytes]:
            start("503 Service Unavailable", [("Content-Type", "text/html")])
            return [b"<h1>no</h1>"]

        response = self.request(app)
        self.assertEqual(503, response.status)
        self.assertEqual("application/problem+json", response.type)

    def test_an_unreachable_database(self) -> None:
        def app(_environ: Any, _start: Any) -> list[bytes]:
            raise db_errors.DBConnectionError

        response = self.request(app)
        self.assertEqual(503, response.status)
        self.assertEqual("The database does not answer.", response.detail)


class TestRenewedCredentials(testtools.TestCase):
    def test_a_running_vnf_uses_the_registered_credentials(self) -> None:
        vnfm = self.useFixture(CnfService())
        sandbox = vnfm.cluster.sandbox
        vim = {
            "name": "cluster",
            "type": "kubernetes",
            "auth_url": sandbox.endpoint,
            "auth_cred": {
                "bearer_token": sandbox.token,
                "ssl_ca_cert": sandbox.ca_pem,
            },
            "is_default": True,
        }
        made = vnfm.call("POST", "/v1.0/vims", {"vim": vim}).json["vim"]
        request = vnfm.deployment_only(vimConnectionInfo={})
        instance_id = vnfm.start_vnf(request)
        shown = vnfm.instance(instance_id)["vimConnectionInfo"]
        self.assertEqual(
            {
                "default": {
                    "vimId": made["id"],
                    "vimType": "ETSINFV.KUBERNETES.V_1",
                }
            },
            shown,
        )
        # the token is renewed: the VNF must not use the old one
        renewed = {
            "auth_cred": {
                "bearer_token": "",
                "client_cert": sandbox.client_cert_pem,
                "client_key": sandbox.client_key_pem,
            }
        }
        path = f"/v1.0/vims/{made['id']}"
        response = vnfm.call("PUT", path, {"vim": renewed})
        self.assertEqual(200, response.status, str(response.content))
        sandbox_token = sandbox.token
        self.assertNotIn(sandbox_token, str(response.json))
        done = vnfm.run(instance_id, "heal", {})
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(409, vnfm.call("DELETE", path).status)
        vnfm.run(instance_id, "terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual(204, vnfm.call("DELETE", path).status)


class TestAttributes(testtools.TestCase):
    def test_instantiation_sets_the_attributes_of_the_request(self) -> None:
        vnfm = self.useFixture(Vnfm(secrets={"public_names": ["a"]}))
        instance_id = vnfm.create()
        body = {
            "flavourId": "simple",
            "vimConnectionInfo": FAKE_VIM,
            "extensions": {"a": 1, "gone": None},
            "vnfConfigurableProperties": {"isAutohealEnabled": True},
        }
        vnfm.run(instance_id, "instantiate", body)
        instance = vnfm.instance(instance_id)
        self.assertEqual({"a": 1}, instance["extensions"])
        self.assertEqual(
            {"isAutohealEnabled": True},
            instance["vnfConfigurableProperties"],
        )
