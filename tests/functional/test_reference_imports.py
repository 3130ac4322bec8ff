"""Packages whose code imports the reference implementation."""

import random
from typing import Any, ClassVar

from tests.fixtures import reference_scripts
from tests.fixtures.vnfm import Csar
from tests.functional.test_packages import PackageTest
from tests.functional.test_scripts import FLAVOUR, SCRIPT, flavour_with_scripts

USER_DATA = "UserData/own.py"
PROVIDED = """
from tacker.common import config
from tacker.sol_refactored.common import coord_client, exceptions
config.init()
"""
MISSING = (
    "from tacker.db import api\nfrom tacker.common import config\napi()\n"
)


class TestReferenceImports(PackageTest):
    def onboard(self, **files: str) -> Any:
        """Upload a package with files; return the response and what is shown."""
        path = self.create_package()
        csar = self.useFixture(Csar(files=files))
        response = self.upload(path, csar.read())
        return response, self.call("GET", path).json

    def onboard_script(self, text: str, hook: str = "heal_end") -> Any:
        files = {SCRIPT: text, FLAVOUR: flavour_with_scripts(hook)}
        return self.onboard(**files)

    def test_scripts_that_can_import_their_modules(self) -> None:
        for text in (PROVIDED, "import os\nos.getpid()"):
            response, shown = self.onboard_script(text)
            self.assertEqual(202, response.status, response.content)
            self.assertNotIn("warnings", shown)

    def test_scripts_that_cannot_are_rejected(self) -> None:
        response, shown = self.onboard_script(MISSING)
        self.assert_problem(
            400,
            response,
            f"{SCRIPT}, the script of heal_end, imports tacker.db.api, which "
            "are not installed here; of Tacker, scripts can import "
            "tacker.common.config, ",
        )
        self.assertEqual("CREATED", shown["onboardingState"])

    def test_scripts_that_only_define_a_class_are_rejected(self) -> None:
        text = "from tacker.db import api\nclass Driver(api.Base): pass\n"
        response, _ = self.onboard_script(text)
        self.assert_problem(
            400,
            response,
            "has to end with a call such as Driver.main(); Tacker would call "
            "it, as it imports tacker.db.api",
        )

    def test_scripts_that_are_replaced(self) -> None:
        response, shown = self.onboard_script(
            reference_scripts.UPDATE_TEXT, "modify_information_end"
        )
        self.assertEqual(202, response.status, response.content)
        self.assertNotIn("warnings", shown)

    def test_other_code_results_in_a_warning(self) -> None:
        response, shown = self.onboard(**{USER_DATA: MISSING})
        self.assertEqual(202, response.status, response.content)
        self.assertEqual(
            [f"{USER_DATA} imports tacker.db.api: requests that run it fail"],
            shown["warnings"],
        )

    def test_a_limited_amount_of_code_is_checked(self) -> None:
        numbers = random.Random(20261125)  # noqa: S311
        long = f"{MISSING}# {numbers.randbytes(1024**2).hex()}"
        response, shown = self.onboard(
            **{"UserData/long.py": long, USER_DATA: MISSING}
        )
        self.assertEqual(202, response.status, response.content)
        (warning,) = shown["warnings"]
        self.assertIn(USER_DATA, warning)


class TestWithoutReplacements(TestReferenceImports):
    options: ClassVar[dict[str, Any]] = {
        "scripts": {"replace_reference_drivers": False}
    }

    def test_scripts_that_are_replaced(self) -> None:
        response, _ = self.onboard_script(
            reference_scripts.UPDATE_TEXT, "modify_information_end"
        )
        self.assert_problem(400, response, "which are not installed here")
