"""The sample packages of Tacker.

TACKER_CNF_REFERENCE_SOURCE is the directory of its unpacked source
distribution; without it tests are skipped.
"""

import os
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Final

import fixtures
import testtools

from tests.fixtures import reference_packages
from tests.fixtures.reference_packages import Onboarding, ReferencePackages
from tests.fixtures.vnfm import SAMPLES, Vnfm

SOURCE: Final = os.environ.get("TACKER_CNF_REFERENCE_SOURCE")
PAGE: Final = SAMPLES.parent / "doc/source/user/coming-from-tacker.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: bash\n\n((?:   .*\n|\n)+)", re.MULTILINE
)
CLUSTERS: Final = (
    "mgmt_driver/kubernetes/kubernetes_vnf_package",
    "mgmt_driver/kubernetes/sol_v2_kubernetes_vnf_package/contents",
)
#: hooks that Tacker's VNFDs do not name
ADDED_HOOKS: Final = re.compile(
    r"          (instantiate|scale_rollback|terminate)_(start|end):\n.*\n"
)
SCRIPT: Final = """\
from tacker.common import cmd_executer
from tacker.sol_refactored import objects

cmd_executer.run(objects)
"""


def a_cluster_package() -> dict[str, bytes]:
    """Return the sample cluster with names and a script as Tacker has them."""
    folder = SAMPLES / "kubernetes-cluster"
    files = reference_packages.files_below(folder)
    name = "Definitions/kubernetes_cluster_df_simple.yaml"
    text = ADDED_HOOKS.sub("", files[name].decode())
    text = text.replace("kubernetes_cluster.py", "kubernetes_mgmt_v2.py")
    text = re.sub(r"\bkubernetes_cluster\b", "mgmt-drivers-kubernetes", text)
    files[name] = text.encode()
    files["Scripts/kubernetes_mgmt_v2.py"] = SCRIPT.encode()
    del files["Scripts/kubernetes_cluster.py"]
    return files


class TestReferencePackages(testtools.TestCase):
    def require_source(self) -> Path:
        if SOURCE is None:
            self.skipTest("TACKER_CNF_REFERENCE_SOURCE is not set")
        return Path(SOURCE)

    def test_the_user_guide_says_which_are_onboarded(self) -> None:
        table = reference_packages.table(self.require_source())
        self.assertEqual(reference_packages.TABLE.read_text(), table)

    def test_a_cluster_is_moved_as_the_user_guide_says(self) -> None:
        self.check_move(a_cluster_package())

    def test_clusters_of_tacker_are_moved_as_the_user_guide_says(self) -> None:
        packages = ReferencePackages(self.require_source())
        for name in CLUSTERS:
            self.check_move(packages.files(name))

    def check_move(self, files: dict[str, bytes]) -> None:
        """Check that the commands of the user guide repair a package."""
        onboarding = Onboarding(self.useFixture(Vnfm()))
        corrected = reference_packages.packed(
            reference_packages.repaired(files)
        )
        self.assertIn("imports tacker.", onboarding.error(corrected))
        self.assertEqual("", onboarding.error(self.move(files)))
        self.assertEqual([], onboarding.warnings)

    def move(self, files: dict[str, bytes]) -> bytes:
        """Run the commands in the directory of a package; return what they
        build.
        """
        parent = Path(self.useFixture(fixtures.TempDir()).path)
        folder = parent / "package"
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        (block,) = BLOCK.findall(PAGE.read_text())
        subprocess.run(
            ["bash", "-euc", textwrap.dedent(block)],
            cwd=folder,
            env=os.environ | {"TACKER_CNF": str(SAMPLES.parent)},
            check=True,
            timeout=60,
        )
        return (parent / "cluster.csar").read_bytes()
