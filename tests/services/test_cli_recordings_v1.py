"""Recorded runs of the openstack command with its default version of the
lifecycle API are repeated against the service and its fake driver.

TACKER_CNF_CLI_RECORDINGS_V1 is the path of the recordings; without it the test
is skipped. They were made with a stand-in for the service: what is compared is
the exit status, the sentences, and the rows and columns that are printed.
"""

import json
import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any, Final, cast
from wsgiref import simple_server

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.fake import FakeCall
from tests.fixtures import waiting
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.vnfm import Csar, Vnfm
from tests.services import openstack_command
from tests.services.openstack_command import OpenstackCommand
from tests.services.test_openstack_cli import ACTIVE

RECORDINGS: Final = os.environ.get("TACKER_CNF_CLI_RECORDINGS_V1")
UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNKNOWN_ID: Final = "00000000-0000-4000-8000-000000000000"
CELL: Final = re.compile(r"^\| (\w[^|]*?) +\|", re.MULTILINE)
#: names of the sample VNF -> names in the recorded requests
NAMES: Final = {
    "front_cp": "VDU1_CP1",
    "front_aspect": "worker_instance",
    "quiet": "instantiation_level_1",
    "inside": "internalVL1",
}
SAMPLE: Final = "Definitions/front_and_store_df_simple.yaml"
VNFD_IDS: Final = (
    "b1bb0ce7-ebca-4fa7-95ed-4840d7000321",
    "58bcc1c6-1400-46ec-b7fb-e508bf7e00e9",
)
PACKAGE_ID: Final = "c92757ec-1408-481a-91f7-7f3b2831eb28"
VIM_ID: Final = "c637c425-62e8-432f-94f4-bff8d3323e29"
#: runs whose results differ on purpose
DIFFERENT: Final = {
    "vnflcm subsc create (again: 303)",
    "vnflcm subsc list --filter",
}

#: runs that change the package of an instantiated VNF
PACKAGE_UPDATES: Final = {
    "vnflcm update (vnfdId)",
    "vnflcm update (vnfPkgId)",
}


class QuietHandler(simple_server.WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        """Print nothing."""


class Server(fixtures.Fixture):
    """An HTTP server of an application."""

    def __init__(self, app: Any) -> None:
        super().__init__()
        self._app = app

    def _setUp(self) -> None:
        server = simple_server.make_server(
            "127.0.0.1", 0, self._app, handler_class=QuietHandler
        )
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"


class TestRecordings(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        if RECORDINGS is None:
            self.skipTest("TACKER_CNF_CLI_RECORDINGS_V1 is not set")
        self.command = self.useFixture(OpenstackCommand(self)).path
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.vnfm = self.useFixture(Vnfm())
        driver = self.vnfm.driver
        for kind in ("openstack", "ETSINFV.OPENSTACK_KEYSTONE.V_3"):
            self.vnfm.parts.drivers.install(kind, driver)
        driver.heals_storage = driver.removes_newest = True
        driver.before["apply"] = self.fail_second
        driver.before["replace"] = self.block_slow
        driver.before["destroy"] = self.wait_shown
        #: whether the termination that is shown in progress may go on
        self.shown = threading.Event()
        self.server = self.useFixture(Server(self.vnfm.app))
        self.receiver = self.useFixture(HttpReceiver())
        #: recorded id -> id of this run
        self.ids = {name: name for name in (*VNFD_IDS, UNKNOWN_ID)}
        self.prepare()

    def prepare(self) -> None:
        """Onboard the packages, and register the VIM."""
        text = (Csar.source("vnf") / SAMPLE).read_text()
        for name, recorded in NAMES.items():
            text = re.sub(rf"\b{name}\b", recorded, text)
        for vnfd_id in VNFD_IDS:
            csar = self.useFixture(Csar("vnf", vnfd_id, {SAMPLE: text}))
            self.vnfm.onboard(csar)
        packages = self.vnfm.call("GET", "/vnfpkgm/v1/vnf_packages").json
        self.ids[PACKAGE_ID] = packages[0]["id"]
        vim = {
            "name": "cloud",
            "type": "fake",
            "auth_url": "http://vim.example",
            "auth_cred": {},
            "is_default": True,
        }
        response = self.vnfm.call("POST", "/v1.0/vims", {"vim": vim})
        self.ids[VIM_ID] = response.json["vim"]["id"]

    def fail_second(self, call: FakeCall) -> None:
        if call.task.instance.vnf_instance_name == "vnf1":
            raise errors.NotReady("Went to status ERROR")

    def block_slow(self, call: FakeCall) -> None:
        package_call = call.task.package_call
        if package_call and package_call.request.get("cause") == "slow":
            call.context.cancel_token.wait(60.0)

    def wait_shown(self, call: FakeCall) -> None:
        package_call = call.task.package_call
        if package_call and package_call.operation == "terminate":
            self.assertTrue(self.shown.wait(60.0))

    def test_all_commands(self) -> None:
        assert RECORDINGS is not None
        recordings = json.loads(Path(RECORDINGS).read_text())
        different = []
        for recording in recordings:
            try:
                self.repeat(recording)
            except AssertionError as error:
                different.append(f"{recording['label']}: {error}")
        self.assertEqual([], different)
        self.assertEqual(99, len(recordings))

    def repeat(self, recording: dict[str, Any]) -> None:
        """Run one recorded command, and compare its output."""
        self.write_files(recording)
        label = recording["label"]
        # of a VNF on OpenStack they are refused, which test_version_1 tests
        self.vnfm.driver.heals_storage = label not in PACKAGE_UPDATES
        words = [self.own_ids(word) for word in recording["args"]]
        is_refused = "callback test fails" in label
        self.receiver.status = 404 if is_refused else 204
        done = self.run_command(*words)
        self.learn(recording, done.stdout)
        if label == "vnflcm show (TERMINATE in PROCESSING)":
            self.shown.set()
        is_blocked = "slow" in label or "terminate (default" in label
        if done.returncode == 0 and not is_blocked:
            self.wait_idle()
        if label in DIFFERENT or recording["rc"] == 2:
            self.assertIn(done.returncode, {0, recording["rc"]})
            return
        text = f"{label}: {done.stdout}{done.stderr}"
        self.assertEqual(recording["rc"], done.returncode, text)
        self.compare(recording["out"], done.stdout, label)
        self.assertEqual(bool(recording["err"]), bool(done.stderr), text)

    def write_files(self, recording: dict[str, Any]) -> None:
        names = [w for w in recording["args"] if w.endswith(".json")]
        requests = [r for r in recording["requests"] if r["body"]]
        for name in names:
            body = requests[-1]["body"] if requests else None
            if body and "--additional-param-file" in recording["args"]:
                body = {"additionalParams": body["additionalParams"]}
            text = self.own_ids(json.dumps(body)) if body else ""
            text = text.replace("http://127.0.0.1:9893", self.receiver.url)
            text = text.replace('"failing"', '"simple"')
            (self.folder / name).write_text(text)

    def own_ids(self, text: str) -> str:
        """Replace recorded ids by those of this run."""
        if text and UUID.fullmatch(text) and text not in self.ids:
            self.ids[text] = self.newest_operation()
        return UUID.sub(lambda m: self.ids.get(m[0], m[0]), text)

    def newest_operation(self) -> str:
        found = self.vnfm.call("GET", "/vnflcm/v1/vnf_lcm_op_occs").json
        return str(found[-1]["id"])

    def learn(self, recording: dict[str, Any], output: str) -> None:
        """Learn the ids of what a command created or showed."""
        words, requests = recording["args"], recording["requests"]
        if recording["rc"] != 0 or not requests:
            return
        if "create" in words:
            # that of a subscription follows the ids in its filter
            id_line = re.search(rf"\bID\b\W+({UUID.pattern})", output)
            assert id_line is not None, output
            self.ids[requests[0]["resp"]["id"]] = id_line[1]
        if words[1] == "show" and "-f" in words:
            for one, other in zip(
                _vnfcs(recording["out"]), _vnfcs(output), strict=True
            ):
                self.ids[one] = other
        if words[1:3] == ["op", "list"] and "-f" in words:
            one, other = json.loads(recording["out"]), json.loads(output)
            for entry, own in zip(one, other, strict=False):
                self.ids[entry["ID"]] = own["ID"]

    def wait_idle(self) -> None:
        def is_idle() -> bool:
            found = self.vnfm.call("GET", "/vnflcm/v1/vnf_lcm_op_occs").json
            return not {one["operationState"] for one in found} & ACTIVE

        waiting.until(is_idle, "the operation", 60.0)

    def run_command(self, *words: str) -> subprocess.CompletedProcess[str]:
        environ = {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": self.server.url}
        command = [str(self.command), *words]
        return openstack_command.run(command, environ, self.folder)

    def compare(self, recorded: str, found: str, label: str) -> None:
        """Compare sentences, and the rows and columns of values."""
        if recorded.startswith("+"):
            self.assertEqual(_titles(recorded), _titles(found), label)
        elif "{" in recorded or "[" in recorded:
            self.assertEqual(_shape(recorded), _shape(found), label)
        else:
            self.assertEqual(self.own_ids(recorded), found, label)


def _vnfcs(output: str) -> list[str]:
    info = json.loads(output).get("Instantiated Vnf Info") or {}
    found = cast("list[Any]", info.get("vnfcResourceInfo", ()))
    return [vnfc["id"] for vnfc in sorted(found, key=lambda v: v["vduId"])]


def _titles(table: str) -> list[str]:
    """Return the columns of a table, or the rows if its columns are field and
    value.
    """
    header = [cell.strip() for cell in table.splitlines()[1].split("|")]
    rows = [name for name in CELL.findall(table) if name != "metadata"]
    return rows if "Field" in header else header


def _shape(output: str) -> Any:
    """Return the sentences before JSON, and the rows or columns in it."""
    start = min(i for i in map(output.find, "{[") if i >= 0)
    value = json.loads(output[start:])
    before = UUID.sub("ID", output[:start])
    if isinstance(value, dict):
        # the fake driver sets no tenant
        return before, [name for name in value if name != "metadata"]
    return before, [list(entry) for entry in value]
