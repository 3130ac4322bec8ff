"""Scripts that would do nothing, and scripts that are replaced."""

import dataclasses
from typing import Any

from tests.fixtures.vnfm import Csar
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    ScriptCase,
    flavour_with_scripts,
)

IDLE = """\
class Driver:
    def instantiate_end(self, script_input):
        raise SystemExit("It ran")
"""


class TestEntryPoint(ScriptCase):
    hooks = ("instantiate_end",)

    def test_a_class_that_is_never_used_is_refused(self) -> None:
        files = {
            SCRIPT: IDLE,
            FLAVOUR: flavour_with_scripts("instantiate_end"),
        }
        csar = self.useFixture(Csar(files=files))
        package = self.vnfm.call("POST", "/vnfpkgm/v1/vnf_packages", {})
        path = f"/vnfpkgm/v1/vnf_packages/{package.json['id']}/package_content"
        zipped = {"Content-Type": "application/zip"}
        response = self.vnfm.call("PUT", path, csar.read(), zipped)
        self.assertEqual(400, response.status, str(response.content))
        self.assertIn(f"{SCRIPT} defines Driver and never", response.detail)
        self.assertIn("Driver.main()", response.detail)

    def instantiate_failing(self, script: str, **more: str) -> str:
        end: Any = self.instantiate(self.instance(script, **more))
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        return str(end["error"]["detail"])

    def test_an_imported_class_that_is_never_used_fails(self) -> None:
        detail = self.instantiate_failing(
            "from impl import Driver", **{"impl.py": IDLE}
        )
        self.assertIn("Driver: defined or imported, but never", detail)
        hidden = "try:\n    import impl\nexcept OSError:\n    pass\nelse:\n"
        hidden += "    from impl import *\n"
        self.assertIn(
            "Driver: defined",
            self.instantiate_failing(
                hidden, **{"impl.py": f"LOG = None\n{IDLE}"}
            ),
        )

    def test_a_script_that_acts_is_accepted(self) -> None:
        acts = f"open({str(self.inputs_path)!r}, 'w').close()"
        for script, more in (
            (f"def a_start():\n    {acts}\na_start()", ""),
            ("from impl import done, Driver", f"{IDLE}\ndone = {acts}"),
            (f"exec({f'{acts};x=1'!r})\nfrom impl import Driver", IDLE),
        ):
            self.inputs_path.unlink(missing_ok=True)
            end = self.instantiate(self.instance(script, **{"impl.py": more}))
            self.assertEqual("COMPLETED", end["operationState"], end)
            self.assertTrue(self.inputs_path.exists())

    def test_a_script_that_reads_its_input_is_accepted(self) -> None:
        script = f"import sys\nsys.stdin.read()\n{IDLE}\nprint(end='')"
        end = self.instantiate(self.instance(script))
        self.assertEqual("COMPLETED", end["operationState"], end)

    def test_a_script_without_hooks_need_not_read_its_input(self) -> None:
        script = f"open({str(self.inputs_path)!r}, 'w').close()"
        end = self.instantiate(self.instance(script))
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertTrue(self.inputs_path.exists())


class TestVendors(ScriptCase):
    hooks = ("instantiate_end",)
    script = "Scripts/container_update_mgmt_v2.py"

    def create_instantiated(self, text: str) -> Any:
        flavour = flavour_with_scripts(*self.hooks)
        files = {
            self.script: text,
            FLAVOUR: flavour.replace(SCRIPT, self.script),
        }
        csar = self.useFixture(Csar(files=files))
        return self.instantiate(self.vnfm.create(self.vnfm.onboard(csar)))

    def test_a_file_name_alone_replaces_nothing(self) -> None:
        end = self.create_instantiated(
            f"open({str(self.inputs_path)!r}, 'w').close()"
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertTrue(self.inputs_path.exists())

    def test_replaced_scripts_are_logged_and_can_be_disabled(self) -> None:
        text = f"open({str(self.inputs_path)!r}, 'w').close()\n"
        text += "try:\n    import tacker\nexcept ImportError:\n    pass\n"
        text += "class ContainerUpdateMgmtDriver:\n"
        text += "    def modify_information_end(self): pass\n"
        text += "import sys\nsys.stdin.read()\n"
        end = self.create_instantiated(text)
        # the built-in driver has no such hook
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn(
            f"{self.script}: replaced by tacker_cnf.mgmt_drivers."
            "container_update",
            end["scriptLog"],
        )
        self.assertFalse(self.inputs_path.exists())
        conductor = self.vnfm.conductor
        conductor._script_limits = dataclasses.replace(
            conductor._script_limits, replace_reference_drivers=False
        )
        self.vnfm.decide(end["id"], "retry")
        self.assertTrue(self.inputs_path.exists())
