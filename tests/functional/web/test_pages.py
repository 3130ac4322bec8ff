"""What an operator sees and does on the web page, without authentication."""

import json
from typing import Any

import sqlalchemy as sa
import testtools

from tacker_cnf import errors
from tests.fixtures.page_browser import Browser
from tests.fixtures.vnfm import Csar, Vnfm

HOSTILE = "<script>alert('x')</script>\"&"
ESCAPED = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&#34;&amp;"


def _fail(_: object) -> None:
    raise errors.InfraError("no space & <no> time")


class PageCase(testtools.TestCase):
    """A service with the page, and a browser."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm(api={"web_page": True}))
        self.browser = Browser(self.vnfm)

    def register_vim(self) -> None:
        self.browser.get("/vims/new")
        self.browser.post(
            "/vims",
            name="a vim",
            type="fake",
            auth_url="http://vim.example",
            bearer_token="a-token",
            is_default="1",
        )
        self.assertEqual("/ui/vims", self.browser.page.location)

    def upload(self, csar: Csar | None = None) -> str:
        """Upload a package; return its path."""
        csar = csar or self.useFixture(Csar())
        self.browser.get("/vnf_packages")
        page = self.browser.upload(csar.read())
        self.assertEqual(303, page.status, page.text)
        return page.location.removeprefix("/ui")

    def create(self, name: str = "a vnf") -> str:
        """Create a VNF from a new package; return its path."""
        package = self.upload().rpartition("/")[2]
        self.browser.get(f"/vnf_instances/new?package={package}")
        page = self.browser.post("/vnf_instances", package=package, name=name)
        self.assertEqual(303, page.status, page.text)
        return page.location.removeprefix("/ui")

    def create_instantiated(self, name: str = "a vnf") -> str:
        """Instantiate a VNF; return its path."""
        self.register_vim()
        path = self.create(name)
        self.run_task(path, "instantiate", flavour="simple")
        return path

    def run_task(self, path: str, task: str, **fields: Any) -> Any:
        """Run an operation after its plan is shown; return it."""
        page = self.browser.get(f"{path}/{task}")
        page = self.browser.post(f"{path}/{task}", step="plan", **fields)
        self.assertIn("Nothing has changed yet", page.text)
        page = self.browser.post(f"{path}/{task}", step="confirm")
        self.assertEqual(303, page.status, page.text)
        op_occ_id = page.location.rpartition("/")[2]
        return self.vnfm.wait_operation(
            f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ_id}"
        )


class TestStory(PageCase):
    """A VNF from its package to its end."""

    def test_lifecycle(self) -> None:
        path = self.create_instantiated("first")
        page = self.browser.get()
        self.assertIn("first", page.text)
        self.assertIn("Instantiated", page.text)
        page = self.browser.get(path)
        self.assertIn("web_aspect", page.text)
        done = self.run_task(
            path, "scale", type="SCALE_OUT", aspect="web_aspect", steps="1"
        )
        self.assertEqual("COMPLETED", done["operationState"])
        page = self.browser.get(f"/vnf_lcm_op_occs/{done['id']}")
        self.assertIn("Completed", page.text)
        self.assertIn("Added", page.text)
        vnfc = self.vnfm.instance(path.rpartition("/")[2])[
            "instantiatedVnfInfo"
        ]["vnfcInfo"][0]["id"]
        healed = self.run_task(path, "heal", scope="chosen", vnfc=[vnfc])
        self.assertEqual({"vnfcInstanceId": [vnfc]}, healed["operationParams"])
        self.run_task(
            path,
            "scale_to_level",
            **{"aspect": ["web_aspect"], "level:web_aspect": "0"},
        )
        self.run_task(path, "operate", state="STOPPED")
        self.run_task(path, "terminate", type="FORCEFUL")
        self.browser.get(f"{path}/delete")
        page = self.browser.post(f"{path}/delete")
        self.assertEqual("/ui/", page.location)
        self.assertNotIn("first", self.browser.follow().text)

    def test_a_failure_can_be_rolled_back(self) -> None:
        path = self.create_instantiated()
        self.vnfm.driver.before["apply"] = _fail
        failed = self.run_task(
            path, "scale", type="SCALE_OUT", aspect="web_aspect"
        )
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        for shown in ("/", path):
            page = self.browser.get(shown)
            self.assertIn("Failed temp", page.text)
            self.assertIn("no space & <no> time", page.text)
        self.assertNotIn(f"/ui{path}/scale", page.links)
        own = f"/vnf_lcm_op_occs/{failed['id']}"
        page = self.browser.get(own)
        self.assertIn("no space &amp; &lt;no&gt; time", page.source)
        self.assertEqual(
            ["fail", "retry", "rollback"],
            sorted(
                link.rpartition("/")[2] for link in page.links if own in link
            ),
        )
        del self.vnfm.driver.before["apply"]
        self.browser.get(f"{own}/rollback")
        page = self.browser.post(f"{own}/rollback")
        self.assertEqual(f"/ui{own}", page.location)
        ended = self.vnfm.wait_operation(f"/vnflcm/v2{own}")
        self.assertEqual("ROLLED_BACK", ended["operationState"])
        self.assertIn(f"/ui{path}/scale", self.browser.get(path).links)
        page = self.browser.get(own)
        self.assertFalse([link for link in page.links if f"{own}/" in link])
        page = self.browser.get(f"{own}/rollback")
        self.assertEqual(409, page.status)

    def test_packages(self) -> None:
        path = self.upload()
        page = self.browser.get(path)
        self.assertIn("Onboarded", page.text)
        self.browser.post(f"{path}/disable")
        self.assertIn("Disabled", self.browser.follow().text)
        self.browser.get(f"{path}/delete")
        self.browser.post(f"{path}/delete")
        self.assertIn("There are no VNF packages", self.browser.follow().text)

    def test_vims(self) -> None:
        self.register_vim()
        (vim,) = self.vnfm.call("GET", "/v1.0/vims").json["vims"]
        self.assertIn("http://vim.example", self.browser.get("/vims").text)
        self.assertNotIn("a-token", self.browser.page.source)
        self.browser.get(f"/vims/{vim['id']}/delete")
        self.browser.post(f"/vims/{vim['id']}/delete")
        self.assertIn("No VIM is registered", self.browser.follow().text)


class TestLists(PageCase):
    """Filters and pages."""

    def test_the_name_is_filtered(self) -> None:
        vnfd_id = self.vnfm.onboard()
        for name in ("core-1", "core-2", "edge"):
            self.vnfm.call(
                "POST",
                "/vnflcm/v2/vnf_instances",
                {"vnfdId": vnfd_id, "vnfInstanceName": name},
            )
        page = self.browser.get("/?name=core")
        self.assertIn("core-2", page.text)
        self.assertNotIn("edge", page.text)

    def test_a_long_list_has_pages(self) -> None:
        vnfd_id = self.vnfm.onboard()
        for number in range(26):
            self.vnfm.call(
                "POST",
                "/vnflcm/v2/vnf_instances",
                {"vnfdId": vnfd_id, "vnfInstanceName": f"vnf-{number:02}."},
            )
        page = self.browser.get("/?name=vnf-")
        self.assertNotIn("vnf-25.", page.text)
        (following,) = [link for link in page.links if "marker=" in link]
        page = self.browser.get(following.removeprefix("/ui"))
        self.assertIn("vnf-25.", page.text)
        self.assertNotIn("vnf-24.", page.text)
        self.assertEqual(400, self.browser.get("/?marker=x").status)


class TestForms(PageCase):
    """Forms with mistakes are shown again."""

    def test_invalid_parameters(self) -> None:
        path = self.create()
        self.browser.get(f"{path}/instantiate")
        for text, message in (
            ("[1]", "additional_params: it is not a JSON object"),
            ("{a: {", "additional_params"),
        ):
            page = self.browser.post(
                f"{path}/instantiate",
                step="plan",
                flavour="simple",
                additional_params=text,
            )
            self.assertEqual(400, page.status)
            self.assertIn(message, page.text)
            self.assertIn(text, page.text)

    def test_no_vim(self) -> None:
        path = self.create()
        self.browser.get(f"{path}/instantiate")
        page = self.browser.post(
            f"{path}/instantiate", step="start", flavour="simple"
        )
        self.assertEqual(400, page.status)
        self.assertIn("no VIM is named", page.text)

    def test_a_number_that_is_none(self) -> None:
        path = self.create_instantiated()
        self.browser.get(f"{path}/scale")
        page = self.browser.post(f"{path}/scale", type="SCALE_OUT", steps="x")
        self.assertEqual(400, page.status)
        self.assertIn("steps: 'x' is not a number", page.text)

    def test_a_heal_of_neither_or_both(self) -> None:
        path = self.create_instantiated()
        self.browser.get(f"{path}/heal")
        for fields in (
            {"scope": "chosen"},
            {},
            {"scope": "all", "vnfc": ["web-1"]},
        ):
            page = self.browser.post(f"{path}/heal", step="start", **fields)
            self.assertEqual(400, page.status)
            self.assertIn("choose the VNFCs", page.text)

    def test_an_instance_that_has_changed_since_the_plan(self) -> None:
        path = self.create_instantiated()
        self.browser.get(f"{path}/terminate")
        self.browser.post(f"{path}/terminate", step="plan", type="FORCEFUL")
        planned = self.browser.page.hidden
        instance_id = path.rpartition("/")[2]
        self.vnfm.modify(instance_id, {"vnfInstanceName": "other"})
        page = self.browser.send_form(
            f"{path}/terminate", planned | {"step": "confirm"}
        )
        self.assertEqual(412, page.status)
        self.assertIn("has changed", page.text)

    def test_the_request_can_be_changed_after_the_plan(self) -> None:
        path = self.create_instantiated()
        self.browser.get(f"{path}/heal")
        self.browser.post(
            f"{path}/heal", step="plan", scope="all", cause="a cause"
        )
        page = self.browser.post(f"{path}/heal", step="edit")
        self.assertIn('value="a cause"', page.source)

    def test_a_package_that_is_not_valid(self) -> None:
        self.browser.get("/vnf_packages")
        page = self.browser.upload(b"not a ZIP")
        self.assertEqual(400, page.status)
        self.assertIn("ZIP", page.text)
        self.assertIn("There are no VNF packages", page.text)

    def test_a_vim_without_credentials(self) -> None:
        self.browser.get("/vims/new")
        page = self.browser.post(
            "/vims",
            name="x",
            type="kubernetes",
            auth_url="https://vim.example",
        )
        self.assertEqual(400, page.status)
        self.assertIn("bearer_token, or client_cert", page.text)

    def test_keys_are_not_shown_again(self) -> None:
        self.browser.get("/vims/new")
        page = self.browser.post(
            "/vims",
            name="x",
            type="kubernetes",
            auth_url="https://vim.example",
            ssl_ca_cert="an-authority",
            client_cert="a-certificate",
            client_key="a-key",
        )
        self.assertEqual(400, page.status)
        self.assertIn("an-authority", page.text)
        # a file with a certificate may have its key, too
        for secret in ("a-certificate", "a-key"):
            self.assertNotIn(secret, page.source)

    def test_an_unreachable_vim(self) -> None:
        self.browser.get("/vims/new")
        page = self.browser.post(
            "/vims",
            name="x",
            type="kubernetes",
            auth_url="http://127.0.0.1:9",
            bearer_token="a-token",
        )
        self.assertEqual(422, page.status, page.text)
        self.assertIn('value="http://127.0.0.1:9"', page.source)
        self.assertNotIn("a-token", page.source)


class TestHostileContent(PageCase):
    """Values of clients and packages are text, whatever they contain."""

    def test_names(self) -> None:
        path = self.create_instantiated(HOSTILE)
        op_occ = self.run_task(
            path, "scale", type="SCALE_OUT", aspect="web_aspect"
        )
        for shown in (
            "/",
            path,
            f"{path}/heal",
            f"/vnf_lcm_op_occs/{op_occ['id']}",
        ):
            page = self.browser.get(shown)
            self.assertEqual(200, page.status)
            self.assertIn(ESCAPED, page.source)
            self.assertNotIn("<script>", page.source)

    def test_a_filter(self) -> None:
        page = self.browser.get("/?name=%3Cscript%3E%22%27")
        self.assertIn("&lt;script&gt;&#34;&#39;", page.source)

    def test_a_path(self) -> None:
        page = self.browser.get("/<script>alert(1)</script>")
        self.assertEqual(404, page.status)
        self.assertNotIn("<script>alert", page.source)

    def test_errors_of_packages(self) -> None:
        name = "Definitions/five_kinds_types.yaml"
        text = (
            "tosca_definitions_version: tosca_simple_yaml_1_2\n"
            "imports: [<img src=x>]"
        )
        csar = self.useFixture(Csar(files={name: text}))
        self.browser.get("/vnf_packages")
        page = self.browser.upload(csar.read())
        self.assertEqual(400, page.status)
        self.assertNotIn("img", page.tags)
        self.assertIn("<img src=x>", page.text)

    def test_many_files(self) -> None:
        many = {f"Files/many/{number:03}.txt": "x" for number in range(300)}
        package = self.upload(self.useFixture(Csar(files=many)))
        page = self.browser.get(package)
        self.assertIn("Files/many/100.txt", page.text)
        self.assertNotIn("Files/many/299.txt", page.text)
        self.assertRegex(page.text, "and 10[0-9] more")
        package_id = package.rpartition("/")[2]
        self.browser.get(f"/vnf_instances/new?package={package_id}")
        page = self.browser.post("/vnf_instances", package=package_id)
        path = page.location.removeprefix("/ui")
        page = self.browser.get(f"{path}/instantiate")
        self.assertNotIn("Files/many/299.txt", page.text)
        self.assertRegex(page.text, "and 10[0-9] more")

    def test_parameters_of_operations(self) -> None:
        self.register_vim()
        path = self.create()
        self.browser.get(f"{path}/instantiate")
        page = self.browser.post(
            f"{path}/instantiate",
            step="plan",
            flavour="simple",
            additional_params=json.dumps({HOSTILE: HOSTILE}),
        )
        self.assertNotIn("<script>", page.source)


class TestErrors(PageCase):
    """Errors are pages."""

    def test_a_bug(self) -> None:
        with self.vnfm.parts.store.engine.begin() as connection:
            connection.execute(sa.text("ALTER TABLE vims RENAME TO lost"))
        page = self.browser.get("/vims")
        self.assertEqual(500, page.status)
        self.assertIn(page.headers["X-Openstack-Request-Id"], page.text)
        self.assertNotIn("no such table", page.text)

    def test_methods_and_paths_that_do_not_exist(self) -> None:
        for path, status in (
            ("/nothing", 404),
            ("/vnf_instances/x", 404),
            ("/vnf_lcm_op_occs/x", 404),
            ("/vnf_packages/x/delete", 404),
            ("/vims/x/delete", 404),
            ("/vnf_instances", 405),
            ("/login", 404),
        ):
            page = self.browser.get(path)
            self.assertEqual(status, page.status, path)
            self.assertEqual(
                "text/html; charset=utf-8", page.headers["Content-Type"]
            )


class TestGarbage(PageCase):
    """No form fails, whatever its fields contain."""

    FIELDS = (
        "additional_params",
        "aspect",
        "auth_url",
        "description",
        "etag",
        "flavour",
        "level",
        "level:web_aspect",
        "mode",
        "name",
        "package",
        "project_name",
        "region",
        "scope",
        "ssl_ca_cert",
        "state",
        "steps",
        "stop_type",
        "timeout",
        "type",
        "vim",
        "vnfc",
    )
    VALUES = (
        "",
        " ",
        "-1",
        "9" * 40,
        "1e9",
        "x" * 5000,
        "null",
        "[[]]",
        '{"a": 1e400}',
        "a: &a [*a]",
        "\ud7ff\U0001f4a9\u2028\r\n",
        "SCALE_OUT",
    )

    def test_fields(self) -> None:
        path = self.create_instantiated()
        instance_id = path.rpartition("/")[2]
        tasks = [
            f"{path}/{task}"
            for task in ("scale", "scale_to_level", "heal", "operate")
        ]
        for target in (
            *tasks,
            f"{path}/instantiate",
            "/vims",
            "/vnf_instances",
        ):
            for value in self.VALUES:
                self.browser.get()
                secret = self.browser.get(f"{path}/heal").hidden
                fields = dict.fromkeys(self.FIELDS, value)
                for step in ("plan", "confirm", "edit"):
                    page = self.browser.send_form(
                        target,
                        {**fields, "csrf": secret["csrf"], "step": step},
                    )
                    self.assertLess(page.status, 500, f"{target} {value!r}")
        self.assertEqual(
            "INSTANTIATED",
            self.vnfm.instance(instance_id)["instantiationState"],
        )

    def test_queries(self) -> None:
        path = self.create()
        for value in ("%ff", "%F0%9F%92%A9", "'%22%3C", "x" * 5000):
            for target in ("/", "/vnf_packages", f"{path}/instantiate"):
                for name in ("name", "marker", "flavour", "package"):
                    page = self.browser.get(f"{target}?{name}={value}")
                    self.assertLess(page.status, 500, page.text)
