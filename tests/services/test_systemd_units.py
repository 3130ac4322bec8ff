"""The systemd units are valid, hardened, and end the programs gracefully."""

import configparser
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools

from tacker_cnf import conf as configuration
from tacker_cnf.cmd.dispatcher_supervisor import STOP_TIMEOUT_S
from tests.services.backends import skip_or_fail
from tests.services.openstack_command import ROOT

UNITS: Final = ROOT / "etc" / "systemd"
PROGRAMS: Final = "/opt/tacker_cnf/bin"
#: of 10, where 10 is a unit without any restriction
MAX_EXPOSURE: Final = 3.0


def read(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path)
    return parser


class TestUnits(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        if shutil.which("systemd-analyze") is None:
            skip_or_fail(self, "systemd is not installed")
        self.folder = Path(self.useFixture(fixtures.TempDir()).path) / "units"
        shutil.copytree(UNITS, self.folder)
        self.units = sorted(self.folder.glob("*.service"))
        self.assertEqual(2, len(self.units))

    def analyze(self, *arguments: str) -> str:
        done = subprocess.run(
            ["systemd-analyze", *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def test_systemd_finds_no_fault(self) -> None:
        for unit in self.units:  # the programs need not be installed
            text = unit.read_text()
            self.assertIn(f"ExecStart={PROGRAMS}/{unit.stem}\n", text)
            unit.write_text(text.replace(PROGRAMS, str(self.programs())))
        self.analyze("verify", *map(str, self.units))

    def programs(self) -> Path:
        """Return a directory with files in place of the programs."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        for unit in self.units:
            (folder / unit.stem).touch(0o755)
        return folder

    def exposure(self, unit: Path) -> dict[str, Any]:
        """Return the checks of a unit by their names."""
        options = ("--offline=true", "--json=short")
        output = self.analyze("security", *options, str(unit))
        return {one["name"]: one for one in json.loads(output)}

    def test_units_are_hardened(self) -> None:
        for unit in self.units:
            limit = f"--threshold={MAX_EXPOSURE * 10:.0f}"
            self.analyze("security", "--offline=true", limit, str(unit))

    def test_bubblewrap_can_create_namespaces(self) -> None:
        for unit in self.units:
            found = self.exposure(unit)
            for name in (
                "RestrictNamespaces=~user",
                "ProtectKernelTunables=",
                "ProtectKernelLogs=",
                "ProcSubset=",
                "SystemCallFilter=~@mount",
            ):
                self.assertFalse(found[name]["set"], name)

    def test_a_conductor_has_time_for_its_operations(self) -> None:
        unit = read(self.folder / "tacker-cnf-conductor.service")
        limit = int(unit["Service"]["TimeoutStopSec"])
        wanted = configuration.load([]).conductor.stop_timeout
        self.assertGreater(limit, wanted + STOP_TIMEOUT_S)
        shared = read(self.folder / "tacker-cnf-.service.d" / "common.conf")
        # scripts run until the conductor ends them
        self.assertEqual("mixed", shared["Service"]["KillMode"])
