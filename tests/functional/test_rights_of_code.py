"""Which clients may upload code, read its output, and choose what runs."""

import itertools
import json
from typing import Any, Final

from tests.fixtures import waiting
from tests.fixtures.http_receiver import HttpReceiver, ReceivedRequest
from tests.fixtures.http_receiver import Response as ServerResponse
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Response
from tests.functional.test_scripts import FLAVOUR, SCRIPT, flavour_with_scripts

OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES: Final = "/vnfpkgm/v1/vnf_packages"
SECRET: Final = "hunter2"
VIM: Final = {
    "vim1": {
        "vimType": "fake",
        "interfaceInfo": {"endpoint": "x"},
        "accessInfo": {"password": SECRET},
    }
}
#: prints a secret of its input in a form that is not masked
PRINTING: Final = """
import json, sys
found = json.load(sys.stdin)
for vim in (found["vnfInstance"].get("vimConnectionInfo") or {}).values():
    print(vim["accessInfo"]["password"][::-1], file=sys.stderr)
sys.exit(1)
"""
#: a connection point on a link
POINT: Final = {"cpdId": "c", "cpConfig": {"c": {"linkPortId": "p"}}}
MANAGER: Final = ("manager", "member", "reader")


class CodeCase(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Projects(**self.options()))

    def options(self) -> dict[str, Any]:
        return {}

    def package(self, script: str = "", **files: str) -> Csar:
        """Build a package with a management script."""
        files = {
            SCRIPT: script,
            FLAVOUR: flavour_with_scripts("terminate_start"),
        }
        return self.useFixture(Csar(files=files))

    def put(self, csar: Csar) -> tuple[str, Response]:
        created = self.vnfm.call("POST", PACKAGES, {})
        path = f"{PACKAGES}/{created.json['id']}"
        zipped = {"Content-Type": "application/zip"}
        return path, self.vnfm.call(
            "PUT", f"{path}/package_content", csar.read(), zipped
        )

    def state(self, path: str) -> str:
        return str(self.vnfm.call("GET", path).json["onboardingState"])


class TestUploadOfCode(CodeCase):
    """vnf_packages:upload_code."""

    def options(self) -> dict[str, Any]:
        self.source = self.useFixture(HttpReceiver())
        self.source.responder = self.serve
        self.content = b""
        upload = {"upload_hosts": ["127.0.0.1"], "upload_schemes": ["http"]}
        return {"catalogue": upload}

    def serve(self, _: ReceivedRequest) -> ServerResponse:
        return 200, {"Content-Type": "application/zip"}, self.content

    def fetch(self, csar: Csar) -> Any:
        """Have the service fetch a package; return the package."""
        self.content = csar.read()
        created = self.vnfm.call("POST", PACKAGES, {})
        path = f"{PACKAGES}/{created.json['id']}"
        body = {"addressInformation": f"{self.source.url}/vnf.csar"}
        response = self.vnfm.call(
            "POST", f"{path}/package_content/upload_from_uri", body
        )
        self.assertEqual(202, response.status, str(response.content))
        busy = {"UPLOADING", "PROCESSING"}
        waiting.until(lambda: self.state(path) not in busy, "the upload")
        return self.vnfm.call("GET", path).json

    def test_a_member_uploads_no_management_script(self) -> None:
        path, response = self.put(self.package())
        self.assert_problem(403, response, f"contains code: {SCRIPT}")
        self.assertIn("vnf_packages:upload_code", response.detail)
        self.assertEqual("CREATED", self.state(path))
        self.assertEqual([], list(self.vnfm.parts.catalogue.content.ids()))

    def test_nor_any_python_file(self) -> None:
        """It could run as user data."""
        csar = self.useFixture(Csar(files={"Files/notes.py": "1"}))
        _, response = self.put(csar)
        self.assert_problem(403, response, "Files/notes.py")

    def test_a_member_uploads_a_package_without_code(self) -> None:
        path, response = self.put(self.useFixture(Csar()))
        self.assertEqual(202, response.status, str(response.content))
        self.assertEqual("ONBOARDED", self.state(path))

    def test_managers_administrators_and_services_upload_code(self) -> None:
        for roles in (MANAGER, ("admin",), ("service",)):
            self.vnfm.become(OWNER, *roles)
            path, response = self.put(self.package())
            self.assertEqual(202, response.status, str(response.content))
            self.assertEqual("ONBOARDED", self.state(path))

    def test_a_manager_of_another_project(self) -> None:
        """The package is the target, not the client's project."""
        self.vnfm.write_policy(
            all_projects="role:manager",
            vnf_packages__upload="@",
            vnf_packages__show="@",
        )
        path = f"{PACKAGES}/{self.vnfm.call('POST', PACKAGES, {}).json['id']}"
        self.vnfm.become(UNTRUSTED, *MANAGER)
        zipped = {"Content-Type": "application/zip"}
        response = self.vnfm.call(
            "PUT", f"{path}/package_content", self.package().read(), zipped
        )
        self.assert_problem(403, response, "contains code")

    def test_the_request_to_fetch_a_package_decides(self) -> None:
        fetched = self.fetch(self.package())
        self.assertEqual("CREATED", fetched["onboardingState"])
        problem = fetched["onboardingFailureDetails"]
        self.assertEqual(403, problem["status"])
        self.assertIn(f"contains code: {SCRIPT}", problem["detail"])
        fetched = self.fetch(self.useFixture(Csar()))
        self.assertEqual("ONBOARDED", fetched["onboardingState"])
        self.vnfm.become(OWNER, *MANAGER)
        fetched = self.fetch(self.package())
        self.assertEqual("ONBOARDED", fetched["onboardingState"], fetched)


class TestScriptLog(CodeCase):
    """vnf_lcm_op_occs:script_log."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm.become(OWNER, *MANAGER)
        vnfd_id = self.vnfm.onboard(self.package(PRINTING))
        instance_id = self.vnfm.create(vnfd_id)
        body = {"flavourId": "small", "vimConnectionInfo": VIM}
        self.vnfm.run(instance_id, "instantiate", body)
        self.op_occ = self.vnfm.run(
            instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.path = f"{OP_OCCS}/{self.op_occ['id']}"

    def answers(self) -> list[Any]:
        """Return all representations of the operation with a scriptLog."""
        queries = (
            "",
            f"/{self.op_occ['id']}",
            f"/{self.op_occ['id']}/plan",
            "?all_fields",
            "?fields=scriptLog",
            "?exclude_fields=error",
            "?exclude_default&fields=scriptLog",
            f"?filter=(cont,scriptLog,{SECRET[::-1]})",
            "?filter=(neq,scriptLog,x)&all_fields",
        )
        return [
            self.vnfm.call("GET", OP_OCCS + query).json for query in queries
        ]

    def test_a_manager_reads_it(self) -> None:
        self.assertIn(SECRET[::-1], self.op_occ["scriptLog"])
        for roles in (MANAGER, ("admin",)):
            self.vnfm.become(OWNER, *roles)
            shown = self.vnfm.call("GET", self.path).json
            self.assertIn(SECRET[::-1], shown["scriptLog"])
            query = f"?filter=(cont,scriptLog,{SECRET[::-1]})"
            self.assertEqual(
                1, len(self.vnfm.call("GET", OP_OCCS + query).json)
            )

    def test_no_other_client_does(self) -> None:
        for roles in (("reader",), ("member", "reader"), ("service",)):
            self.vnfm.become(OWNER, *roles)
            text = json.dumps(self.answers())
            self.assertNotIn("scriptLog", text, str(roles))
            self.assertNotIn(SECRET[::-1], text, str(roles))

    def test_a_filter_does_not_guess_it(self) -> None:
        """What it finds does not depend on the log."""
        self.vnfm.become(OWNER, "reader")
        for condition in ("cont", "ncont", "eq", "neq", "in", "nin"):
            found = [
                len(
                    self.vnfm.call(
                        "GET",
                        f"{OP_OCCS}?filter=({condition},scriptLog,{text})",
                    ).json
                )
                for text in (SECRET[::-1], "absent")
            ]
            self.assertEqual(found[0], found[1], condition)

    def test_the_policy_can_allow_it(self) -> None:
        self.vnfm.write_policy(
            vnf_lcm_op_occs__script_log="rule:project_member"
        )
        self.vnfm.become(OWNER, "member")
        self.assertIn("scriptLog", self.vnfm.call("GET", self.path).json)
        self.vnfm.become(OWNER, "reader")
        self.assertNotIn("scriptLog", self.vnfm.call("GET", self.path).json)


class TestInlineVims(CodeCase):
    """vims:inline."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm.write_policy(vims__inline="rule:project_manager")
        vim = {
            "name": "a vim",
            "type": "fake",
            "auth_url": "http://vim.example",
            "auth_cred": {},
        }
        created = self.vnfm.call("POST", "/v1.0/vims", {"vim": vim})
        self.vim_id = created.json["vim"]["id"]
        self.instance_id = self.vnfm.create(
            self.vnfm.onboard(self.useFixture(Csar()))
        )
        self.named = {"vim1": {"vimId": self.vim_id}}

    def assert_forbidden(self, response: Response) -> None:
        self.assert_problem(403, response, "vims:inline")

    def test_each_request_that_names_a_vim(self) -> None:
        inlines: tuple[Any, ...] = (
            FAKE_VIM,
            {"vim1": {"vimType": "fake", "accessInfo": {"username": "a"}}},
            {"vim1": {"vimId": self.vim_id, "accessInfo": {"a": "b"}}},
            {**self.named, "vim2": FAKE_VIM["vim1"]},
        )
        requests: dict[str, dict[str, Any]] = {
            "instantiate": {"flavourId": "simple"},
            "change_ext_conn": {
                "extVirtualLinks": [
                    {"id": "a", "resourceId": "b", "extCps": [POINT]}
                ]
            },
            "change_flavour": {"newFlavourId": "small"},
            "change_vnfpkg": {"vnfdId": "a"},
        }
        for inline, task, query in itertools.product(
            inlines, requests, ("", "?dry_run=true")
        ):
            body = requests[task] | {"vimConnectionInfo": inline}
            self.assert_forbidden(
                self.vnfm.task(self.instance_id, task + query, body)
            )

    def test_a_registered_vim(self) -> None:
        request = {"flavourId": "simple", "vimConnectionInfo": self.named}
        end = self.vnfm.run(self.instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", end["operationState"], end)
        changes: tuple[Any, ...] = (
            {"vim1": {"interfaceInfo": {"endpoint": "http://other.example"}}},
            {"vim1": {"accessInfo": {"password": "a"}}},
        )
        for change in changes:
            body = {"vimConnectionInfo": change}
            self.assert_forbidden(self.vnfm.patch(self.instance_id, body))
        self.vnfm.become(OWNER, *MANAGER)
        body = {"vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.patch(self.instance_id, body)
        self.assertEqual(202, response.status, str(response.content))

    def test_clients_that_may(self) -> None:
        self.vnfm.become(OWNER, *MANAGER)
        request = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        end = self.vnfm.run(self.instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", end["operationState"], end)
