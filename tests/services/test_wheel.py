"""Both distributions, installed from wheels into fresh environments.

The service is installed and run as README.rst describes it, but without
Keystone: [api] auth_strategy is noauth.
"""

import configparser
import os
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

from tests.fixtures.sandbox import best_isolation
from tests.fixtures.vnfm import Csar
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)
from tests.services.backends import POSTGRESQL
from tests.services.client import INSTANCES, Client, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment
from tests.services.openstack_command import ROOT

#: the sources of a wheel
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
#: a package's script, which runs in a separate process
HOOK: Final = """\
    from tacker_cnf.mgmt_drivers.base import MgmtDriver

    class Driver(MgmtDriver):
        def instantiate_end(self, script_input):
            return None

    Driver.main()
"""


def environ() -> dict[str, str]:
    """Return this process's environment without what would let a program
    import from elsewhere than where it is installed.
    """
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


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
    """A wheel, built in a copy of its source tree.

    :param home: directory of the distribution
    :param package: path of its package, relative to ``home``
    """

    def __init__(self, home: Path = ROOT, package: str = "tacker_cnf") -> None:
        super().__init__()
        self._home = home
        self._package = package

    def _setUp(self) -> None:
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        source = self.folder / "source"
        unwanted = shutil.ignore_patterns("__pycache__")
        package = source / self._package
        shutil.copytree(self._home / self._package, package, ignore=unwanted)
        for pattern in SOURCES:
            for path in self._home.glob(pattern):
                shutil.copy(path, source)
        wheel = ("-m", "pip", "wheel", "--quiet", "--no-deps", source)
        run(sys.executable, *wheel, cwd=self.folder)
        (self.path,) = self.folder.glob("*.whl")
        self.files = {
            path.relative_to(package.parent).as_posix()
            for path in package.rglob("*")
            if path.is_file()
        }

    def check_content(self) -> None:
        """Check that the wheel has all files of the package, and no other
        package.
        """
        with zipfile.ZipFile(self.path) as wheel:
            names = {
                name for name in wheel.namelist() if ".dist-info/" not in name
            }
        assert names == self.files, names ^ self.files

    def install(self, pip: str = "pip", extra: str = "") -> Path:
        """Install the wheel into a fresh environment; return the directory of
        its programs.
        """
        home = self.folder / "venv"
        run(sys.executable, "-m", "venv", home, cwd=self.folder)
        # modules are compiled when imported, which are not all
        options = ("--quiet", "--no-compile")
        programs = home / "bin"
        requirement = f"{self.path}{extra}"
        run(programs / pip, "install", *options, requirement, cwd=self.folder)
        run(programs / pip, "check", cwd=self.folder)
        return programs

    def check_packages(self, present: str, absent: str) -> None:
        """Check which package the environment has."""
        python = self.folder / "venv" / "bin" / "python"
        statement = f"import {present}; print({present}.__file__)"
        found = run(python, "-c", statement, cwd=self.folder)
        assert found.startswith(str(self.folder / "venv")), found
        missing = (
            "import importlib.util, sys;"
            f"sys.exit(importlib.util.find_spec('{absent}') is not None)"
        )
        run(python, "-c", missing, cwd=self.folder)


class Installed(Deployment):
    """A service that is set up by its own programs alone."""

    preloaded = False

    def __init__(
        self, case: testtools.TestCase, programs: Path, setup: list[str]
    ) -> None:
        options = settings()
        options["scripts"] = {"isolation": best_isolation()}
        super().__init__(case, POSTGRESQL, **options)
        self.programs = programs
        self._setup = setup

    def _prepare(self) -> None:
        for command in self._setup:
            self.manage(command)


class TestWheel(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.wheel = self.useFixture(Wheel())

    def test_a_fresh_environment_runs_the_lifecycle_of_a_vnf(self) -> None:
        install, *setup, api, conductor = COMMAND.findall(production())
        programs = self.install(install)
        self.assertIn("usage:", run(programs / api, "--help", cwd=programs))
        manage = [one.removeprefix("tacker-cnf-manage ") for one in setup]
        service = self.useFixture(Installed(self, programs, manage))
        self.assertEqual("tacker-cnf-api", api)
        self.assertEqual("tacker-cnf-conductor", conductor)
        client = service.api().client
        service.conductor()
        self.run_lifecycle(client)

    def install(self, command: str) -> Path:
        """Install the wheel as README.rst describes it."""
        self.wheel.check_content()
        pip, *options, extra = shlex.split(command)
        self.assertEqual((["install"], ".[postgresql]"), (options, extra))
        programs = self.wheel.install(pip, extra[1:])
        self.wheel.check_packages("tacker_cnf", absent="kubernetes_sandbox")
        return programs

    def run_lifecycle(self, client: Client) -> None:
        cluster = self.useFixture(Cluster())
        untouched = cluster.list_all()
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
        self.assertEqual(untouched, cluster.list_all())
        client.call_expecting("DELETE", f"{INSTANCES}/{instance}", None, 204)


class TestSandboxWheel(testtools.TestCase):
    def test_serves_without_the_product(self) -> None:
        home = ROOT / "kubernetes_sandbox"
        wheel = self.useFixture(Wheel(home, "src/kubernetes_sandbox"))
        wheel.check_content()
        programs = wheel.install()
        wheel.check_packages("kubernetes_sandbox", absent="tacker_cnf")
        config = wheel.folder / "kubeconfig"
        for command in (
            ("python", "-m", "kubernetes_sandbox"),
            ("kubernetes-sandbox",),
        ):
            config.unlink(missing_ok=True)
            process = subprocess.Popen(
                [
                    programs / command[0],
                    *command[1:],
                    f"--kubeconfig={config}",
                ],
                cwd=wheel.folder,
                env=environ(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            assert process.stdout
            process.stdout.readline()  # printed when it serves
            names = (
                "from kubernetes import client, config;"
                f"config.load_kube_config({str(config)!r});"
                "nodes = client.CoreV1Api().list_node().items;"
                "print(*[node.metadata.name for node in nodes])"
            )
            nodes = run(programs / "python", "-c", names, cwd=wheel.folder)
            self.assertEqual("sandbox-node-1 sandbox-node-2\n", nodes)
            process.terminate()
            self.assertEqual(0, process.wait(60))
