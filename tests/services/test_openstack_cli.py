"""The openstack command, as its users have it, against the sandbox."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tests.fixtures import waiting
from tests.fixtures.receiver import Receiver
from tests.fixtures.vnfm import Csar
from tests.services.client import OP_OCCS, Client, instantiation
from tests.services.deployment import START
from tests.services.openstack_command import INSTALLED, ROOT, OpenstackCommand

NOBODY = "11111111-2222-4333-8444-555555555555"
ACTIVE = {"STARTING", "PROCESSING", "ROLLING_BACK"}


class Sandbox(fixtures.Fixture):
    """tools/sandbox, a process of its own.

    :param settings: what a configuration file says
    """

    def __init__(self, settings: str = "", pod_start_delay: int = 1) -> None:
        super().__init__()
        self._settings = settings
        self._delay = pod_start_delay

    def _setUp(self) -> None:
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        state = self.folder / "state"
        (state / "conf.d").mkdir(parents=True)
        (state / "conf.d" / "test.conf").write_text(self._settings)
        with (self.folder / "said").open("wb") as said:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    str(ROOT / "tools" / "sandbox.py"),
                    f"--state={state}",
                    "--port=0",
                    f"--pod-start-delay={self._delay}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        self.addCleanup(self._end)
        ready = state / "sandbox.json"
        waiting.until(ready.exists, "the sandbox", START)
        self.facts: dict[str, str] = json.loads(ready.read_text())

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait(60)


class CommandTest(testtools.TestCase):
    """The command, and a sandbox that it is used on."""

    #: seconds that a pod takes to start
    pod_start_delay = 1
    #: what the sandbox's configuration says
    settings = ""
    #: the VNF instance that a test is about
    instance = ""

    def setUp(self) -> None:
        super().setUp()
        self.command = self.useFixture(OpenstackCommand(self)).path
        delay = self.pod_start_delay
        self.sandbox = self.useFixture(Sandbox(self.settings, delay))
        self.folder = self.sandbox.folder

    def openstack(
        self, *words: str, command: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one command."""
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("OS_")
        }
        environ["OS_AUTH_TYPE"] = "none"
        environ["OS_ENDPOINT"] = self.sandbox.facts["api"]
        return subprocess.run(
            [str(command or self.command), *words],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environ,
            timeout=120,
        )

    def good(self, command: str, *more: str) -> str:
        """Run a command that has to go well; give what it prints."""
        done = self.openstack(*command.split(), *more)
        self.assertEqual(0, done.returncode, f"{command}: {done.stderr}")
        return done.stdout

    def told(self, command: str, *more: str) -> Any:
        """Run a command that has to go well; give its JSON."""
        return json.loads(self.good(command, *more, "-f", "json"))

    def bad(self, command: str, says: str, *more: str) -> None:
        """Run a command that has to fail, and to say why."""
        done = self.openstack(*command.split(), *more)
        self.assertEqual(1, done.returncode, f"{command}: {done.stdout}")
        self.assertIn(says, done.stderr + done.stdout)

    def lcm(self, command: str) -> str:
        return f"--os-tacker-api-version 2 vnflcm {command}"

    def file(self, name: str, content: Any) -> str:
        path = self.folder / name
        path.write_text(json.dumps(content))
        return str(path)

    def ended(self) -> dict[str, Any]:
        """Wait until the newest operation has ended well; show it."""

        def look() -> list[Any] | None:
            found: list[Any] = self.told(self.lcm("op list"))
            busy = {one["Operation State"] for one in found} & ACTIVE
            return None if busy else found

        newest = waiting.until(look, "the operation's end", START)[-1]
        self.assertEqual("COMPLETED", newest["Operation State"])
        shown: dict[str, Any] = self.told(self.lcm(f"op show {newest['ID']}"))
        self.assertEqual("COMPLETED", shown["Operation State"])
        self.assertEqual(self.instance, shown["VNF Instance ID"])
        return shown

    def onboarded(self) -> str:
        """Register the VIM and onboard the sample; give its VNFD id."""
        self.good(
            "vim register cluster --is-default --config-file",
            self.sandbox.facts["vim"],
        )
        csar = self.useFixture(Csar())
        package = self.told("vnf package create")["ID"]
        self.good("vnf package upload --path", str(csar.path), package)
        return csar.vnfd_id


class TestOpenstackCommand(CommandTest):
    def test_as_it_is_installed(self) -> None:
        listed = ("vim", "list", "-f", "json")
        done = self.openstack(*listed, command=INSTALLED)
        self.assertEqual((0, "[]\n"), (done.returncode, done.stdout))
        unknown = ("vim", "show", "none")
        for command in (INSTALLED, None):
            done = self.openstack(*unknown, command=command)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn("none", done.stderr)

    def vnfcs(self, vdu: str) -> list[str]:
        info = self.told(self.lcm(f"show {self.instance}"))[
            "Instantiated Vnf Info"
        ]
        return [v["id"] for v in info["vnfcInfo"] if v["vduId"] == vdu]

    def test_vims(self) -> None:
        vim_file = self.sandbox.facts["vim"]
        made = self.told(
            "vim register one --is-default --description first --config-file",
            vim_file,
        )
        self.assertEqual("REACHABLE", made["status"])
        self.assertTrue(made["is_default"])
        self.assertNotIn("bearer_token", made["auth_cred"])
        listed = self.told("vim list")
        self.assertEqual([made["id"]], [vim["ID"] for vim in listed])
        shown = self.told("vim show one")
        self.assertEqual("first", shown["description"])
        self.assertEqual(shown, self.told(f"vim show {made['id']}"))
        self.good("vim set one --description changed")
        self.assertEqual("changed", self.told("vim show one")["description"])
        self.bad("vim register one --config-file", "one", vim_file)
        self.bad("vim show two", "two")
        self.bad("vim set one --config-file", "", self.file("no.yaml", {}))
        self.good("vim delete one")
        self.assertEqual([], self.told("vim list"))
        self.bad("vim delete one", "one")

    def test_packages(self) -> None:
        csar = self.useFixture(Csar())
        made = self.told("vnf package create --user-data color=blue")
        package = made["ID"]
        self.assertEqual("CREATED", made["Onboarding State"])
        self.bad("vnf package upload --path", "zip", self.junk(), package)
        self.good("vnf package upload --path", str(csar.path), package)
        self.bad("vnf package upload --path", "", str(csar.path), package)
        self.check_shown(package, csar.vnfd_id)
        self.check_downloads(package, csar)
        self.bad(f"vnf package delete {package}", "ENABLED")
        self.good(
            f"vnf package update {package} --operational-state DISABLED"
            " --user-data size=small"
        )
        shown = self.told(f"vnf package show {package}")
        self.assertEqual("DISABLED", shown["Operational State"])
        data = {"color": "blue", "size": "small"}
        self.assertEqual(data, shown["User Defined Data"])
        self.good(f"vnf package delete {package}")
        self.assertEqual([], self.told("vnf package list"))
        self.bad(f"vnf package show {package}", package)
        self.bad(f"vnf package delete {NOBODY}", NOBODY)

    def junk(self) -> str:
        return self.file("junk.zip", "this is no zip file")

    def check_shown(self, package: str, vnfd_id: str) -> None:
        shown = self.told(f"vnf package show {package}")
        self.assertEqual("ONBOARDED", shown["Onboarding State"])
        self.assertEqual("ENABLED", shown["Operational State"])
        self.assertEqual("NOT_IN_USE", shown["Usage State"])
        self.assertEqual(vnfd_id, shown["VNFD ID"])
        self.assertEqual("SHA-256", shown["Checksum"]["algorithm"])
        listed = self.told("vnf package list")
        self.assertEqual([package], [one["Id"] for one in listed])
        self.assertEqual("Five Kinds", listed[0]["Vnf Product Name"])

    def check_downloads(self, package: str, csar: Csar) -> None:
        whole = self.folder / "whole.zip"
        self.good(f"vnf package download {package} --file", str(whole))
        self.assertEqual(csar.read(), whole.read_bytes())
        vnfd = self.folder / "vnfd.zip"
        self.good(f"vnf package download {package} --vnfd --file", str(vnfd))
        self.assertTrue(vnfd.read_bytes().startswith(b"PK"))
        artifact = self.folder / "artifact"
        name = "Files/kubernetes/deployment.yaml"
        command = f"vnf package artifact download {package} {name} --file"
        self.good(command, str(artifact))
        source = ROOT / "samples" / "cnf" / name
        self.assertEqual(source.read_text(), artifact.read_text())
        command = f"vnf package artifact download {package} nope --file"
        self.bad(command, "nope", str(artifact))

    def test_subscriptions(self) -> None:
        receiver = self.useFixture(Receiver())
        types = ["VnfIdentifierCreationNotification"]
        asked = {
            "callbackUri": receiver.url,
            "filter": {"notificationTypes": types},
            "authentication": {
                "authType": ["BASIC"],
                "paramsBasic": {"userName": "vnfm", "password": "hush"},
            },
        }
        path = self.file("subscription.json", asked)
        made = self.told(self.lcm("subsc create"), path)
        self.assertEqual(receiver.url, made["Callback URI"])
        self.assertEqual(types, made["Filter"]["notificationTypes"])
        self.assertNotIn("hush", str(made))
        shown = self.told(self.lcm(f"subsc show {made['ID']}"))
        self.assertEqual(made, shown)
        listed = self.told(self.lcm("subsc list"))
        self.assertEqual([made["ID"]], [one["ID"] for one in listed])
        chosen = f"(eq,id,{made['ID']})"
        for filter_, count in ((chosen, 1), (f"(neq,id,{made['ID']})", 0)):
            found = self.told(self.lcm("subsc list --filter"), filter_)
            self.assertEqual(count, len(found))
        # it is led to what there is, and goes there with another POST
        self.bad(self.lcm("subsc create"), "POST is not possible", path)
        self.assertEqual(listed, self.told(self.lcm("subsc list")))
        self.check_told(receiver, made["ID"])
        said = self.good(self.lcm(f"subsc delete {made['ID']}"))
        self.assertIn("is deleted successfully", said)
        self.assertEqual([], self.told(self.lcm("subsc list")))
        self.bad(self.lcm(f"subsc show {made['ID']}"), made["ID"])
        self.bad(self.lcm(f"subsc delete {NOBODY}"), NOBODY)
        wrong = self.file("wrong.json", {"callbackUri": "http://127.0.0.1:1"})
        self.bad(self.lcm("subsc create"), "callbackUri", wrong)

    def check_told(self, receiver: Receiver, subscription: str) -> None:
        csar = self.useFixture(Csar())
        package = self.told("vnf package create")["ID"]
        self.good("vnf package upload --path", str(csar.path), package)
        made = self.told(self.lcm(f"create {csar.vnfd_id}"))
        told = receiver.wait(1)[0]
        self.assertEqual(made["ID"], told.json["vnfInstanceId"])
        self.assertEqual(subscription, told.json["subscriptionId"])
        self.assertTrue(told.headers["Authorization"].startswith("Basic "))

    def test_life_of_a_vnf(self) -> None:
        self.check_versions()
        vnfd_id = self.onboarded()
        self.create(vnfd_id)
        self.instantiate()
        self.scale()
        self.heal()
        self.update()
        self.bad("vim delete cluster", "live")
        self.terminate()
        self.create(vnfd_id)
        self.good(self.lcm(f"delete {self.instance}"))
        self.assertEqual([], self.told(self.lcm("list")))

    def check_versions(self) -> None:
        told = self.told("vnflcm versions")
        self.assertEqual("2.0.0", told["apiVersions"][0]["version"])
        told = self.told(self.lcm("versions --major-version 2"))
        self.assertEqual("/vnflcm/v2", told["uriPrefix"])
        self.bad("vnflcm list", "--os-tacker-api-version 2")
        self.bad(f"vnflcm show {NOBODY}", "--os-tacker-api-version 2")

    def create(self, vnfd_id: str) -> None:
        made = self.told(self.lcm(f"create {vnfd_id} --name mine"))
        self.instance = made["ID"]
        self.assertEqual("NOT_INSTANTIATED", made["Instantiation State"])
        listed = self.told(self.lcm("list"))
        self.assertEqual([self.instance], [one["ID"] for one in listed])
        self.assertEqual("mine", listed[0]["VNF Instance Name"])
        self.bad(self.lcm(f"create {NOBODY}"), NOBODY)
        self.bad(self.lcm(f"show {NOBODY}"), NOBODY)

    def instantiate(self) -> None:
        command = self.lcm(f"instantiate {self.instance}")
        wrong = {**instantiation(), "flavourId": "nope"}
        self.bad(command, "nope", self.file("wrong.json", wrong))
        body = self.file("instantiate.json", instantiation())
        self.assertIn("has been accepted", self.good(command, body))
        done = self.ended()
        self.assertEqual("INSTANTIATE", done["Operation"])
        self.assertEqual(6, len(done["Resource Changes"]["affectedVnfcs"]))
        self.bad(command, "INSTANTIATED", body)

    def scale(self) -> None:
        command = self.lcm(f"scale {self.instance} --aspect-id web_aspect")
        for way, count in (("SCALE_OUT", 3), ("SCALE_IN", 1)):
            said = self.good(f"{command} --type {way} --number-of-steps 2")
            self.assertIn("has been accepted", said)
            self.assertEqual("SCALE", self.ended()["Operation"])
            self.assertEqual(count, len(self.vnfcs("web")))
        self.bad(f"{command} --type SCALE_IN --number-of-steps 9", "web")

    def heal(self) -> None:
        command = self.lcm(f"heal {self.instance}")
        (one,) = self.vnfcs("web")
        said = self.good(f"{command} --cause whim --vnfc-instance {one}")
        self.assertIn("has been accepted", said)
        self.ended()
        (other,) = self.vnfcs("web")
        self.assertNotEqual(one, other)
        self.bad(f"{command} --vnfc-instance {one}", one)
        self.good(command)
        self.assertEqual("HEAL", self.ended()["Operation"])
        self.assertNotEqual([other], self.vnfcs("web"))

    def update(self) -> None:
        command = self.lcm(f"update {self.instance} --I")
        patch = {"vnfInstanceName": "renamed", "metadata": {"owner": "ops"}}
        said = self.good(command, self.file("update.json", patch))
        self.assertIn(f"Update vnf:{self.instance}", said)
        done = self.ended()
        self.assertEqual("MODIFY_INFO", done["Operation"])
        self.assertEqual(patch, done["Changed Info"])
        shown = self.told(self.lcm(f"show {self.instance}"))
        self.assertEqual("renamed", shown["VNF Instance Name"])
        other = {"vnfdId": NOBODY}
        self.bad(command, NOBODY, self.file("other.json", other))

    def terminate(self) -> None:
        said = self.good(
            self.lcm(
                f"terminate {self.instance} --termination-type GRACEFUL"
                " --graceful-termination-timeout 1 --D"
            )
        )
        self.assertIn("is deleted successfully", said)
        self.bad(self.lcm(f"show {self.instance}"), self.instance)
        self.bad(self.lcm(f"terminate {self.instance}"), self.instance)
        done = self.told(self.lcm("op list"))
        self.assertEqual("TERMINATE", done[-1]["Operation"])
        self.assertEqual("COMPLETED", done[-1]["Operation State"])


class TestDecisions(CommandTest):
    """An operation that does not end by itself, and what is decided."""

    pod_start_delay = 600

    def test_what_is_decided_about_an_operation(self) -> None:
        made = self.told(self.lcm(f"create {self.onboarded()}"))
        self.instance = made["ID"]
        body = self.file("instantiate.json", instantiation())
        command = self.lcm(f"instantiate {self.instance}")
        self.good(command, body)
        self.bad(command, "is held by", body)
        self.bad(self.lcm(f"delete {self.instance}"), "is held by")
        first = self.newest()
        self.bad(self.lcm(f"op retry {first}"), "PROCESSING")
        self.cancel(first)
        said = self.good(self.lcm(f"op rollback {first}"))
        self.assertIn("has been accepted", said)
        self.become(first, "ROLLED_BACK")
        self.good(command, body)
        second = self.newest()
        self.cancel(second)
        said = self.good(self.lcm(f"op retry {second}"))
        self.assertIn("has been accepted", said)
        self.become(second, "PROCESSING")
        self.cancel(second)
        failed = self.told(self.lcm(f"op fail {second}"))
        self.assertEqual("FAILED", failed["Operation State"])
        self.assertIn("was cancelled", failed["Error"]["detail"])
        self.bad(self.lcm(f"op rollback {second}"), "FAILED")
        self.bad(self.lcm(f"op fail {NOBODY}"), NOBODY)
        waiting.until(self.is_deleted, "the deletion", START)

    def is_deleted(self) -> bool:
        """Delete the instance, unless something is still on its VIM."""
        done = self.openstack(*self.lcm(f"delete {self.instance}").split())
        if done.returncode:
            self.assertIn("on its VIM", done.stderr)
        return done.returncode == 0

    def newest(self) -> str:
        return str(self.told(self.lcm("op list"))[-1]["ID"])

    def become(self, op_occ_id: str, state: str) -> None:
        def look() -> bool:
            shown = self.told(self.lcm(f"op show {op_occ_id}"))
            return bool(shown["Operation State"] == state)

        waiting.until(look, state, START)

    def cancel(self, op_occ_id: str) -> None:
        """Cancel it by REST: the command cannot, in version 2."""
        client = self.useFixture(Client(self.sandbox.facts["api"]))
        path = f"{OP_OCCS}/{op_occ_id}/cancel"
        answer = client.call("POST", path, {"cancelMode": "FORCEFUL"})
        self.assertEqual(202, answer.status)
        self.become(op_occ_id, "FAILED_TEMP")
