"""The modules of the reference implementation that code can import."""

import importlib
import pkgutil
import sys
from pathlib import Path

import fixtures
import testtools

from tacker_cnf.scripts import compat_modules
from tacker_cnf.scripts.compat_modules import SCRIPT_MODULES
from tacker_cnf.user_data.compat import MODULES

COMMON = "tacker.sol_refactored.common"


class TestInstall(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        finders = list(sys.meta_path)
        self.addCleanup(sys.meta_path.__setitem__, slice(None), finders)
        self.addCleanup(self.forget_modules)

    def forget_modules(self) -> None:
        for name in list(sys.modules):
            if name.partition(".")[0] == "tacker":
                del sys.modules[name]

    def test_all_modules_have_their_attributes(self) -> None:
        compat_modules.install(MODULES)
        for name, attributes in MODULES.items():
            module = importlib.import_module(name)
            for attribute, place in attributes.items():
                found = getattr(module, attribute)
                self.assertIs(pkgutil.resolve_name(place), found)

    def test_other_modules_are_not_found(self) -> None:
        compat_modules.install(SCRIPT_MODULES)
        self.assertEqual([], importlib.import_module("tacker.common").__path__)
        for name in ("tacker.db", f"{COMMON}.common_script_utils", "tacke"):
            self.assertRaises(
                ModuleNotFoundError, importlib.import_module, name
            )

    def test_installed_modules_precede(self) -> None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        (folder / "tacker" / "common").mkdir(parents=True)
        (folder / "tacker" / "common" / "config.py").write_text("own = 1")
        self.useFixture(
            fixtures.MonkeyPatch("sys.path", [*sys.path, str(folder)])
        )
        compat_modules.install(SCRIPT_MODULES)
        self.assertEqual(
            1, importlib.import_module("tacker.common.config").own
        )


class TestMissing(testtools.TestCase):
    def missing(self, text: str) -> tuple[str, ...]:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        (folder / "script.py").write_text(text)
        return compat_modules.missing(folder / "script.py", SCRIPT_MODULES)

    def test_nothing_is_missing(self) -> None:
        for text in (
            "",
            "no Python",
            "import os, tackerclient",
            "from tacker.common import config",
            "import tacker.common.config",
            "from tacker.common.config import init",
            f"from {COMMON} import coord_client, exceptions as sol_ex",
            f"from {COMMON}.exceptions import SolException",
            "import tacker",
            "def main():\n    from tacker.db import api",
            "try:\n    import tacker.db\nexcept ImportError:\n    pass",
        ):
            self.assertEqual((), self.missing(text), text)

    def test_modules_and_attributes_are_named(self) -> None:
        for text, *expected in (
            ("from tacker.db import api", "tacker.db.api"),
            ("import tacker.db.api as db", "tacker.db.api"),
            (
                "from tacker.common.config import CONF",
                "tacker.common.config.CONF",
            ),
            (
                f"from {COMMON} import coord_client, vnfd_utils\nimport tacker.rpc",
                "tacker.rpc",
                f"{COMMON}.vnfd_utils",
            ),
        ):
            self.assertCountEqual(expected, self.missing(text), text)

    def test_nothing_is_missing_where_tacker_is_installed(self) -> None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        (folder / "tacker").mkdir()
        (folder / "tacker" / "__init__.py").touch()
        self.useFixture(
            fixtures.MonkeyPatch("sys.path", [*sys.path, str(folder)])
        )
        self.assertEqual((), self.missing("import tacker.db"))
