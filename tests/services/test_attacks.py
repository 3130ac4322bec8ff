"""Attacks on the running service, with a real Keystone."""

from collections.abc import Mapping
from typing import Any

import testtools
from testtools.content import text_content

from tests.fixtures import openstack, untrusted
from tests.fixtures.http_receiver import HttpReceiver
from tests.services.backends import POSTGRESQL
from tests.services.client import (
    INSTANCES,
    OP_OCCS,
    PACKAGES,
    Client,
    Response,
    instantiation,
)
from tests.services.deployment import Deployment

SUBSCRIPTIONS = "/vnflcm/v2/subscriptions"
PACKAGE_SUBSCRIPTIONS = "/vnfpkgm/v1/subscriptions"
VIMS = "/v1.0/vims"
LISTS = (
    INSTANCES,
    OP_OCCS,
    PACKAGES,
    SUBSCRIPTIONS,
    PACKAGE_SUBSCRIPTIONS,
    VIMS,
)
#: nothing listens there; no conductor runs
UNREACHABLE_CLUSTER = {
    "vimType": "ETSINFV.KUBERNETES.V_1",
    "interfaceInfo": {"endpoint": "https://127.0.0.1:1"},
    "accessInfo": {"bearer_token": "a-token"},
}


class ProjectClient(Client):
    """A client with a token of a project."""

    def __init__(self, endpoint: str, project: openstack.Project) -> None:
        super().__init__(endpoint)
        self._token = project.cloud.token()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = "application/json",
        headers: Mapping[str, str] = {},
    ) -> Response:
        headers = {"X-Auth-Token": self._token, **headers}
        return super().call(method, path, body, kind, headers)

    def send(
        self, method: str, path: str, body: Any, headers: dict[str, str]
    ) -> Response:
        """Send a request of a walk."""
        kind = headers.get("Content-Type", "application/json")
        return self.call(method, path, body, kind)

    def lists(self) -> list[Any]:
        """Read all resources that exist for the client."""
        return [self.call("GET", path).json for path in LISTS]


class TestOtherProject(testtools.TestCase):
    """A member of one project attacks the resources of another."""

    def setUp(self) -> None:
        super().setUp()
        self.project = self.useFixture(openstack.Project(self))
        settings = openstack.read_settings(self)
        keystone = {
            "www_authenticate_uri": settings["OS_AUTH_URL"],
            "auth_url": settings["OS_AUTH_URL"],
            "auth_type": "password",
            "username": settings["OS_USERNAME"],
            "password": settings["OS_PASSWORD"],
            "user_domain_name": "Default",
            "project_name": settings["OS_PROJECT_NAME"],
            "project_domain_name": "Default",
        }
        deployment = self.useFixture(
            Deployment(
                self,
                POSTGRESQL,
                # the stream of events is read to its end
                api={"auth_strategy": "keystone", "event_stream_time": 0.1},
                keystone_authtoken=keystone,
            )
        )
        self.endpoint = deployment.api().client.endpoint
        self.receiver = self.useFixture(HttpReceiver())
        self.owner = self.client(self.project)
        self.owned = self.create_resources()

    def client(self, project: openstack.Project) -> ProjectClient:
        return self.useFixture(ProjectClient(self.endpoint, project))

    def create_resources(self) -> untrusted.Resources:
        """Create a resource of each kind."""
        vnfd_id = self.owner.onboard_sample()
        (package,) = self.owner.call("GET", PACKAGES).json
        instance_id = self.owner.create(vnfd_id)
        body = {"callbackUri": self.receiver.url}
        subscribed, of_packages = (
            self.owner.call_expecting("POST", path, body, 201)
            for path in (SUBSCRIPTIONS, PACKAGE_SUBSCRIPTIONS)
        )
        request = instantiation() | {
            "vimConnectionInfo": {"vim1": UNREACHABLE_CLUSTER}
        }
        return untrusted.Resources(
            ids={
                "vnf_instances": instance_id,
                "vnf_lcm_op_occs": self.owner.start_operation(
                    instance_id, "instantiate", request
                ),
                "vnf_packages": package["id"],
                "subscriptions": subscribed["id"],
                "package_subscriptions": of_packages["id"],
                "vims": self.owner.register(self.project.vim),
            },
            vnfd_id=vnfd_id,
            callback=self.receiver.url,
        )

    def test_no_operation_of_the_api_reaches_another_project(self) -> None:
        attacker = self.client(self.useFixture(openstack.Project(self)))
        document = attacker.call("GET", "/openapi.json").json
        before = self.owner.lists()
        walk = untrusted.walk(document, self.owned, attacker.send)
        self.addDetail(
            "operations", text_content(f"{len(walk.sent)} operations")
        )
        self.assertEqual({}, walk.wrong)
        self.assertTrue(walk.sent)
        self.assertEqual(set(untrusted.routes(document)), walk.sent)
        self.assertEqual(before, self.owner.lists())
        self.assertTrue(all(before))

    def test_administrators_see_all(self) -> None:
        project = self.useFixture(openstack.Project(self, "admin"))
        found = self.client(project).lists()
        self.assertEqual(self.owner.lists(), found)

    def test_a_vnf_uses_no_vim_of_another_project(self) -> None:
        attacker = self.client(self.useFixture(openstack.Project(self)))
        instance_id = attacker.create(attacker.onboard_sample())
        vim_id = self.owned.ids["vims"]
        request = instantiation() | {
            "vimConnectionInfo": {"vim1": {"vimId": vim_id}}
        }
        response = attacker.post_task(instance_id, "instantiate", request)
        self.assertEqual(400, response.status, str(response.content))
        self.assertIn(f"no VIM {vim_id} is registered", response.detail)
