"""The commands of Tacker's guide of healing by Heat, typed as printed there.

TACKER_CNF_SPECIFICATIONS is the directory of the guide; without it the test is
skipped. The answers have to differ from the printed ones, apart from ids, as a
table of version-1.rst lists it.
"""

import json
import os
import re
import subprocess
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import testtools

from tests.fixtures import user_data_v1, waiting
from tests.fixtures.openstack_vnf import VnfService
from tests.services.openstack_command import ROOT, OpenstackCommand
from tests.services.test_cli_recordings_v1 import Server
from tests.services.test_openstack_cli import ACTIVE

SPECIFICATIONS: Final = os.environ.get("TACKER_CNF_SPECIFICATIONS")
PAGE: Final = ROOT / "doc" / "source" / "user" / "version-1.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: console\n\n((?:  .*\n|\n)+)", re.MULTILINE
)
#: command, printed, answered, reason
ROW: Final = re.compile(
    r"^   \* - ``(openstack .*)``\n     -(.*)\n     -(.*)\n     - ",
    re.MULTILINE,
)
LITERAL: Final = re.compile(r"``(.+?)``")
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: rows with values of the package and the project
OTHERS: Final = {"VNF Product Name", "VNF Provider", "metadata"}
#: a network of the VNF, for the base HOT
INSIDE: Final = """\
  inside:
    type: OS::Neutron::Net
  store_inside_cp:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: inside}
"""


class Command(NamedTuple):
    """A command of the guide, and its output."""

    text: str
    output: str

    @property
    def name(self) -> str:
        return " ".join(re.findall(r"^(?:[a-z]+ )+", self.text)).strip()


def read_commands(page: str) -> list[Command]:
    """Return the commands of a guide, with their output."""
    found: list[Command] = []
    for block in map(textwrap.dedent, BLOCK.findall(page)):
        text = block.strip()
        if not text.startswith("$ "):  # the output is in the next block
            found[-1] = Command(found[-1].text, text)
            continue
        lines = text[2:].splitlines()
        size = 1
        while lines[size - 1].endswith("\\"):
            size += 1
        output = "\n".join(lines[size:])
        found.append(Command("\n".join(lines[:size]), output))
    return found


def read_facts(output: str) -> set[str]:
    """Return what a command prints: its lines, the cells of its table, or the
    attributes of JSON in it. All ids are the same.
    """
    lines = UUID.sub("ID", output).splitlines()
    if not output.startswith("+"):
        return set(lines)
    rows = [line.strip("|") for line in lines if line.startswith("|")]
    if not rows[0].strip().startswith("Field"):
        return {cell.strip() for row in rows for cell in row.split("|")}
    cells: dict[str, str] = {}
    title = ""
    for row in rows:
        first, _, rest = row.partition("|")
        title = first.strip() or title
        cells[title] = f"{cells.get(title, '')}{rest}\n"
    facts: set[str] = set()
    for title, text in cells.items():
        value = text.strip()
        if value.startswith(("{", "[")):
            facts |= {title, *_attributes(json.loads(value))}
        else:
            facts.add(title if title in OTHERS else f"{title}: {value}")
    return facts


def _attributes(value: Any, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all attributes of JSON."""
    if isinstance(value, list):
        for item in value:
            yield from _attributes(item, prefix)
    elif isinstance(value, dict):
        for name, item in value.items():
            path = f"{prefix}.{name}".strip(".")
            yield f"{path}: {item}" if name == "vimType" else path
            yield from _attributes(item, path)


def _topmost(facts: set[str]) -> set[str]:
    """Remove attributes of attributes that are in the set, too."""
    return {f for f in facts if f.rpartition(".")[0] not in facts}


def _first_id(output: str) -> str:
    """Return the id of the only row."""
    found = UUID.search(output)
    assert found is not None, output
    return found[0]


#: command, "guide" or "service", and what only this one prints
Difference = tuple[str, str, str]


def listed_differences() -> set[Difference]:
    """Return the differences that the documentation lists."""
    return {
        (name, side, fact)
        for name, *cells in ROW.findall(PAGE.read_text())
        for side, cell in zip(("guide", "service"), cells, strict=True)
        for fact in LITERAL.findall(cell)
    }


class TestHealByHeat(testtools.TestCase):
    """The VNF has user data of version 1, as that of the guide."""

    def setUp(self) -> None:
        super().setUp()
        if SPECIFICATIONS is None:
            self.skipTest("TACKER_CNF_SPECIFICATIONS is not set")
        page = Path(SPECIFICATIONS) / "vnf-heal-by-heat.txt"
        self.commands = read_commands(page.read_text())
        self.assertEqual(8, len(self.commands))
        self.command = self.useFixture(OpenstackCommand(self))
        self.vnf = VnfService(self)
        self.vnf.files = user_data_v1.package_files(
            user_data_v1.OF_VNFD, user_data_v1.IN_TEMPLATE + INSIDE
        )
        self.useFixture(self.vnf)
        server = self.useFixture(Server(self.vnf.app))
        self.vnf.project.publish("nfv-orchestration", server.url)
        #: placeholder of the guide -> what is typed
        self.values = {"VNF_INSTANCE_ID": self.vnf.id}
        self.differences: set[Difference] = set()

    def test_the_answers_differ_as_documented(self) -> None:
        self.instantiate()
        show, *heal_vnf = self.commands[:4]
        list_vnfcs, *heal_vnfc = self.commands[4:]
        self.type(show)
        before, _, after = map(self.type, heal_vnf)
        self.assertNotEqual(_first_id(before), _first_id(after))
        front, store = map(json.loads, self.type(list_vnfcs).split())
        self.values["HEAT_STACK_ID"] = _first_id(after)
        # the guide says that the resource was replaced, and that it was not:
        # the members of a group are, the group is not
        for vdu, vnfc, is_kept in (
            ("front_group", front, True),
            ("store", store, False),
        ):
            self.values |= {"VDU_NAME": vdu, "VNFC_INSTANCE_ID": vnfc}
            before, _, after = map(self.type, heal_vnfc)
            is_same = _first_id(before) == _first_id(after)
            self.assertEqual(is_kept, is_same, vdu)
        self.assertEqual(listed_differences(), self.differences)

    def instantiate(self) -> None:
        """Instantiate the VNF with the attributes that the guide shows."""
        project = self.vnf.project
        vim = {
            "id": str(uuid.uuid4()),
            "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_2",
            "interfaceInfo": {"endpoint": project.auth_url},
            "accessInfo": {
                "region": "RegionOne",
                "tenant": project.name,
                "username": project.name,
                "password": project.password,
            },
        }
        inside = {
            "id": str(uuid.uuid4()),
            "vnfVirtualLinkDescId": "inside",
            "resourceId": project.network(),
        }
        body = self.vnf.request(
            additionalParams=user_data_v1.PARAMETERS,
            extManagedVirtualLinks=[inside],
            vimConnectionInfo=[vim],
        )
        for link in body["extVirtualLinks"]:
            for point in link["extCps"]:
                point["cpConfig"] = list(point["cpConfig"].values())
        path = f"/vnflcm/v1/vnf_instances/{self.vnf.id}/instantiate"
        self.assertEqual(202, self.vnf.call("POST", path, body).status)
        self.wait()

    def wait(self) -> None:
        """Wait until all operations are completed."""

        def find_states() -> set[str] | None:
            found = self.vnf.call("GET", "/vnflcm/v1/vnf_lcm_op_occs").json
            states = {one["operationState"] for one in found}
            return None if states & ACTIVE else states

        states = waiting.until(find_states, "the operation", 60.0)
        self.assertEqual({"COMPLETED"}, states)

    def type(self, command: Command) -> str:
        """Type a command; note how its output differs, and return it."""
        text = UUID.sub("VNF_INSTANCE_ID", command.text)
        for placeholder, value in self.values.items():
            text = re.sub(rf"\b{placeholder}\b", value, text)
        environ = {n: v for n, v in os.environ.items() if n[:3] != "OS_"}
        environ |= self.vnf.project.environ
        environ["PATH"] = f"{self.command.folder}:{environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", text],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environ,
            timeout=120,
        )
        self.assertEqual("", done.stderr, text)
        self.wait()
        printed, answered = map(read_facts, (command.output, done.stdout))
        for side, facts in (
            ("guide", printed - answered),
            ("service", answered - printed),
        ):
            self.differences |= {
                (command.name, side, fact) for fact in _topmost(facts)
            }
        return done.stdout
