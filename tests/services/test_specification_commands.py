"""The commands of Tacker's guides, typed as printed there.

TACKER_CNF_SPECIFICATIONS is the directory of the guides; without it the tests
are skipped. The answers have to differ from the printed ones, apart from ids,
names and times, as a table of coming-from-tacker.rst lists it.
"""

import difflib
import json
import os
import re
import textwrap
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import testtools

from tests.fixtures import user_data_v1, waiting
from tests.fixtures.openstack_vnf import VnfService
from tests.services import openstack_command
from tests.services.client import OP_OCCS, Client, instantiation
from tests.services.openstack_command import ROOT, OpenstackCommand
from tests.services.test_cli_recordings_v1 import Server
from tests.services.test_openstack_cli import ACTIVE
from tests.services.test_third_party_packages import (
    MANIFESTS,
    SOURCES,
    RealPackage,
)
from tests.services.test_update_guide import GuideCase

SPECIFICATIONS: Final = os.environ.get("TACKER_CNF_SPECIFICATIONS")
PAGE: Final = ROOT / "doc" / "source" / "user" / "coming-from-tacker.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: console\n\n((?:  .*\n|\n)+)", re.MULTILINE
)
#: commands, only in the guide, only in the service, reason
ROW: Final = re.compile(
    r"^   \* - (``(?:openstack|kubectl) .*)\n     -(.*)\n     -(.*)\n     - ",
    re.MULTILINE,
)
LITERAL: Final = re.compile(r"``(.+?)``")
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: packages of the guide of updates, and their VNFD ids there
BEFORE: Final = "test_cnf_container_update_before"
AFTER: Final = "test_cnf_container_update_after"
OLD_VNFD: Final = "97018ca2-bf29-4715-9e2b-6e432dd1f414"
NEW_VNFD: Final = "58bcc1c6-1400-46ec-b7fb-e508bf7e00e9"
#: names of files with the new ConfigMap and Secret
CONFIGURATION: Final = ("configmap", "secret")
#: the VNF instance in that guide
INSTANCE: Final = "dec67077-b67c-46ff-b5bf-3b8d34b4ed79"
#: a command of kubectl, before its output in the same line
KUBECTL: Final = re.compile(r"(kubectl .*?) (?=NAME |Name: )")
#: a generated name, after that of the owner
POD: Final = re.compile(
    r"\b(vdu\d-update|daemonset-vdu5|deployment2-vdu6)"
    r"(?:-[0-9a-f]{8,10})?(?:-[0-9a-z]{5})?(?![-\w])"
)
#: an attribute with its value, or a word
FACT: Final = re.compile(r"\S+:(?: \S+)?|\S+")
#: what is another one in each cluster -> its replacement
MASKS: Final = {
    POD: r"\1",
    UUID: "ID",
    re.compile(r"\b\d+[smhd](\d+[smhd])?\b"): "AGE",
    re.compile(r" \(AGE ago\)"): "",
    re.compile(r"( 10\.[\d.]+)? (vagrant|sandbox-node-1)\b"): " NODE",
    # kubectl prints them in any order
    re.compile(r"(secKey1.txt: \S+ bytes) (password: \S+ bytes)"): r"\2 \1",
    re.compile(r"template-hash=\w+"): "template-hash=X",
    re.compile(r"ID: [-\w]+://\S+"): "ID: X",
    re.compile(r"ID: \.\.\."): "ID: X ...",
    # of the token of a pod; not all versions of kubectl print it
    re.compile(r"(ConfigMapName: \S+) Optional: false"): r"\1",
    re.compile(r"tacker_updated_by: "): "tacker_updated_by=",
}
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
        found = re.match(r"[a-z]+( [a-z.]+)*(?= |$)", self.text)
        return found[0] if found else ""


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
    lines = [line.strip() for line in UUID.sub("ID", output).splitlines()]
    if not output.startswith(("+", "|")):
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
        if value.startswith(("{", "[")) and value not in {"{}", "[]"}:
            facts |= {title, *_attributes(json.loads(value))}
        else:
            fact = title if title in OTHERS else f"{title}: {value}"
            facts.add(fact.strip())
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


def read_flat_commands(page: str) -> list[Command]:
    """Return the commands of a guide that lost line breaks and the borders of
    its tables.
    """
    found: list[Command] = []
    is_output = False
    for line in page.splitlines():
        if line.startswith("$ "):
            for text in re.split(r"(?:^|\s)\$ ", line)[1:]:
                match = KUBECTL.match(text)
                command = match[1] if match else text
                output = text.removeprefix(command).strip()
                found.append(Command(command, output))
            is_output = found[-1].text.startswith("openstack")
        elif is_output and found[-1].text.endswith("\\"):
            found[-1] = Command(f"{found[-1].text}\n{line}", "")
        elif is_output and re.match(r"\||.*accepted\.$|Update vnf:", line):
            output = f"{found[-1].output}\n{line}".strip()
            found[-1] = Command(found[-1].text, output)
        else:
            is_output = False
    return [c for c in found if c.name.startswith(("openstack", "kubectl"))]


def compare_facts(printed: str, answered: str) -> Iterator[tuple[str, str]]:
    """Yield what only the guide or only the service prints."""
    old, new = read_facts(printed), read_facts(answered)
    yield from (("guide", fact) for fact in _topmost(old - new))
    yield from (("service", fact) for fact in _topmost(new - old))


def compare_flat(printed: str, answered: str) -> Iterator[tuple[str, str]]:
    """Yield what only the guide or only the service prints, where the guide
    has no line breaks, and leaves parts out.
    """
    if printed.startswith("NAME "):
        header, *rows = map(_mask, answered.splitlines())
        names = "|".join(re.escape(row.split()[0]) for row in rows)
        first = rf"(?<={re.escape(header)})"
        old = re.split(rf"{first} | (?=(?:{names}) )", _mask(printed))
        old = [header, *sorted(old[1:])]
        new = [header, *sorted(rows)]
    else:
        old, new = (FACT.findall(_mask(one)) for one in (printed, answered))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        sides = {"guide": old[i:j], "service": new[k:m]}
        if "..." in old:
            del sides["service"]
        for side, facts in sides.items():
            yield from ((side, f) for f in map(str.strip, facts) if f != "...")


def _mask(text: str) -> str:
    """Collapse white space, and replace what differs in each cluster."""
    text = " ".join(text.split())
    for pattern, replacement in MASKS.items():
        text = pattern.sub(replacement, text)
    return text


def wait_completed(list_operations: Callable[[], Any]) -> None:
    """Wait until all operations are completed."""

    def are_completed() -> bool:
        states = {one["operationState"] for one in list_operations()}
        assert states <= {"COMPLETED", *ACTIVE}, states
        return not states & ACTIVE

    waiting.until(are_completed, "the operation", 60.0)


def listed_differences(commands: list[Command]) -> set[Difference]:
    """Return the differences that the documentation lists for commands."""
    names = {command.name for command in commands}
    return {
        (name, side, fact)
        for first, *cells in ROW.findall(PAGE.read_text())
        for name in names.intersection(LITERAL.findall(first))
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
        self.guide = read_commands(page.read_text())
        self.assertEqual(8, len(self.guide))
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
        show, *heal_vnf = self.guide[:4]
        list_vnfcs, *heal_vnfc = self.guide[4:]
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
        self.assertEqual(listed_differences(self.guide), self.differences)

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
        path = "/vnflcm/v1/vnf_lcm_op_occs"
        wait_completed(lambda: self.vnf.call("GET", path).json)

    def type(self, command: Command) -> str:
        """Type a command; note how its output differs, and return it."""
        text = UUID.sub("VNF_INSTANCE_ID", command.text)
        for placeholder, value in self.values.items():
            text = re.sub(rf"\b{placeholder}\b", value, text)
        path = f"{self.command.folder}:{os.environ['PATH']}"
        environ = {**self.vnf.project.environ, "PATH": path}
        done = openstack_command.run(["bash", "-c", text], environ)
        self.assertEqual("", done.stderr, text)
        self.wait()
        self.differences |= {
            (command.name, side, fact)
            for side, fact in compare_facts(command.output, done.stdout)
        }
        return done.stdout


class TestUpdateOfContainers(GuideCase):
    """The packages of the guide, on a cluster with one node."""

    nodes = 1

    def setUp(self) -> None:
        super().setUp()
        if SPECIFICATIONS is None or SOURCES is None:
            self.skipTest("the guide or its packages are missing")
        page = Path(SPECIFICATIONS) / "cnf-update-with-mgmt-driver.txt"
        self.guide = read_flat_commands(page.read_text())
        self.assertEqual(38, len(self.guide))
        self.api = self.useFixture(Client(self.sandbox.facts["api"]))
        before, after = (Path(SOURCES) / name for name in (BEFORE, AFTER))
        package = self.useFixture(RealPackage(before, OLD_VNFD))
        (self.folder / "package.csar").write_bytes(package.read())
        updated = self.useFixture(RealPackage(after, NEW_VNFD))
        self.api.onboard(updated.read())
        self.write_requests(package)
        #: id in the guide -> that of this run
        self.ids = {OLD_VNFD: OLD_VNFD}
        self.differences: set[Difference] = set()

    def write_requests(self, package: RealPackage) -> None:
        """Write the files that the guide shows."""
        body: dict[str, Any] = instantiation()
        files = [f"{MANIFESTS}/{name}" for name in package.files()]
        body["additionalParams"]["lcm-kubernetes-def-files"] = files
        self.write("instance_kubernetes.json", body)
        paths = [f"{MANIFESTS}/{name}_2.yaml" for name in CONFIGURATION]
        body = {
            "vnfdId": NEW_VNFD,
            "vnfInstanceName": "modify_vnf_after",
            "metadata": {"configmap_secret_paths": paths},
        }
        self.write("sample_param_file.json", body)

    def write(self, name: str, body: Any) -> None:
        (self.folder / name).write_text(json.dumps(body))

    def test_the_answers_differ_as_documented(self) -> None:
        self.run_command(
            "openstack vim register sandbox --config-file sandbox/vim.yaml "
            "--is-default"
        )
        pods = {}
        for command in self.guide:
            if "vnflcm update VNF" in command.text:
                pods = self.pods()
            self.type(command)
        self.check_pods(pods, self.pods())
        self.assertEqual(listed_differences(self.guide), self.differences)

    def run_command(self, text: str) -> str:
        return self.run_script(
            f"export OS_AUTH_TYPE=none OS_ENDPOINT={self.sandbox.facts['api']}"
            f" KUBECONFIG=sandbox/kubeconfig; {text}"
        )

    def pods(self) -> dict[str, tuple[str, str]]:
        """Return the name and uid of each pod, by its owner's name."""
        column = "NAME:.metadata.name,UID:.metadata.uid"
        listed = self.run_command(
            f"kubectl get pods --no-headers -o custom-columns={column}"
        )
        pods = [line.split() for line in listed.splitlines()]
        return {POD.sub(r"\1", name): (name, uid) for name, uid in pods}

    def check_pods(
        self,
        before: dict[str, tuple[str, str]],
        after: dict[str, tuple[str, str]],
    ) -> None:
        """Check that the pods of workloads with changes are replaced, and no
        other.
        """
        kept = {name for name, pod in before.items() if pod == after[name]}
        replaced = {"vdu1-update", "vdu2-update", "daemonset-vdu5"}
        self.assertEqual(before.keys() - replaced, kept)

    def type(self, command: Command) -> None:
        """Type a command; note how its output differs."""
        text = command.text.replace("--path", "--path package.csar")
        text = text.replace("VNF_INSTANCE_ID", INSTANCE)
        text = UUID.sub(lambda found: self.ids[found[0]], text)
        if command.name == "kubectl describe pod":
            verb, _, name = text.rpartition(" ")
            name, _ = self.pods()[POD.sub(r"\1", name)]
            text = f"{verb} {name}"
        output = self.run_command(text)
        if " create" in command.name:
            self.ids[_first_id(command.output)] = _first_id(output)
        wait_completed(lambda: self.api.call("GET", OP_OCCS).json)
        if not command.output:
            return
        compare = compare_flat if "kubectl" in text else compare_facts
        self.differences |= {
            (command.name, side, fact)
            for side, fact in compare(command.output, output)
        }
