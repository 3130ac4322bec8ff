"""Updates of a CNF by the openstack command: the page of the user guide, and
third-party packages.
"""

import os
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Final

import fixtures
import testtools

from tests.services.openstack_command import ROOT, OpenstackCommand
from tests.services.test_openstack_cli import Sandbox
from tests.services.test_third_party_packages import SOURCES, RealPackage

PAGE: Final = ROOT / "doc" / "source" / "user" / "cnf-update.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: bash\n\n((?:   .*\n|\n)+)", re.MULTILINE
)
ENDPOINT: Final = "http://127.0.0.1:9890"
TOOLS: Final = ("kubectl", "jq", "curl")


class GuideCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.command = self.useFixture(OpenstackCommand(self)).folder
        self.sandbox = self.useFixture(Sandbox(pod_start_delay=0))
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        (self.folder / "samples").symlink_to(ROOT / "samples")
        (self.folder / "sandbox").symlink_to(self.sandbox.folder / "state")

    def run_script(self, script: str) -> str:
        """Run commands as a reader of the page does; return their output."""
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("OS_")
        }
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


BEFORE: Final = "test_cnf_container_update_before"
AFTER: Final = "test_cnf_container_update_after"
#: VNFD id of the second package: both have the same
NEW_VNFD: Final = "58bcc1c6-1400-46ec-b7fb-e508bf7e00e9"
MANIFESTS: Final = "Files/kubernetes"
UPDATE: Final = f"""
cat >update.json <<'END'
{{
  "vnfdId": "{NEW_VNFD}",
  "vnfInstanceName": "modify_vnf_after",
  "metadata": {{
    "configmap_secret_paths": [
      "{MANIFESTS}/configmap_2.yaml",
      "{MANIFESTS}/secret_2.yaml"
    ]
  }}
}}
END
openstack vnflcm update $VNF --I update.json
ended
pods >after.txt
"""


class TestContainerUpdatePackages(GuideCase):
    """The steps of the page, with the packages of Tacker's own tests."""

    def test_update(self) -> None:
        if SOURCES is None:
            self.skipTest("TACKER_CNF_REAL_PACKAGES is not set")
        source = Path(SOURCES)
        if not (source / BEFORE).is_dir():
            self.skipTest(f"{source / BEFORE} does not exist")
        before = self.useFixture(RealPackage(source / BEFORE))
        after = self.useFixture(RealPackage(source / AFTER, NEW_VNFD))
        self.assertNotEqual(NEW_VNFD, before.vnfd_id)
        first = self.commands().split("cat >update.json")[0]
        changed = {
            "samples/build.py samples/cnf-update-before before.csar": (
                f"cp {before.path} before.csar"
            ),
            "samples/build.py samples/cnf-update-after after.csar": (
                f"cp {after.path} after.csar"
            ),
            "get configmap update-config": "get configmap cm-data",
        }
        for old, new in changed.items():
            self.assertIn(old, first)
            first = first.replace(old, new)
        files = [f'"{MANIFESTS}/{name}"' for name in before.files()]
        first = re.sub(
            r'("lcm-kubernetes-def-files": \[)[^]]*',
            lambda m: m[1] + ",".join(files),
            first,
        )
        output = self.run_script(first + UPDATE)
        self.assertNotIn("FAILED", output)
        self.check()

    def check(self) -> None:
        before, after = self.table("before.txt"), self.table("after.txt")
        for vdu in ("VDU1", "VDU2", "VDU5"):
            old = {tuple(row[:2]) for row in before[vdu]}
            new = {tuple(row[:2]) for row in after[vdu]}
            self.assertEqual(len(old), len(new), vdu)
            for column in (0, 1):  # neither a name nor a uid is left
                names = {one[column] for one in old} & {
                    one[column] for one in new
                }
                self.assertEqual(set(), names, vdu)
        for vdu, image in (("VDU3", "tomcat"), ("VDU4", "cirros")):
            (before_row,), (after_row,) = before[vdu], after[vdu]
            self.assertEqual([*before_row[:2], image, "1"], after_row)
        for vdu in ("VDU6", "VDU7", "VDU8"):
            self.assertEqual(before[vdu], after[vdu])
        self.assertEqual("cirros", after["VDU1"][0][2])
        self.assertEqual("nginx", after["VDU2"][0][2])
