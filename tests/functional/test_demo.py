"""tools/demo on the user's cluster deletes all that it creates."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools
import yaml

from tests.fixtures import waiting
from tests.fixtures.cluster import Cluster

DEMO: Final = Path(__file__).parents[2] / "tools" / "demo.py"
LIMIT_S: Final = 120.0


class TestDemo(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = self.useFixture(Cluster())
        # slow enough to be stopped in the middle of the first operation
        self.cluster.sandbox.set_pod_start_delay(600.0)
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.kubeconfig = folder / "kubeconfig"
        self.namespace = self.cluster.namespace()
        self.use(self.cluster.sandbox.kubeconfig())

    def use(self, kubeconfig: Any) -> None:
        self.kubeconfig.write_text(yaml.safe_dump(kubeconfig))

    def start_demo(self) -> subprocess.Popen[str]:
        demo = subprocess.Popen(
            [
                sys.executable,
                str(DEMO),
                "--json",
                f"--kubeconfig={self.kubeconfig}",
                f"--namespace={self.namespace}",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(demo.wait)
        self.addCleanup(demo.kill)
        return demo

    def objects(self) -> set[tuple[str, str]]:
        return set(self.cluster.objects(self.namespace))

    def check_interrupted(self, number: signal.Signals) -> None:
        before = self.objects()
        demo = self.start_demo()
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
        demo = self.start_demo()
        printed, errors = demo.communicate(timeout=LIMIT_S)
        self.assertEqual(1, demo.returncode, errors)
        result = json.loads(printed)
        states = {one["operation"]: one["state"] for one in result["steps"]}
        self.assertEqual("FAILED", states["register VIM"])
        self.assertIn("POST /v1.0/vims: 4", result["error"])
        self.assertNotIn("cleaned up", result["error"])
        self.assertIn(result["error"], errors)
