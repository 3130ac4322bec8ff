"""Commands in the guide print the documented output."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import testtools
import yaml

from tests.fixtures.openstack import Project
from tests.fixtures.vnfm import Csar
from tests.services import openstack_command
from tests.services.backends import skip_or_fail
from tests.services.client import Client, instantiation
from tests.services.openstack_command import ROOT, OpenstackCommand
from tests.services.test_openstack_cli import Sandbox

BLOCK = re.compile(
    r"^\.\. code-block:: console\n\n((?:   .*\n|\n)+)", re.MULTILINE
)
INI, YAML, JSON = (
    re.compile(
        rf"^\.\. code-block:: {kind}\n\n((?:   .*\n|\n)+)", re.MULTILINE
    )
    for kind in ("ini", "yaml", "json")
)
#: values that differ each time
NAMES = (
    re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    re.compile(r"\b[0-9a-z]{6,10}-[0-9a-z]{5}\b"),
)
MARK = "===="


class Command(NamedTuple):
    """A command of a page, and its output."""

    text: str
    output: str


def commands(page: str) -> Iterator[Command]:
    """Yield the commands of a page, with their output."""
    for block in BLOCK.findall(page):
        text = re.sub(r"^   ", "", block, flags=re.MULTILINE).strip("\n")
        for one in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            lines = one.split("\n")
            size = 1
            while lines[size - 1].endswith(("\\", "|")):
                size += 1
            yield Command(
                "\n".join(lines[:size]), "\n".join(lines[size:]).strip()
            )


def mask_names(text: str) -> str:
    """Replace all generated names by the same one."""
    for pattern in NAMES:
        text = pattern.sub("NAME", text)
    return text.strip()


class PageCase(testtools.TestCase):
    """A test of the commands of one page."""

    name = ""
    tools: tuple[str, ...] = ()
    sandbox: Sandbox

    def setUp(self) -> None:
        super().setUp()
        for tool in self.tools:
            if shutil.which(tool) is None:
                skip_or_fail(self, f"{tool} is not installed")
        self.command = self.useFixture(OpenstackCommand(self))
        path = ROOT / "doc" / "source" / "user" / self.name
        self.page = path.read_text()

    def settings(self) -> str:
        """Return the configuration of the page."""
        (settings,) = INI.findall(self.page)
        return re.sub(r"^   ", "", settings, flags=re.MULTILINE)

    def check(self) -> None:
        """Run all commands of the page in the sandbox; check their output."""
        found = list(commands(self.page))
        self.assertGreater(len(found), 10)
        printed = self.run_commands(found)
        for command, expected_output in zip(found, printed, strict=True):
            self.assertEqual(
                mask_names(command.output),
                mask_names(expected_output),
                command.text,
            )

    def create_instantiated(self) -> str:
        """Create the instance of the page."""
        raise NotImplementedError

    def environ(self) -> dict[str, str]:
        """Return the environment of the page's reader."""
        return openstack_command.inherited_environ() | {
            "PATH": f"{self.command.folder}:{os.environ['PATH']}",
            "API": self.sandbox.facts["api"],
        }

    def run_commands(self, typed: list[Command]) -> list[str]:
        """Run commands in a shell; return the output of each."""
        script = f"\necho {MARK}\n".join(command.text for command in typed)
        environ = self.environ() | {"VNF": self.create_instantiated()}
        done = subprocess.run(
            ["bash", "-c", script],
            check=False,
            cwd=self.sandbox.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environ,
            timeout=300,
        )
        return done.stdout.split(f"{MARK}\n")


class TestHealAgain(PageCase):
    name = "heal-again.rst"
    tools = ("kubectl", "jq", "curl")

    def test_commands_print_what_the_page_shows(self) -> None:
        self.sandbox = self.useFixture(Sandbox(self.settings(), 1))
        self.check()

    def create_instantiated(self) -> str:
        client = self.useFixture(Client(self.sandbox.facts["api"]))
        environ = self.environ()
        subprocess.run(
            [
                str(self.command.path),
                *("vim", "register", "cluster", "--is-default"),
                *("--config-file", self.sandbox.facts["vim"]),
            ],
            check=True,
            capture_output=True,
            env=environ,
            timeout=120,
        )
        instance_id = client.create(client.onboard_sample())
        client.run(instance_id, "instantiate", instantiation())
        return instance_id

    def environ(self) -> dict[str, str]:
        return super().environ() | {
            "OS_AUTH_TYPE": "none",
            "OS_ENDPOINT": self.sandbox.facts["api"],
            "KUBECONFIG": self.sandbox.facts["kubeconfig"],
        }


class TestHealVnf(PageCase):
    """The page on a real Heat, with the two command-line clients."""

    name = "heal-vnf.rst"
    tools = ("jq",)

    def test_commands_print_what_the_page_shows(self) -> None:
        self.project = self.useFixture(Project(self))
        self.sandbox = self.useFixture(Sandbox(self.settings()))
        self.write_clouds()
        self.check()

    def write_clouds(self) -> None:
        """Write the clouds.yaml of the page."""
        (shown,) = YAML.findall(self.page)
        clouds = yaml.safe_load(shown)
        vnfm, heat = clouds["clouds"]["vnfm"], clouds["clouds"]["heat"]
        vnfm["auth"]["endpoint"] = self.sandbox.facts["api"]
        environ_values = self.project.environ
        for key in heat["auth"]:
            heat["auth"][key] = environ_values[f"OS_{key.upper()}"]
        path = self.sandbox.folder / "clouds.yaml"
        path.write_text(yaml.safe_dump(clouds))

    def create_instantiated(self) -> str:
        client = self.useFixture(Client(self.sandbox.facts["api"]))
        client.register(self.project.vim)
        csar = self.useFixture(Csar("vnf"))
        client.onboard(csar.read())
        instance = client.create(csar.vnfd_id)
        (body,) = JSON.findall(self.page)
        body = body.replace("NETWORK_ID", self.project.network())
        client.run(instance, "instantiate", json.loads(body))
        return instance
