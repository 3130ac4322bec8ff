"""Registered VIMs over HTTP, with the requests of the openstack command."""

from typing import Any

import fixtures

from tacker_cnf import errors
from tacker_cnf.drivers.fake import FakeDriver
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures.vnfm import ApiCase, Response, Vnfm

VIMS = "/v1.0/vims"
HIDDEN = ("hunter2", "letmein", "PRIVATE")


def a_vim(**overrides: Any) -> dict[str, Any]:
    vim: dict[str, Any] = {
        "name": "somewhere",
        "type": "fake",
        "auth_url": "https://vim.example",
        "auth_cred": {
            "username": "me",
            "password": "hunter2",
            "bearer_token": "letmein",
            "client_key": "PRIVATE",
            "ssl_ca_cert": "public",
        },
        "vim_project": {"name": "a-project"},
        "extra": {"region": "north", "api_secret": "hunter2"},
    }
    return {"vim": vim | overrides}


class RecordingDriver(FakeDriver):
    """A VIM that records connections, and can be unreachable."""

    def __init__(self) -> None:
        super().__init__()
        self.checked_connections: list[VimConnectionInfo] = []
        self.is_reachable = True

    def check_connection(self, connection: VimConnectionInfo) -> None:
        if not self.is_reachable:
            raise errors.VimUnreachable("no route to vim.example")
        self.checked_connections.append(connection)


class VimTest(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.vnfm = self.useFixture(Vnfm())
        self.call = self.vnfm.call
        self.driver = RecordingDriver()
        self.vnfm.parts.drivers.install("fake", self.driver)

    def register(self, **overrides: Any) -> str:
        response = self.call("POST", VIMS, a_vim(**overrides))
        assert response.status == 201, response.content
        return str(response.json["vim"]["id"])

    def change(self, vim_id: str, **changes: Any) -> Response:
        return self.call("PUT", f"{VIMS}/{vim_id}", {"vim": changes})

    def show(self, vim_id: str) -> Any:
        return self.call("GET", f"{VIMS}/{vim_id}").json["vim"]


class TestLifecycle(VimTest):
    def test_a_type_without_driver(self) -> None:
        response = self.call("POST", VIMS, a_vim(type="moon"))
        self.assert_problem(
            400, response, "type: there is no driver for 'moon'"
        )
        self.assertNotIn("vimType", response.detail)

    def test_from_registration_to_deletion(self) -> None:
        created = self.call("POST", VIMS, a_vim(description="far away"))
        self.assertEqual(201, created.status)
        vim = created.json["vim"]
        path = f"{VIMS}/{vim['id']}"
        self.assertEqual(
            f"http://localhost{path}", created.headers["Location"]
        )
        self.assertEqual(vim, self.show(vim["id"]))
        self.assertEqual("somewhere", vim["name"])
        self.assertEqual("far away", vim["description"])
        self.assertEqual({"name": "a-project"}, vim["vim_project"])
        self.assertFalse(vim["is_default"])
        self.assertIsNone(vim["updated_at"])
        changed = self.change(vim["id"], description="near")
        self.assertEqual(200, changed.status)
        self.assertEqual("near", self.show(vim["id"])["description"])
        self.assertIsNotNone(self.show(vim["id"])["updated_at"])
        response = self.call("DELETE", path)
        self.assertEqual((204, b""), (response.status, response.content))
        self.assert_problem(404, self.call("GET", path), "There is no VIM")

    def test_the_command_adds_json_to_each_path(self) -> None:
        response = self.call("POST", f"{VIMS}.json", a_vim())
        vim = response.json["vim"]
        path = f"{VIMS}/{vim['id']}.json"
        self.assertEqual(vim, self.call("GET", path).json["vim"])
        self.assertEqual([vim], self.call("GET", f"{VIMS}.json").json["vims"])
        body = {"vim": {"name": "elsewhere"}}
        self.assertEqual(200, self.call("PUT", path, body).status)
        self.assertEqual(204, self.call("DELETE", path).status)

    def test_an_unknown_vim(self) -> None:
        for method in ("GET", "DELETE", "PUT"):
            body = {"vim": {"name": "x"}} if method == "PUT" else None
            response = self.call(method, f"{VIMS}/none", body)
            self.assert_problem(404, response, "There is no VIM none")


class TestList(VimTest):
    def names(self, query: str) -> list[str]:
        found = self.call("GET", f"{VIMS}?{query}").json["vims"]
        return [vim["name"] for vim in found]

    def test_filters(self) -> None:
        ids = {name: self.register(name=name) for name in "cab"}
        for query, found in (
            ("", "cab"),
            ("name=a", "a"),
            ("name=none", ""),
            (f"id={ids['b']}", "b"),
            (f"id={ids['b']}&name=b", "b"),
            (f"id={ids['b']}&name=a", ""),
            ("unknown=x", "cab"),
        ):
            self.assertEqual(list(found), self.names(query), query)

    def test_selected_fields(self) -> None:
        vim_id = self.register()
        response = self.call("GET", f"{VIMS}?fields=id&fields=name&fields=odd")
        self.assertEqual(
            [{"id": vim_id, "name": "somewhere"}], response.json["vims"]
        )


class TestSecrets(VimTest):
    def test_no_response_contains_secrets(self) -> None:
        created = self.call("POST", VIMS, a_vim())
        path = f"{VIMS}/{created.json['vim']['id']}"
        change = {"vim": {"auth_cred": {"password": "letmein"}}}
        for response in (
            created,
            self.call("GET", path),
            self.call("GET", VIMS),
            self.call("PUT", path, change),
            self.call("POST", VIMS, a_vim()),  # refused: the name is in use
        ):
            for secret in HIDDEN:
                self.assertNotIn(secret.encode(), response.content)

    def test_other_attributes_are_shown(self) -> None:
        shown = self.show(self.register())
        self.assertEqual(
            {"username": "me", "ssl_ca_cert": "public"}, shown["auth_cred"]
        )
        self.assertEqual({"region": "north"}, shown["extra"])

    def test_a_change_keeps_the_secrets_it_does_not_name(self) -> None:
        vim_id = self.register()
        self.change(vim_id, auth_cred={"username": "you"})
        first, second = (
            vim.access_info for vim in self.driver.checked_connections
        )
        self.assertEqual(first | {"username": "you"}, second)

    def test_registered_credentials_stay_with_their_receiver(self) -> None:
        vim_id = self.register()
        for change in (
            {"auth_url": "https://elsewhere"},
            {"auth_url": "https://elsewhere", "auth_cred": {"username": "x"}},
            {"auth_cred": {"cert_verify": "False"}},
            {"auth_cred": {"ssl_ca_cert": "mine", "username": "x"}},
        ):
            response = self.change(vim_id, **change)
            self.assert_problem(400, response, "registered credentials")
        self.assertEqual(1, len(self.driver.checked_connections))
        new = {"cert_verify": "False", "bearer_token": "mine"}
        self.assertEqual(200, self.change(vim_id, auth_cred=new).status)
        *_, checked = self.driver.checked_connections
        self.assertEqual(new, checked.access_info)


class TestDefault(VimTest):
    def defaults(self) -> list[str]:
        vims = self.call("GET", VIMS).json["vims"]
        return [vim["name"] for vim in vims if vim["is_default"]]

    def test_there_is_at_most_one_default(self) -> None:
        one = self.register(name="one", is_default=True)
        self.assertEqual(["one"], self.defaults())
        two = self.register(name="two", is_default=True)
        self.assertEqual(["two"], self.defaults())
        self.change(one, is_default=True)
        self.assertEqual(["one"], self.defaults())
        self.change(one, is_default=True, description="still")
        self.assertEqual(["one"], self.defaults())
        self.change(two, is_default=False)
        self.assertEqual(["one"], self.defaults())
        self.change(one, is_default=False)
        self.assertEqual([], self.defaults())

    def test_a_refused_vim_does_not_become_the_default(self) -> None:
        self.register(name="one", is_default=True)
        response = self.call("POST", VIMS, a_vim(name="one", is_default=True))
        self.assertEqual(409, response.status)
        self.assertEqual(["one"], self.defaults())

    def test_a_request_without_a_vim_uses_it(self) -> None:
        vim_id = self.register(is_default=True)
        instance_id = self.vnfm.create()
        done = self.vnfm.run(
            instance_id, "instantiate", {"flavourId": "simple"}
        )
        self.assertEqual("COMPLETED", done["operationState"])
        vims = self.vnfm.instance(instance_id)["vimConnectionInfo"]
        self.assertEqual(vim_id, vims["default"]["vimId"])

    def test_without_a_default_a_request_has_to_specify_a_vim(self) -> None:
        response = self.vnfm.task(
            self.vnfm.create(), "instantiate", {"flavourId": "simple"}
        )
        self.assert_problem(400, response, "no VIM is named")


class TestRefused(VimTest):
    def test_invalid_bodies(self) -> None:
        for body, message in (
            ({}, "missing required field `vim`"),
            ({"vim": {}}, "missing required field `name` - at `$.vim`"),
            (a_vim(name=5), "$.vim.name"),
            (a_vim(auth_cred="secret"), "$.vim.auth_cred"),
            (a_vim(is_default="yes"), "$.vim.is_default"),
        ):
            self.assert_problem(400, self.call("POST", VIMS, body), message)

    def test_a_type_without_a_driver(self) -> None:
        for kind in ("moon", ""):
            response = self.call("POST", VIMS, a_vim(type=kind))
            self.assert_problem(400, response, f"no driver for {kind!r}")
        self.assertEqual([], self.call("GET", VIMS).json["vims"])

    def test_names_are_unique(self) -> None:
        self.register()
        other = self.register(name="other")
        response = self.call("POST", VIMS, a_vim())
        self.assert_problem(
            409, response, "Another VIM of the project is named 'somewhere'"
        )
        response = self.change(other, name="somewhere")
        self.assert_problem(
            409, response, "Another VIM of the project is named 'somewhere'"
        )
        self.assertEqual("other", self.show(other)["name"])

    def test_an_unreachable_vim(self) -> None:
        vim_id = self.register(name="reached")
        self.driver.is_reachable = False
        response = self.call("POST", VIMS, a_vim())
        self.assert_problem(422, response, "no route to vim.example")
        for change in (
            {"auth_url": "https://elsewhere", "auth_cred": {"password": "y"}},
            {"auth_cred": {"password": "x"}},
        ):
            response = self.change(vim_id, **change)
            self.assert_problem(422, response, "no route to vim.example")
        self.assertEqual("https://vim.example", self.show(vim_id)["auth_url"])
        (vim,) = self.call("GET", VIMS).json["vims"]
        self.assertEqual("reached", vim["name"])
        # a new name needs no VIM
        self.assertEqual(200, self.change(vim_id, name="lost").status)

    def test_a_vim_of_type_noop_takes_no_vnf(self) -> None:
        vim_id = self.register(type="noop")
        request = {
            "flavourId": "simple",
            "vimConnectionInfo": {"vim1": {"vimId": vim_id}},
        }
        response = self.vnfm.task(self.vnfm.create(), "instantiate", request)
        self.assert_problem(400, response, "VIMs of type noop accept no VNFs")

    def test_an_invalid_connection(self) -> None:
        instance_id = self.vnfm.create()
        endpoint = {"interfaceInfo": {"endpoint": "x"}}
        fake, noop = self.register(name="f"), self.register(type="noop")
        for vims, message in (
            ({"v": {"vimId": "none"}}, "vimConnectionInfo.v"),
            ({"v": {"vimType": "fake"}}, "vimConnectionInfo.v"),
            ({"v": {"vimType": "moon"} | endpoint}, "no driver for 'moon'"),
            (
                {"v": {"vimId": fake}, "w": {"vimId": noop}},
                "VIMs of several types (fake, noop)",
            ),
        ):
            request = {"flavourId": "simple", "vimConnectionInfo": vims}
            response = self.vnfm.task(instance_id, "instantiate", request)
            self.assert_problem(400, response, message)


class TestInUse(VimTest):
    def setUp(self) -> None:
        super().setUp()
        self.vim_id = self.register()
        self.instance_id = self.vnfm.create()

    def delete(self) -> Response:
        return self.call("DELETE", f"{VIMS}/{self.vim_id}")

    def run_task(self, task: str, **body: Any) -> Any:
        return self.vnfm.run(self.instance_id, task, body)

    def instantiate(self) -> Any:
        vims = {"vim1": {"vimId": self.vim_id}}
        return self.run_task(
            "instantiate", flavourId="simple", vimConnectionInfo=vims
        )

    def test_a_vim_with_a_vnf_cannot_be_deleted(self) -> None:
        self.instantiate()
        message = f"VIM {self.vim_id} is in use by VNF instances"
        self.assert_problem(409, self.delete(), message)
        self.assertIn(self.instance_id, self.delete().detail)
        self.assertEqual(200, self.change(self.vim_id, name="new").status)
        self.run_task("scale", type="SCALE_OUT", aspectId="web_aspect")
        self.assertEqual(409, self.delete().status)
        self.run_task("terminate", terminationType="FORCEFUL")
        self.assertEqual(204, self.delete().status)

    def test_a_failed_vnf_needs_it_until_the_decision(self) -> None:
        def fail(_: Any) -> None:
            raise RuntimeError

        self.driver.before["apply"] = fail
        failed = self.instantiate()
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        self.assertEqual(409, self.delete().status)
        self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual(204, self.delete().status)

    def test_secrets_are_not_shown_with_the_vnf(self) -> None:
        done = self.instantiate()
        for path in (
            f"/vnflcm/v2/vnf_instances/{self.instance_id}",
            "/vnflcm/v2/vnf_instances",
            f"/vnflcm/v2/vnf_lcm_op_occs/{done['id']}",
            "/vnflcm/v2/vnf_lcm_op_occs",
        ):
            content = self.call("GET", path).content
            for secret in HIDDEN:
                self.assertNotIn(secret.encode(), content)
