"""Scripts of the reference implementation that are replaced."""

from pathlib import Path

import fixtures
import testtools

from tacker_cnf.scripts import compat

IMPORT = (
    "from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes"
)
CLASS = """
class ContainerUpdateMgmtDriver(kubernetes.Kubernetes):
    def modify_information_end(self):
        pass
"""
OURS = "tacker_cnf.mgmt_drivers.container_update"


class CompatScriptTest(testtools.TestCase):
    def replacement_module(
        self, text: str, name: str = "script.py"
    ) -> str | None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        (folder / name).write_text(text)
        return compat.replacement_module(folder / name)

    def test_a_driver_of_the_reference_is_replaced(self) -> None:
        for name in ("container_update_mgmt_v2.py", "update.py"):
            self.assertEqual(
                OURS, self.replacement_module(IMPORT + CLASS, name)
            )

    def test_other_scripts_are_not_replaced(self) -> None:
        for text in (
            "",
            "no Python",
            "import kubernetes" + CLASS,
            "import tacker_cnf" + CLASS,
            IMPORT,
            IMPORT + CLASS.replace("Container", "Vendor"),
            IMPORT + CLASS.replace("information_end", "information"),
        ):
            name = "container_update_mgmt_v2.py"
            self.assertIsNone(self.replacement_module(text, name), text)
