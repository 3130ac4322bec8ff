"""The cluster runs in a process and stops on SIGTERM."""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import testtools


class TestMain(testtools.TestCase):
    def test_runs_until_sigterm(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        config = Path(folder, "config")
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "kubernetes_sandbox",
                "--nodes=1",
                f"--kubeconfig={config}",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None
            line = process.stdout.readline()
            server = json.loads(config.read_text())["clusters"][0]["cluster"]
            self.assertIn(server["server"], line)
            self.assertEqual(0o600, config.stat().st_mode & 0o777)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(0, process.wait(60))
