"""tools/demo on the user's cluster shows what it should, and deletes all that
it creates.
"""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools
import yaml

from tests.fixtures import waiting
from tests.fixtures.cluster import Cluster
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.sandbox import best_isolation
from tools.lifecycle_demo.rest import STATE, ApiClient

DEMO: Final = Path(__file__).parents[2] / "tools" / "demo.py"
LIMIT_S: Final = 120.0
#: seconds in which a pod of an operation starts, so that its conductor is
#: killed before
POD_START_DELAY_S: Final = 1.0
NOT_ISOLATED: Final = "tools/sandbox: scripts of VNF packages run with .*\n"
OP_OCC: Final = "an-op-occ"
PROGRESS: Final = (
    "event: OperationProgress\n"
    f'data: {{"vnfLcmOpOccId":"{OP_OCC}","timeline":[{{"step":"INFRA"}}]}}\n\n'
)


def event(number: int, state: str) -> str:
    """Build an event of the operation's state."""
    data = json.dumps({"vnfLcmOpOccId": OP_OCC, "operationState": state})
    return f"id: {number}\nevent: {STATE}\ndata: {data}\n\n"


class DemoCase(testtools.TestCase):
    #: seconds
    pod_start_delay = POD_START_DELAY_S

    def setUp(self) -> None:
        super().setUp()
        self.cluster = self.useFixture(Cluster())
        self.cluster.sandbox.set_pod_start_delay(self.pod_start_delay)
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.kubeconfig = self.folder / "kubeconfig"
        self.namespace = self.cluster.namespace()
        self.use(self.cluster.sandbox.kubeconfig())

    def use(self, kubeconfig: Any) -> None:
        self.kubeconfig.write_text(yaml.safe_dump(kubeconfig))

    def start_demo(
        self, *options: str, stdout: Any = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        demo = subprocess.Popen(
            [
                sys.executable,
                str(DEMO),
                *options,
                f"--kubeconfig={self.kubeconfig}",
                f"--namespace={self.namespace}",
            ],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(demo.wait)
        self.addCleanup(demo.kill)
        return demo

    def objects(self) -> set[tuple[str, str]]:
        return set(self.cluster.objects(self.namespace))


class TestStory(DemoCase):
    def start_printing(self, *options: str) -> subprocess.Popen[str]:
        """Start a demo that prints to a file."""
        self.before = self.objects()
        self.printed = self.folder / "printed"
        with self.printed.open("w") as file:
            return self.start_demo(*options, stdout=file)

    def find_printed(self, pattern: str) -> str:
        """Wait for a line with a pattern; return its group."""
        found = waiting.until(
            lambda: re.search(pattern, self.printed.read_text(), re.MULTILINE),
            pattern,
            LIMIT_S,
        )
        return found[1]

    def read(self, url: str) -> str:
        with urllib.request.urlopen(url, timeout=LIMIT_S) as page:  # noqa: S310
            return str(page.read().decode())

    def operations(self) -> Iterator[dict[str, Any]]:
        """Yield the states of all operations until the service ends."""
        api = self.find_printed(r"^tacker_cnf at (\S+),")
        url = f"{api}/events?type={STATE}"
        with urllib.request.urlopen(url, timeout=LIMIT_S) as stream:  # noqa: S310
            for line in stream:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

    def test_it_ends_with_a_rollback_and_a_takeover(self) -> None:
        demo = self.start_printing()
        events = list(self.operations())
        _, errors = demo.communicate(timeout=LIMIT_S)
        if best_isolation() == "none":
            errors = re.sub(NOT_ISOLATED, "", errors)
        self.assertEqual((0, ""), (demo.returncode, errors))
        self.assertEqual(self.before, self.objects())
        self.check_rollback(
            [e for e in events if e["operation"] == "CHANGE_VNFPKG"]
        )
        self.check_takeover(
            [e for e in events if e["operation"] == "HEAL"][-1]
        )
        text = self.printed.read_text()
        self.assertNotIn("\x1b", text)
        for pattern in (
            r"^      pods      web 1 -> 3$",
            r"^      created   web-\S+, web-\S+$",
            r"^      error     Pod web-\S+ is not ready: ImagePullBackOff",
            r"^      before    the same 7 pods",
            r"^  delete +DELETED ",
        ):
            self.assertRegex(text, f"(?m){pattern}")

    def check_rollback(self, events: list[dict[str, Any]]) -> None:
        states = [event["operationState"] for event in events]
        self.assertEqual(
            ["STARTING", "PROCESSING", "FAILED_TEMP", "ROLLING_BACK"],
            states[:-1],
        )
        self.assertEqual("ROLLED_BACK", states[-1])
        self.assertIn("ImagePullBackOff", events[2]["error"]["detail"])

    def check_takeover(self, event: dict[str, Any]) -> None:
        self.assertEqual("COMPLETED", event["operationState"])
        self.assertNotIn("error", event)
        self.assertEqual(2, event["timeline"][-1]["attempt"])
        changes = Counter(
            (one["changeType"], one["vduId"]) for one in event["affectedVnfcs"]
        )
        replaced = {"agent": 2, "cache": 1, "probe": 1, "store": 1, "web": 2}
        self.assertEqual(
            {
                (change, vdu): count
                for change in ("ADDED", "REMOVED")
                for vdu, count in replaced.items()
            },
            changes,
        )
        killed = self.find_printed(r"^      SIGKILL   conductor (\d+), ")
        successor = self.find_printed(r"^      takeover  conductor (\d+) ")
        self.assertNotEqual(killed, successor)

    def test_the_story_of_the_web_page_ends_with_ctrl_c(self) -> None:
        demo = self.start_printing("--ui")
        api = self.find_printed(r"^Web page: (\S+)/ui/ ")
        for event in self.operations():
            if event["operation"] == "SCALE":
                self.assertIn(">demo</a>", self.read(f"{api}/ui/"))
                op_occ_id = event["vnfLcmOpOccId"]
                page = self.read(f"{api}/ui/vnf_lcm_op_occs/{op_occ_id}")
                self.assertIn("Timeline", page)
                demo.send_signal(signal.SIGINT)
                break
        self.assertEqual(api, self.find_printed(r"^tacker_cnf at (\S+),"))
        _, errors = demo.communicate(timeout=LIMIT_S)
        self.assertEqual(0, demo.returncode, errors)
        self.assertEqual(self.before, self.objects())


class TestOperationEvents(testtools.TestCase):
    """A stream of events that ends, as it does after some minutes."""

    def setUp(self) -> None:
        super().setUp()
        self.peer = self.useFixture(HttpReceiver())
        self.peer.responder = self.respond
        self.streams = [
            "retry: 1000\n\n" + event(7, "STARTING"),
            ": keep-alive\n\n" + PROGRESS + "id: 8\ndata: {",
        ]
        self.state = "PROCESSING"

    def respond(self, request: ReceivedRequest) -> Response:
        if not request.path.startswith("/events"):
            body = json.dumps({"operationState": self.state})
            return 200, {}, body.encode()
        return 200, {}, self.streams.pop(0).encode()

    def follow(self) -> list[Any]:
        events = ApiClient(self.peer.url).follow("an-instance")
        return list(events.until_ended(f"{self.peer.url}/op_occs/{OP_OCC}"))

    def last_ids(self) -> list[str | None]:
        return [
            request.headers["Last-Event-ID"]
            for request in self.peer.requests
            if request.path.startswith("/events")
        ]

    def test_it_is_continued_until_the_operation_has_ended(self) -> None:
        self.streams.append(event(8, "COMPLETED"))
        self.assertEqual([[{"step": "INFRA"}]], self.follow())
        self.assertEqual([None, "7", "7"], self.last_ids())

    def test_the_end_may_have_been_missed(self) -> None:
        self.state = "FAILED_TEMP"
        self.assertEqual([], self.follow())
        self.assertEqual([None, "7"], self.last_ids())


class TestEnds(DemoCase):
    # slow enough to be stopped in the middle of the first operation
    pod_start_delay = 600.0

    def check_interrupted(self, number: signal.Signals) -> None:
        before = self.objects()
        demo = self.start_demo("--json")
        waiting.until(
            lambda: self.objects() - before, "an object of the demo", LIMIT_S
        )
        demo.send_signal(number)
        printed, errors = demo.communicate(timeout=LIMIT_S)
        self.assertEqual(128 + number, demo.returncode, errors)
        result = json.loads(printed)
        self.assertEqual(f"Interrupted by {number.name}", result["error"])
        self.assertEqual(
            {"operation": "instantiate", "state": "FAILED"},
            {k: result["steps"][-1][k] for k in ("operation", "state")},
        )
        self.assertEqual(before, self.objects())

    def test_its_objects_are_deleted_at_sigterm(self) -> None:
        self.check_interrupted(signal.SIGTERM)

    def test_its_objects_are_deleted_at_ctrl_c(self) -> None:
        self.check_interrupted(signal.SIGINT)

    def test_a_failure_is_printed_as_json(self) -> None:
        refused = self.cluster.sandbox.kubeconfig()
        refused["users"][0]["user"] = {"token": "wrong"}
        self.use(refused)
        demo = self.start_demo("--json")
        printed, errors = demo.communicate(timeout=LIMIT_S)
        self.assertEqual(1, demo.returncode, errors)
        result = json.loads(printed)
        states = {one["operation"]: one["state"] for one in result["steps"]}
        self.assertEqual("FAILED", states["register VIM"])
        self.assertIn("POST /v1.0/vims: 4", result["error"])
        self.assertNotIn("cleaned up", result["error"])
        self.assertIn(result["error"], errors)
