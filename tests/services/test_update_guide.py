"""Updates of a CNF by the openstack command, as the user guide types them."""

import os
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Final

import fixtures
import testtools

from tests.services import openstack_command
from tests.services.openstack_command import ROOT, OpenstackCommand
from tests.services.test_openstack_cli import Sandbox

PAGE: Final = ROOT / "doc" / "source" / "user" / "cnf-update.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: bash\n\n((?:   .*\n|\n)+)", re.MULTILINE
)
ENDPOINT: Final = "http://127.0.0.1:9890"
TOOLS: Final = ("kubectl", "jq", "curl")


class GuideCase(testtools.TestCase):
    #: number of nodes of the cluster
    nodes = 2

    def setUp(self) -> None:
        super().setUp()
        self.command = self.useFixture(OpenstackCommand(self)).folder
        self.sandbox = self.useFixture(
            Sandbox(pod_start_delay=0, nodes=self.nodes)
        )
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        (self.folder / "samples").symlink_to(ROOT / "samples")
        (self.folder / "sandbox").symlink_to(self.sandbox.folder / "state")

    def run_script(self, script: str) -> str:
        """Run commands as a reader of the page does; return their output."""
        environ = openstack_command.inherited_environ()
        environ["PATH"] = f"{self.command}:{environ['PATH']}"
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def commands(self) -> str:
        """Return all commands of the page, for this sandbox."""
        text = PAGE.read_text()
        blocks = map(textwrap.dedent, BLOCK.findall(text))
        script = "\n".join(blocks)
        self.assertIn(ENDPOINT, script)
        return script.replace(ENDPOINT, self.sandbox.facts["api"])

    def table(self, name: str) -> dict[str, list[list[str]]]:
        """Read a table of pods: VDU -> name, uid, image, restarts of each."""
        _, *lines = (self.folder / name).read_text().splitlines()
        found: dict[str, list[list[str]]] = {}
        for line in lines:
            vdu, *columns = line.split()
            found.setdefault(vdu, []).append(columns)
        return found


class TestPage(GuideCase):
    def test_every_command(self) -> None:
        for tool in TOOLS:
            if not any(
                (Path(place) / tool).exists()
                for place in os.environ["PATH"].split(":")
            ):
                self.skipTest(f"{tool} is not installed")
        output = self.run_script(self.commands())
        self.assertNotIn("FAILED", output)
        self.assertIn("Good morning", output)
        self.assertIn("Updating ConfigMap update-config", output)
        self.check_tables()
        self.assertIn("updated", output)

    def check_tables(self) -> None:
        before, after = self.table("before.txt"), self.table("after.txt")
        self.assertEqual(7, len(before))
        for vdu in ("front", "store", "agent", "cache", "tool"):
            old = {uid for _, uid, *_ in before[vdu]}
            new = {uid for _, uid, *_ in after[vdu]}
            self.assertEqual(set(), old & new, vdu)
        self.assertEqual(before["idle"], after["idle"])
        (before_row,), (after_row,) = before["probe"], after["probe"]
        self.assertEqual([*before_row[:2], "busybox:1.38", "1"], after_row)
        healed = self.table("healed.txt")
        self.assertEqual(2, len(healed["front"]))
        images = {image for _, _, image, _ in healed["front"]}
        self.assertEqual({"nginx:1.28"}, images)
        changed = self.table("changed.txt")
        images = {image for _, _, image, _ in changed["front"]}
        self.assertEqual({"nginx:1.27"}, images)
        self.assertEqual(healed["tool"], changed["tool"])
