"""The service as installed: from a wheel, as README.rst describes it.

Only Keystone is missing: [api] auth_strategy is noauth.
"""

import configparser
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools

from tests.fixtures.vnfm import Csar
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)
from tests.services.client import INSTANCES, Client, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment, environ
from tests.services.openstack_command import ROOT
from tests.services.servers import POSTGRESQL

#: what a wheel is built from
SOURCES: Final = (
    "LICENSE",
    "README.rst",
    "pyproject.toml",
    "setup.cfg",
    "*requirements.txt",
)
SECTION: Final = re.compile(
    r"^\.\. real-begin$(.*)^\.\. real-end$", re.MULTILINE | re.DOTALL
)
INI: Final = re.compile(
    r"^\.\. code-block:: ini\n\n((?:    .*\n|\n)+)", re.MULTILINE
)
COMMAND: Final = re.compile(
    r"^    ((?:pip|tacker-cnf-)[^#\n]*?) *(?:#.*)?$", re.MULTILINE
)
#: a package's script, which runs in a process of its own
HOOK: Final = """\
    from tacker_cnf.mgmt_drivers.base import MgmtDriver

    class Driver(MgmtDriver):
        def instantiate_end(self, told):
            return None

    Driver.main()
"""


def production() -> str:
    (section,) = SECTION.findall((ROOT / "README.rst").read_text())
    return str(section)


def settings() -> dict[str, dict[str, Any]]:
    """Return the configuration that README.rst shows, for any free port."""
    (text,) = INI.findall(production())
    parser = configparser.ConfigParser(
        interpolation=None, default_section="none"
    )
    parser.read_string(textwrap.dedent(text))
    found = {name: dict(parser[name]) for name in parser.sections()}
    for option in ("host", "port", "endpoint"):
        del found["api"][option]
    return found


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        list(map(str, command)),
        check=False,
        cwd=cwd,
        env=environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


class Wheel(fixtures.Fixture):
    """The wheel of this source tree, built in a copy of it."""

    def _setUp(self) -> None:
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        source = self.folder / "source"
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            ROOT / "tacker_cnf", source / "tacker_cnf", ignore=unwanted
        )
        for pattern in SOURCES:
            for path in ROOT.glob(pattern):
                shutil.copy(path, source)
        wheel = ("-m", "pip", "wheel", "--quiet", "--no-deps", source)
        run(sys.executable, *wheel, cwd=self.folder)
        (self.path,) = self.folder.glob("*.whl")
        self.files = {
            path.relative_to(source).as_posix()
            for path in (source / "tacker_cnf").rglob("*")
            if path.is_file()
        }


class Installed(Deployment):
    """A service that is set up by its own programs alone."""

    def __init__(
        self, case: testtools.TestCase, programs: Path, setup: list[str]
    ) -> None:
        super().__init__(case, POSTGRESQL, **settings())
        self.programs = programs
        self._setup = setup

    def _prepare(self) -> None:
        for command in self._setup:
            done = self.manage(command)
            assert done.returncode == 0, done.stderr


class TestWheel(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.wheel = self.useFixture(Wheel())

    def test_a_fresh_environment_runs_the_life_of_a_vnf(self) -> None:
        install, *setup, api, conductor = COMMAND.findall(production())
        self.check_content()
        programs = self.install(install)
        manage = [one.removeprefix("tacker-cnf-manage ") for one in setup]
        service = self.useFixture(Installed(self, programs, manage))
        self.assertEqual("tacker-cnf-api", api)
        self.assertEqual("tacker-cnf-conductor", conductor)
        client = service.api().client
        service.conductor()
        self.live(client)

    def check_content(self) -> None:
        with zipfile.ZipFile(self.wheel.path) as wheel:
            self.assertEqual(
                set(), self.wheel.files.difference(wheel.namelist())
            )

    def install(self, command: str) -> Path:
        """Install the wheel as README.rst says; return where programs are."""
        home = self.wheel.folder / "venv"
        run(sys.executable, "-m", "venv", home, cwd=self.wheel.folder)
        pip, *words, extra = shlex.split(command)
        self.assertEqual((["install"], ".[postgresql]"), (words, extra))
        wanted = f"{self.wheel.path}{extra[1:]}"
        # compiled when imported, which is less than all of it
        options = ("--quiet", "--no-compile")
        programs = home / "bin"
        folder = self.wheel.folder
        run(programs / pip, "install", *options, wanted, cwd=folder)
        run(programs / pip, "check", cwd=folder)
        where = "import tacker_cnf; print(tacker_cnf.__file__)"
        found = run(programs / "python", "-c", where, cwd=folder)
        self.assertTrue(found.startswith(str(home)), found)
        return programs

    def live(self, client: Client) -> None:
        cluster = self.useFixture(Cluster())
        untouched = cluster.everything()
        csar = self.useFixture(
            Csar(
                files={
                    SCRIPT: textwrap.dedent(HOOK),
                    FLAVOUR: flavour_with_scripts("instantiate_end"),
                }
            )
        )
        client.onboard(csar.read())
        client.register(cluster.vim)
        instance = client.create(csar.vnfd_id)
        request = instantiation("configmap secret deployment")
        client.run(instance, "instantiate", request)
        before = client.pods(instance)
        self.assertEqual(set(cluster.pods()), before)
        client.run(instance, "heal", {})
        after = client.pods(instance)
        self.assertEqual(set(cluster.pods()), after)
        self.assertEqual((1, set()), (len(after), before & after))
        client.run(instance, "terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual(untouched, cluster.everything())
        client.made("DELETE", f"{INSTANCES}/{instance}", None, 204)
