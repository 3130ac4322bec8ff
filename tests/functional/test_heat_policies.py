"""What the policy of an OpenStack allows the templates of packages: attacks by
packages and by clients.
"""

import json
from typing import Any, Final

import yaml

from tests.fixtures import keystone
from tests.fixtures.http_receiver import HttpReceiver, ReceivedRequest
from tests.fixtures.http_receiver import Response as Answer
from tests.fixtures.openstack_vnf import a_link, a_point
from tests.fixtures.vnfm import SAMPLES, ApiCase, Csar, Response, Vnfm

VIMS: Final = "/v1.0/vims"
TOP: Final = "BaseHOT/simple/front_and_store.yaml"
NESTED: Final = "BaseHOT/simple/nested/front.yaml"
USER: Final = """
  attack:
    type: OS::Keystone::User
    properties: {name: attack}
"""
USER_DATA: Final = "UserData/attack.py"
#: user data that adds a resource, or a nested template with one
ADDING: Final = """\
from tacker_cnf.user_data.default import DefaultUserData

class Attack(DefaultUserData):
    @staticmethod
    def instantiate(req, inst, grant_req, grant, tmp_csar_dir):
        fields = DefaultUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir
        )
        %s
        return fields
"""
ATTACKING_CODE: Final = {
    "OS::Keystone::User": (
        'fields["template"] += "\\n  a: {type: OS::Keystone::User}\\n"'
    ),
    "nested.yaml: resources.a.type: resources of type OS::Nova::Flavor": (
        'fields["template"] += "\\n  a: {type: nested.yaml}\\n"\n'
        '        fields["files"]["nested.yaml"] = "resources: '
        '{a: {type: OS::Nova::Flavor}}"'
    ),
    "http://attack.example/x.yaml' is a URL": (
        'fields["template"] += '
        '"\\n  a: {type: \\"http://attack.example/x.yaml\\"}\\n"'
    ),
}
#: user data of an operation that adds to the template of the stack
PATCHING: Final = """\
from tacker_cnf.user_data.default import DefaultUserData

class Attack(DefaultUserData):
    @staticmethod
    def %s(*args):
        fields = DefaultUserData.%s(*args)
        fields["template"] = '{"resources": {"a": {"type": "%s"}}}'
        return fields
"""
USER_TYPE: Final = "OS::Keystone::User"
PARAMETERS: Final = {
    "lcm-operation-user-data": USER_DATA,
    "lcm-operation-user-data-class": "Attack",
}


class HeatCase(ApiCase):
    """A service, and an OpenStack that records what Heat is sent."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.cloud = self.useFixture(HttpReceiver())
        self.cloud.responder = self.respond

    def respond(self, request: ReceivedRequest) -> Answer:
        if request.path.endswith("/auth/tokens"):
            return keystone.with_heat(f"{self.cloud.url}/heat")(request)
        if request.method == "GET" and "/heat/stacks/" in request.path:
            missing = {"code": 404, "error": {"message": "not found"}}
            return self.json(404, missing)
        if request.method == "POST" and "/heat" in request.path:
            return self.json(403, {"code": 403, "error": {"message": "no"}})
        return self.json(200, {"stacks": []})

    @staticmethod
    def json(status: int, body: Any) -> Answer:
        headers = {"Content-Type": "application/json"}
        return status, headers, json.dumps(body).encode()

    @property
    def changes(self) -> list[str]:
        """The requests that change something in Heat."""
        return [
            f"{request.method} {request.path}"
            for request in self.cloud.requests
            if request.method != "GET" and "/heat" in request.path
        ]

    def connections(self, **more: Any) -> dict[str, Any]:
        info = {
            "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3",
            "interfaceInfo": {"endpoint": f"{self.cloud.url}/v3"},
            "accessInfo": keystone.ACCESS_INFO,
        }
        return {"vim1": info | more}

    def post_vim(self, policy: dict[str, Any]) -> Response:
        """Register the OpenStack as a VIM."""
        vim = {
            "name": "a cloud",
            "type": "openstack",
            "auth_url": f"{self.cloud.url}/v3",
            "auth_cred": keystone.AUTH_CRED,
            "vim_project": keystone.VIM_PROJECT,
            "extra": {"policy": policy} if policy else {},
        }
        return self.vnfm.call("POST", VIMS, {"vim": vim})

    def register(self, **policy: Any) -> dict[str, Any]:
        """Register the OpenStack as a VIM; return the vimConnectionInfo."""
        response = self.post_vim(policy)
        self.assertEqual(201, response.status, str(response.content))
        return {"vim1": {"vimId": response.json["vim"]["id"]}}

    def instantiate(
        self,
        files: dict[str, str],
        connections: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> Response:
        """Request the instantiation of the sample with other files."""
        points = (a_point("front_cp"), a_point("store_cp"))
        csar = self.useFixture(Csar("vnf", files=files))
        request = {
            "flavourId": "simple",
            "vimConnectionInfo": connections or self.connections(),
            "extVirtualLinks": [a_link("network", *points)],
            "additionalParams": parameters,
        }
        instance_id = self.vnfm.create(self.vnfm.onboard(csar))
        return self.vnfm.task(instance_id, "instantiate", request)

    def text(self, name: str) -> str:
        return (SAMPLES / "vnf" / name).read_text()


class TestTemplates(HeatCase):
    def setUp(self) -> None:
        super().setUp()
        self.registered = self.register()

    def check_refused(self, name: str, text: str, message: str) -> None:
        for connections in (self.connections(), self.registered):
            response = self.instantiate({name: text}, connections)
            self.assert_problem(422, response, message)
            self.assert_problem(422, response, "extra.policy")
        self.assertEqual([], self.changes)

    def test_types_of_resources(self) -> None:
        message = "resources.attack.type: resources of type OS::Keystone::User"
        text = self.text(TOP).rstrip() + USER
        self.check_refused(TOP, text, f"{TOP}: {message}")
        # other sections follow its resources
        text = self.text(NESTED).replace(
            "\nresources:\n", f"\nresources:{USER}"
        )
        self.check_refused(NESTED, text, f"front.yaml: {message}")

    def test_members_of_a_group(self) -> None:
        text = self.text(TOP).replace(
            "type: front.yaml", "type: OS::Heat::Stack"
        )
        self.check_refused(
            TOP,
            text,
            "front_group.properties.resource.type: resources of type "
            "OS::Heat::Stack",
        )

    def test_urls(self) -> None:
        text = self.text(TOP).replace(
            "type: front.yaml", "type: https://attack.example/front.yaml"
        )
        self.check_refused(TOP, text, "'https://attack.example/front.yaml' is")

    def test_a_resource_registry(self) -> None:
        registry = (
            "\nresource_registry: {'OS::Nova::Server': 'OS::Trove::X'}\n"
        )
        text = self.text(TOP) + registry
        self.check_refused(TOP, text, "resource_registry.OS::Nova::Server")

    def test_user_data(self) -> None:
        """What it adds is known only when it has run, before the stack."""
        for message, code in ATTACKING_CODE.items():
            response = self.instantiate(
                {USER_DATA: ADDING % code}, None, **PARAMETERS
            )
            self.assertEqual(202, response.status, str(response.content))
            failed = self.vnfm.wait_operation(response.headers["Location"])
            self.assertIn(message, failed["error"]["detail"])
            self.assertIn("The policy of the VIM", failed["error"]["detail"])
        self.assertEqual([], self.changes)


class TestUserData(HeatCase):
    """User data of operations on a stack that exists."""

    def setUp(self) -> None:
        super().setUp()
        #: of the stack, or of the next change
        self.status = ""
        self.next_status = "CREATE_COMPLETE"
        self.template: Any = None
        self.files: Any = {}

    def respond(self, request: ReceivedRequest) -> Answer:
        path = request.path.partition("?")[0]
        if not path.startswith("/heat/stacks"):
            return super().respond(request)
        if request.method != "GET":
            return self.change(request)
        if not self.status:
            return super().respond(request)
        last = path.rpartition("/")[2]
        found: Any = {
            "template": self.template,
            "files": self.files,
            "resources": self.resources("type=" in request.path),
            "events": {"events": []},
        }
        return self.json(200, found.get(last, {"stack": self.stack}))

    def change(self, request: ReceivedRequest) -> Answer:
        if "/resources/" in request.path:
            return self.json(200, {})
        self.status = self.next_status
        text = request.json.get("template")
        if text is not None:
            is_text = isinstance(text, str)
            self.template = yaml.safe_load(text) if is_text else text
            self.files = request.json["files"]
        if request.method == "POST":
            self.name = request.json["stack_name"]
            return self.json(201, {"stack": {"id": "1", "links": []}})
        return self.json(202, {})

    @property
    def stack(self) -> dict[str, Any]:
        return {
            "id": "1",
            "stack_name": self.name,
            "stack_status": self.status,
            "stack_status_reason": "Resource CREATE failed: x",
            "parameters": {},
            "links": [],
        }

    def resources(self, has_filter: bool) -> dict[str, Any]:
        link = {"rel": "stack", "href": f"http://h/p/stacks/{self.name}/1"}
        servers = [
            {
                "resource_name": name,
                "resource_type": "OS::Nova::Server",
                "resource_status": "CREATE_COMPLETE",
                "physical_resource_id": f"server-{name}",
                "creation_time": "2026-11-21T12:00:00Z",
                "required_by": [],
                "links": [link],
            }
            for name in ("front", "store")
        ]
        return {"resources": [] if has_filter else servers}

    def start(
        self, operation: str, kind: str = USER_TYPE, **policy: Any
    ) -> None:
        """Instantiate a VNF whose user data adds a type in an operation."""
        self.vim = self.register(**policy)
        code = PATCHING % (operation, operation, kind)
        response = self.instantiate({USER_DATA: code}, self.vim)
        self.assertEqual(202, response.status, str(response.content))
        self.location = response.headers["Location"]
        done = self.vnfm.wait_operation(self.location)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.instance_id = done["vnfInstanceId"]
        self.cloud.requests.clear()

    def check_refused(self, failed: Any) -> None:
        self.assertIn(f"resources of type {USER_TYPE}", str(failed))
        self.assertIn("The policy of the VIM", str(failed))

    def scale(self) -> Any:
        body = {
            "type": "SCALE_OUT",
            "aspectId": "front_aspect",
            "additionalParams": PARAMETERS,
        }
        return self.vnfm.run(self.instance_id, "scale", body)

    def test_scale(self) -> None:
        self.start("scale")
        self.check_refused(self.scale()["error"]["detail"])
        self.assertEqual([], self.changes)

    def test_heal(self) -> None:
        self.start("heal")
        body = {"additionalParams": PARAMETERS}
        failed = self.vnfm.run(self.instance_id, "heal", body)
        self.check_refused(failed["error"]["detail"])
        # the servers to replace were marked before, and are not any more
        self.assertEqual(
            [], [c for c in self.changes if "/resources/" not in c]
        )

    def test_dry_run(self) -> None:
        self.start("heal")
        path = f"/vnflcm/v2/vnf_instances/{self.instance_id}/heal?dry_run=true"
        body = {"additionalParams": PARAMETERS}
        response = self.vnfm.call("POST", path, body)
        self.assert_problem(422, response, f"resources of type {USER_TYPE}")
        self.assertEqual([], self.changes)

    def test_rollback(self) -> None:
        self.start("scale_rollback")
        self.next_status = "UPDATE_FAILED"
        failed = self.scale()
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self.cloud.requests.clear()
        self.next_status = "UPDATE_COMPLETE"
        failed = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self.check_refused(failed["error"]["detail"])
        self.assertEqual([], self.changes)

    def test_a_rollback_after_the_policy_became_stricter(self) -> None:
        """It may have what the stack has."""
        self.start(
            "scale_rollback",
            "OS::Nova::KeyPair",
            allowed_resource_types=["OS::Nova::KeyPair"],
        )
        self.template["resources"]["key"] = {"type": "OS::Nova::KeyPair"}
        self.next_status = "UPDATE_FAILED"
        failed = self.scale()
        path = f"{VIMS}/{self.vim['vim1']['vimId']}"
        body = {"vim": {"extra": {"policy": None}}}
        self.assertEqual(200, self.vnfm.call("PUT", path, body).status)
        self.next_status = "UPDATE_COMPLETE"
        done = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", done["operationState"], done)
        kinds = {r["type"] for r in self.template["resources"].values()}
        self.assertIn("OS::Nova::KeyPair", kinds)

    def test_a_rollback_to_a_package_with_what_is_not_allowed_any_more(
        self,
    ) -> None:
        """The stack lost a resource by the change of the package."""
        kind = "OS::Nova::KeyPair"
        self.start(
            "change_vnfpkg_rollback", kind, allowed_resource_types=[kind]
        )
        self.template["resources"]["a"] = {"type": kind}
        code = (PATCHING % (("change_vnfpkg",) * 2 + (kind,))).replace(
            f'{{"type": "{kind}"}}', "null"
        )
        csar = self.useFixture(Csar("vnf", files={USER_DATA: code}))
        body = {
            "vnfdId": self.vnfm.onboard(csar),
            "additionalParams": {
                "upgrade_type": "RollingUpdate",
                "vdu_params": [{"vdu_id": "front"}],
                **PARAMETERS,
            },
        }
        self.next_status = "UPDATE_FAILED"
        failed = self.vnfm.run(self.instance_id, "change_vnfpkg", body)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self.assertNotIn(kind, str(self.template))
        path = f"{VIMS}/{self.vim['vim1']['vimId']}"
        body = {"vim": {"extra": {"policy": None}}}
        self.assertEqual(200, self.vnfm.call("PUT", path, body).status)
        self.next_status = "UPDATE_COMPLETE"
        done = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", done["operationState"], done)
        self.assertIn(kind, str(self.template))


class TestPolicies(HeatCase):
    def test_a_client_cannot_loosen_it(self) -> None:
        text = self.text(TOP).rstrip() + USER
        policy = {"allowed_resource_types": ["*"]}
        extra = {"extra": {"policy": policy}}
        registered = self.register()["vim1"]
        for connections in (
            {"vim1": registered | extra},
            self.connections(**extra),
            self.connections(**registered, **extra),
        ):
            response = self.instantiate({TOP: text}, connections)
            self.assert_problem(400, response, "extra.policy: the policy of")
        response = self.instantiate({TOP: text}, {"vim1": registered})
        self.assert_problem(422, response, "OS::Keystone::User")
        self.assertEqual([], self.changes)

    def test_a_registered_vim_allows_more(self) -> None:
        text = self.text(TOP).rstrip() + USER
        connections = self.register(allowed_resource_types=["OS::Keystone::*"])
        response = self.instantiate({TOP: text}, connections)
        self.assertEqual(202, response.status, str(response.content))
        self.vnfm.wait_operation(response.headers["Location"])
        self.assertEqual("POST /heat/stacks", self.changes[0])

    def test_policies_that_are_not_valid(self) -> None:
        for policy, message in (
            (
                {"allowed_resource_type": []},
                'did you mean "allowed_resource_t',
            ),
            ({"allowed_resource_types": ["a b"]}, "extra.policy: Expected"),
            ({"pod_security": "x"}, "it has allowed_resource_types"),
        ):
            self.assert_problem(400, self.post_vim(policy), message)
