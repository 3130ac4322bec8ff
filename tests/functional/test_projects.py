"""The resources of a project do not exist for clients of another."""

from typing import Any

from tacker_cnf.api import middleware, policies
from tests.fixtures import untrusted
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.statements import recorded
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar

INSTANCES = "/vnflcm/v2/vnf_instances"
OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES = "/vnfpkgm/v1/vnf_packages"
SUBSCRIPTIONS = "/vnflcm/v2/subscriptions"
PACKAGE_SUBSCRIPTIONS = "/vnfpkgm/v1/subscriptions"
VIMS = "/v1.0/vims"
#: tables with the resources of projects
TABLES = (
    "vnf_packages",
    "vims",
    "vnf_instances",
    "vnf_lcm_op_occs",
    "lccn_subscriptions",
)
#: ends of statements that write rows of a session
WRITTEN_ROWS = tuple(
    f" WHERE {table}.id = ?" for table in ("vnf_packages", "vims")
)


class ProjectsCase(ApiCase):
    """Two projects; the first has one resource of each kind."""

    def setUp(self) -> None:
        super().setUp()
        # the stream of events is read to its end
        self.vnfm = self.useFixture(Projects(api={"event_stream_time": 0.1}))
        self.receiver = self.useFixture(HttpReceiver())
        self.csar = self.useFixture(Csar())
        self.vim_id = self.register_vim("a vim")
        self.vnfd_id = self.vnfm.onboard(self.csar)
        self.subscription_id = self.subscribe(SUBSCRIPTIONS)
        of_packages = self.subscribe(PACKAGE_SUBSCRIPTIONS)
        self.instance_id = self.vnfm.create(self.vnfd_id)
        self.op_occ = self.vnfm.run(
            self.instance_id,
            "instantiate",
            {
                "flavourId": "simple",
                "vimConnectionInfo": {"vim1": {"vimId": self.vim_id}},
            },
        )
        self.assertEqual("COMPLETED", self.op_occ["operationState"])
        (package,) = self.vnfm.call("GET", PACKAGES).json
        self.owned = untrusted.Resources(
            ids={
                "vnf_instances": self.instance_id,
                "vnf_lcm_op_occs": self.op_occ["id"],
                "vnf_packages": package["id"],
                "subscriptions": self.subscription_id,
                "package_subscriptions": of_packages,
                "vims": self.vim_id,
            },
            vnfd_id=self.vnfd_id,
            callback=self.receiver.url,
        )

    def register_vim(self, name: str, **more: Any) -> str:
        vim = {
            "name": name,
            "type": "fake",
            "auth_url": "http://vim.example",
            "auth_cred": {},
        }
        response = self.vnfm.call("POST", VIMS, {"vim": vim | more})
        self.assertEqual(201, response.status, str(response.content))
        return str(response.json["vim"]["id"])

    def subscribe(self, path: str) -> str:
        body = {"callbackUri": self.receiver.url}
        response = self.vnfm.call("POST", path, body)
        self.assertEqual(201, response.status, str(response.content))
        return str(response.json["id"])


class TestUntrustedClient(ProjectsCase):
    def test_no_operation_of_the_api_reaches_another_project(self) -> None:
        document = self.vnfm.call("GET", "/openapi.json").json
        before = self.everything()
        self.vnfm.become(UNTRUSTED)
        walk = untrusted.walk(document, self.owned, self.vnfm.call)
        self.assertEqual({}, walk.wrong)
        self.assertEqual(set(untrusted.routes(document)), walk.sent)
        self.assertTrue(walk.sent)
        self.vnfm.become(OWNER)
        self.assertEqual(before, self.everything())

    def everything(self) -> list[Any]:
        paths = (
            INSTANCES,
            OP_OCCS,
            PACKAGES,
            SUBSCRIPTIONS,
            PACKAGE_SUBSCRIPTIONS,
            VIMS,
        )
        return [self.vnfm.call("GET", path).json for path in paths]

    def test_each_statement_of_a_request_names_the_project(self) -> None:
        document = self.vnfm.call("GET", "/openapi.json").json
        with recorded(self.vnfm.parts.store.engine) as statements:
            for request in untrusted.requests(document, self.owned):
                self.vnfm.call(
                    request.method, request.path, request.body, request.headers
                )
        used = [s for s in statements if self.uses_a_resource(s)]
        self.assertTrue(used)
        unlimited = [s for s in used if "project_id = " not in s]
        # content is stored once for all projects; rows that were read are
        # written by their ids
        expected = ("vnf_packages.content_id = ", *WRITTEN_ROWS)
        self.assertEqual(
            [],
            [s for s in unlimited if not any(text in s for text in expected)],
        )

    def uses_a_resource(self, statement: str) -> bool:
        return any(
            f"{verb} {table}" in statement
            for table in TABLES
            for verb in ("FROM", "JOIN", "UPDATE")
        )

    def test_dry_runs_are_refused(self) -> None:
        self.vnfm.become(UNTRUSTED)
        for path in (
            f"{INSTANCES}/{self.instance_id}/terminate",
            f"{OP_OCCS}/{self.op_occ['id']}/retry",
            f"{OP_OCCS}/{self.op_occ['id']}/rollback",
        ):
            body = untrusted.BODIES.get(path.rpartition("/")[2])
            response = self.vnfm.call("POST", f"{path}?dry_run=true", body)
            self.assert_problem(404, response)

    def test_filters_find_nothing(self) -> None:
        self.vnfm.become(UNTRUSTED)
        for path, attribute, value in (
            (INSTANCES, "id", self.instance_id),
            (INSTANCES, "vnfdId", self.vnfd_id),
            (INSTANCES, "projectId", OWNER),
            (OP_OCCS, "vnfInstanceId", self.instance_id),
            (PACKAGES, "vnfdId", self.vnfd_id),
            (PACKAGES, "usageState", "IN_USE"),
            (SUBSCRIPTIONS, "callbackUri", f"'{self.receiver.url}'"),
            (PACKAGE_SUBSCRIPTIONS, "callbackUri", f"'{self.receiver.url}'"),
        ):
            query = f"{path}?filter=(eq,{attribute},{value})"
            response = self.vnfm.call("GET", query)
            self.assertEqual(200, response.status, str(response.content))
            self.assertEqual([], response.json, query)
        for query in (f"id={self.vim_id}", "name=a%20vim"):
            response = self.vnfm.call("GET", f"{VIMS}?{query}")
            self.assertEqual([], response.json["vims"])

    def test_a_link_to_a_page_of_another_project_shows_nothing(self) -> None:
        self.vnfm.conf.set_override("page_size", 1, "api")
        self.vnfm.create(self.vnfd_id)
        first = self.vnfm.call("GET", INSTANCES)
        link = first.headers["Link"].partition(">")[0].lstrip("<")
        self.vnfm.become(UNTRUSTED)
        self.assertEqual([], self.vnfm.call("GET", link).json)

    def test_an_idempotency_key_of_another_project_is_not_known(self) -> None:
        key = {"Idempotency-Key": "one"}
        body = {"vnfdId": self.vnfd_id}
        self.vnfm.call("POST", INSTANCES, body, key)
        self.vnfm.become(UNTRUSTED)
        response = self.vnfm.call("POST", INSTANCES, body, key)
        self.assertEqual(422, response.status, str(response.content))


class TestVims(ProjectsCase):
    def test_a_vnf_uses_no_vim_of_another_project(self) -> None:
        self.vnfm.become(UNTRUSTED)
        csar = self.useFixture(Csar())
        instance_id = self.vnfm.create(self.vnfm.onboard(csar))
        request = {
            "flavourId": "simple",
            "vimConnectionInfo": {"vim1": {"vimId": self.vim_id}},
        }
        response = self.vnfm.task(instance_id, "instantiate", request)
        self.assert_problem(400, response, f"no VIM {self.vim_id}")
        self.vnfm.run(
            instance_id,
            "instantiate",
            request | {"vimConnectionInfo": FAKE_VIM},
        )
        change = {"vimConnectionInfo": {"vim2": {"vimId": self.vim_id}}}
        response = self.vnfm.patch(instance_id, change)
        self.assertEqual(400, response.status, str(response.content))

    def test_an_administrator_does_not_lend_its_vims(self) -> None:
        self.vnfm.become("admins", "admin")
        vim_id = self.register_vim("of the administrators")
        instance_id = self.in_project(OWNER, self.vnfm.create, self.vnfd_id)
        request = {
            "flavourId": "simple",
            "vimConnectionInfo": {"vim1": {"vimId": vim_id}},
        }
        response = self.vnfm.task(instance_id, "instantiate", request)
        self.assert_problem(400, response, f"no VIM {vim_id}")

    def in_project(self, project: str, call: Any, *args: Any) -> Any:
        before = self.vnfm.project, self.vnfm.roles
        self.vnfm.become(project)
        result = call(*args)
        self.vnfm.become(before[0], *before[1])
        return result

    def test_names_and_defaults_are_of_a_project(self) -> None:
        mine = self.register_vim("same", is_default=True)
        self.vnfm.become(UNTRUSTED)
        self.register_vim("same", is_default=True)
        response = self.vnfm.call(
            "POST",
            VIMS,
            {
                "vim": {
                    "name": "same",
                    "type": "fake",
                    "auth_url": "http://vim.example",
                    "auth_cred": {},
                }
            },
        )
        self.assert_problem(409, response, "of the project")
        self.vnfm.become(OWNER)
        vim = self.vnfm.call("GET", f"{VIMS}/{mine}").json["vim"]
        self.assertTrue(vim["is_default"])
        self.assertEqual(OWNER, vim["tenant_id"])


class TestPackages(ProjectsCase):
    def test_two_projects_have_a_package_of_the_same_vnfd(self) -> None:
        self.vnfm.become(UNTRUSTED)
        self.assertEqual(self.vnfd_id, self.vnfm.onboard(self.csar))
        instance_id = self.vnfm.create(self.vnfd_id)
        self.assertEqual(
            UNTRUSTED, self.vnfm.instance(instance_id)["projectId"]
        )
        (package,) = self.vnfm.call("GET", PACKAGES).json
        path = f"{PACKAGES}/{package['id']}"
        self.vnfm.call("DELETE", f"{INSTANCES}/{instance_id}")
        disabled = {"operationalState": "DISABLED"}
        self.assertEqual(200, self.vnfm.call("PATCH", path, disabled).status)
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)
        # the content is stored once, and stays for the other project
        self.vnfm.become(OWNER)
        path = f"{PACKAGES}/{self.owned.ids['vnf_packages']}"
        self.assertEqual(
            200, self.vnfm.call("GET", f"{path}/package_content").status
        )

    def test_a_second_package_of_the_same_vnfd_is_refused(self) -> None:
        created = self.vnfm.call("POST", PACKAGES, {}).json
        path = f"{PACKAGES}/{created['id']}/package_content"
        zipped = {"Content-Type": "application/zip"}
        response = self.vnfm.call("PUT", path, self.csar.read(), zipped)
        self.assert_problem(409, response, "contains the VNFD")


class TestNotifications(ProjectsCase):
    def test_notifications_are_of_the_project_of_the_subscription(
        self,
    ) -> None:
        strange, everywhere = (
            self.useFixture(HttpReceiver()) for _ in range(2)
        )
        for receiver, project, roles in (
            (strange, UNTRUSTED, ("member",)),
            (everywhere, "operators", ("service", "member")),
        ):
            self.vnfm.become(project, *roles)
            response = self.vnfm.call(
                "POST", SUBSCRIPTIONS, {"callbackUri": receiver.url}
            )
            self.assertEqual(201, response.status, str(response.content))
        self.vnfm.become(OWNER)
        instance_id = self.vnfm.create(self.vnfd_id)
        self.vnfm.become(UNTRUSTED)
        csar = self.useFixture(Csar())
        other_id = self.vnfm.create(self.vnfm.onboard(csar))
        everywhere.wait(2)
        strange.wait(1)
        subjects = {
            name: {
                notification.json["vnfInstanceId"]
                for notification in receiver.received
            }
            for name, receiver in (("a", strange), ("b", everywhere))
        }
        self.assertEqual(
            {"a": {other_id}, "b": {instance_id, other_id}}, subjects
        )


class TestAdministrators(ProjectsCase):
    def test_administrators_and_services_see_all(self) -> None:
        for roles in (("admin",), ("service", "member")):
            self.vnfm.become("operators", *roles)
            found = self.vnfm.call("GET", INSTANCES).json
            self.assertEqual([self.instance_id], [i["id"] for i in found])
            self.assertEqual([OWNER], [i["projectId"] for i in found])

    def test_an_operation_belongs_to_the_project_of_its_instance(self) -> None:
        self.vnfm.become("operators", "admin")
        end = self.vnfm.run(
            self.instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(OWNER, end["projectId"])
        self.vnfm.become(OWNER)
        path = f"{OP_OCCS}/{end['id']}"
        self.assertEqual(200, self.vnfm.call("GET", path).status)

    def test_a_token_without_a_project_is_refused(self) -> None:
        self.vnfm.become("", "admin")
        self.assert_problem(
            403, self.vnfm.call("GET", INSTANCES), "has no project"
        )


class TestPolicies(ProjectsCase):
    def test_each_operation_has_a_rule(self) -> None:
        document = self.vnfm.call("GET", "/openapi.json").json
        documented = {
            (operation["method"], operation["path"])
            for rule in policies.RULES
            for operation in getattr(rule, "operations", ())
        }
        expected = {
            (method, path)
            for method, path in untrusted.routes(document)
            if not middleware.is_public(path)
        }
        self.assertEqual(set(), expected - documented)

    def test_a_rule_is_of_one_task(self) -> None:
        self.vnfm.write_policy(vnf_instances__heal="role:healer")
        path = f"{INSTANCES}/{self.instance_id}"
        response = self.vnfm.call("POST", f"{path}/heal", {})
        self.assert_problem(403, response, "vnf_instances:heal")
        self.vnfm.become(OWNER, "healer")
        response = self.vnfm.call("POST", f"{path}/heal", {})
        self.assertEqual(202, response.status, str(response.content))
        self.vnfm.wait_operation(response.headers["Location"])
        terminate = {"terminationType": "FORCEFUL"}
        response = self.vnfm.call("POST", f"{path}/terminate", terminate)
        self.assert_problem(403, response, "vnf_instances:terminate")

    def test_a_rule_is_checked_for_the_resource(self) -> None:
        self.vnfm.write_policy(vnf_instances__terminate="user_id:%(user_id)s")
        path = f"{INSTANCES}/{self.instance_id}/terminate"
        body = {"terminationType": "FORCEFUL"}
        self.vnfm.become(OWNER, user="another-user")
        response = self.vnfm.call("POST", path, body)
        self.assert_problem(403, response, "vnf_instances:terminate")
        self.vnfm.become(OWNER)
        self.assertEqual(202, self.vnfm.call("POST", path, body).status)

    def test_a_shared_resource_is_read_and_used_but_not_changed(self) -> None:
        package_id = self.owned.ids["vnf_packages"]
        package, vim = f"{PACKAGES}/{package_id}", f"{VIMS}/{self.vim_id}"
        self.vnfm.become(OWNER, "manager", "member")
        self.share([UNTRUSTED])
        self.vnfm.become(UNTRUSTED)
        for path in (package, f"{package}/package_content", vim):
            self.assertEqual(200, self.vnfm.call("GET", path).status, path)
        disabled = {"operationalState": "DISABLED"}
        for method, path, body in (
            ("PATCH", package, disabled),
            ("DELETE", package, None),
            ("PUT", vim, {"vim": {"description": "mine"}}),
            ("DELETE", vim, None),
        ):
            response = self.vnfm.call(method, path, body)
            self.assert_problem(403, response, "does not allow")
        instance_id = self.vnfm.create(self.vnfd_id)
        end = self.vnfm.run(
            instance_id,
            "instantiate",
            {
                "flavourId": "simple",
                "vimConnectionInfo": {"vim1": {"vimId": self.vim_id}},
            },
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.vnfm.become(OWNER)
        self.assert_problem(409, self.vnfm.call("DELETE", vim))
        # it stays shared while it is used
        self.vnfm.become(OWNER, "manager", "member")
        for method, path, body in self.sharing([]):
            self.assert_problem(409, self.vnfm.call(method, path, body))
        shown = self.vnfm.call("GET", package).json
        self.assertEqual([UNTRUSTED], shown["sharedWith"])

    def sharing(self, projects: list[str]) -> list[tuple[str, str, Any]]:
        """Return the requests that share the package and the VIM."""
        package = f"{PACKAGES}/{self.owned.ids['vnf_packages']}"
        vim = {"vim": {"shared_with": projects}}
        return [
            ("PATCH", package, {"sharedWith": projects}),
            ("PUT", f"{VIMS}/{self.vim_id}", vim),
        ]

    def share(self, projects: list[str]) -> None:
        for method, path, body in self.sharing(projects):
            response = self.vnfm.call(method, path, body)
            self.assertEqual(200, response.status, str(response.content))

    def test_a_member_does_not_share(self) -> None:
        for method, path, body in self.sharing([UNTRUSTED]):
            response = self.vnfm.call(method, path, body)
            self.assert_problem(403, response, ":share")

    def test_no_project_gets_two_packages_of_a_vnfd(self) -> None:
        self.vnfm.become(UNTRUSTED)
        self.vnfm.onboard(self.csar)
        self.vnfm.become(OWNER, "manager", "member")
        path = f"{PACKAGES}/{self.owned.ids['vnf_packages']}"
        for body in ({"sharedWith": [UNTRUSTED]}, {"isPublic": True}):
            response = self.vnfm.call("PATCH", path, body)
            self.assert_problem(409, response, self.vnfd_id)
        response = self.vnfm.call("PATCH", path, {"sharedWith": ["c"]})
        self.assertEqual(200, response.status, str(response.content))

    def test_a_public_resource_is_of_all_projects(self) -> None:
        self.vnfm.become(OWNER, "manager", "member")
        path = f"{VIMS}/{self.vim_id}"
        body = {"vim": {"is_public": True}}
        self.assertEqual(200, self.vnfm.call("PUT", path, body).status)
        self.vnfm.become("any-project", "reader")
        shown = self.vnfm.call("GET", path).json["vim"]
        self.assertTrue(shown["is_public"])
        self.assertEqual([], shown["shared_with"])
