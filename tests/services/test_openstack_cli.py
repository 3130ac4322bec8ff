"""The installed openstack command, against the sandbox."""

import json
import subprocess
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tests.fixtures import waiting
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.vnfm import Csar
from tests.services import openstack_command, programs
from tests.services.client import OP_OCCS, Client, instantiation
from tests.services.deployment import START_TIMEOUT_S
from tests.services.openstack_command import INSTALLED, ROOT, OpenstackCommand

UNKNOWN_ID = "11111111-2222-4333-8444-555555555555"
ACTIVE = {"STARTING", "PROCESSING", "ROLLING_BACK"}


class Sandbox(fixtures.Fixture):
    """tools/sandbox in a separate process.

    :param settings: text of a configuration file
    """

    def __init__(
        self, settings: str = "", pod_start_delay: int = 1, nodes: int = 2
    ) -> None:
        super().__init__()
        self._settings = settings
        self._delay = pod_start_delay
        self._nodes = nodes

    def _setUp(self) -> None:
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        state = self.folder / "state"
        (state / "conf.d").mkdir(parents=True)
        (state / "conf.d" / "test.conf").write_text(self._settings)
        self._process = programs.start(
            ROOT / "tools" / "sandbox.py",
            [
                f"--state={state}",
                "--port=0",
                f"--pod-start-delay={self._delay}",
                f"--nodes={self._nodes}",
            ],
            self.folder / "output",
            preloaded=True,
        )
        self.addCleanup(self._end)
        ready = state / "sandbox.json"
        waiting.until(ready.exists, "the sandbox", START_TIMEOUT_S)
        self.facts: dict[str, str] = json.loads(ready.read_text())

    def _end(self) -> None:
        self._process.terminate()
        self._process.join(60)


class CommandTest(testtools.TestCase):
    """The command and a sandbox."""

    #: seconds that a pod takes to start
    pod_start_delay = 1
    #: text of the sandbox's configuration file
    settings = ""
    #: id of the VNF instance of a test
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
            "OS_AUTH_TYPE": "none",
            "OS_ENDPOINT": self.sandbox.facts["api"],
        }
        typed = [str(command or self.command), *words]
        return openstack_command.run(typed, environ)

    def run_ok(self, command: str, *more: str) -> str:
        """Run a command that succeeds; return its stdout."""
        done = self.openstack(*command.split(), *more)
        self.assertEqual(0, done.returncode, f"{command}: {done.stderr}")
        return done.stdout

    def run_json(self, command: str, *more: str) -> Any:
        """Run a command that succeeds; return its decoded JSON."""
        return json.loads(self.run_ok(command, *more, "-f", "json"))

    def run_failing(self, command: str, message: str, *more: str) -> None:
        """Run a command that fails with this message."""
        done = self.openstack(*command.split(), *more)
        self.assertEqual(1, done.returncode, f"{command}: {done.stdout}")
        self.assertIn(message, done.stderr + done.stdout)

    def lcm(self, command: str) -> str:
        return f"--os-tacker-api-version 2 vnflcm {command}"

    def file(self, name: str, content: Any) -> str:
        path = self.folder / name
        path.write_text(json.dumps(content))
        return str(path)

    def wait_operation(self) -> dict[str, Any]:
        """Wait until the newest operation is COMPLETED; return it."""

        def look() -> list[Any] | None:
            found: list[Any] = self.run_json(self.lcm("op list"))
            busy = {one["Operation State"] for one in found} & ACTIVE
            return None if busy else found

        newest = waiting.until(look, "the operation", START_TIMEOUT_S)[-1]
        self.assertEqual("COMPLETED", newest["Operation State"])
        shown: dict[str, Any] = self.run_json(
            self.lcm(f"op show {newest['ID']}")
        )
        self.assertEqual("COMPLETED", shown["Operation State"])
        self.assertEqual(self.instance, shown["VNF Instance ID"])
        return shown

    def wait_state(self, op_occ_id: str, state: str) -> None:
        """Wait until an operation is in a state."""

        def look() -> bool:
            shown = self.run_json(self.lcm(f"op show {op_occ_id}"))
            return bool(shown["Operation State"] == state)

        waiting.until(look, state, START_TIMEOUT_S)

    def onboarded(self) -> str:
        """Register the VIM and onboard the sample; return its VNFD id."""
        self.run_ok(
            "vim register cluster --is-default --config-file",
            self.sandbox.facts["vim"],
        )
        csar = self.useFixture(Csar())
        package = self.run_json("vnf package create")["ID"]
        self.run_ok("vnf package upload --path", str(csar.path), package)
        return csar.vnfd_id


class TestOpenstackCommand(CommandTest):
    def test_the_installed_command(self) -> None:
        listed = ("vim", "list", "-f", "json")
        done = self.openstack(*listed, command=INSTALLED)
        self.assertEqual((0, "[]\n"), (done.returncode, done.stdout))
        unknown = ("vim", "show", "none")
        for command in (INSTALLED, None):
            done = self.openstack(*unknown, command=command)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn("none", done.stderr)

    def vnfcs(self, vdu: str) -> list[str]:
        info = self.run_json(self.lcm(f"show {self.instance}"))[
            "Instantiated Vnf Info"
        ]
        return [v["id"] for v in info["vnfcInfo"] if v["vduId"] == vdu]

    def test_vims(self) -> None:
        vim_file = self.sandbox.facts["vim"]
        made = self.run_json(
            "vim register one --is-default --description first --config-file",
            vim_file,
        )
        self.assertEqual("REACHABLE", made["status"])
        self.assertTrue(made["is_default"])
        self.assertNotIn("bearer_token", made["auth_cred"])
        listed = self.run_json("vim list")
        self.assertEqual([made["id"]], [vim["ID"] for vim in listed])
        shown = self.run_json("vim show one")
        self.assertEqual("first", shown["description"])
        self.assertEqual(shown, self.run_json(f"vim show {made['id']}"))
        self.run_ok("vim set one --description changed")
        self.assertEqual(
            "changed", self.run_json("vim show one")["description"]
        )
        self.run_failing("vim register one --config-file", "one", vim_file)
        self.run_failing("vim show two", "two")
        self.run_failing(
            "vim set one --config-file", "", self.file("no.yaml", {})
        )
        self.run_ok("vim delete one")
        self.assertEqual([], self.run_json("vim list"))
        self.run_failing("vim delete one", "one")

    def test_packages(self) -> None:
        user_data = "import tacker.db\n"  # results in a warning
        csar = self.useFixture(Csar(files={"UserData/own.py": user_data}))
        made = self.run_json("vnf package create --user-data color=blue")
        package = made["ID"]
        self.assertEqual("CREATED", made["Onboarding State"])
        self.run_failing(
            "vnf package upload --path", "zip", self.create_leftover(), package
        )
        self.run_ok("vnf package upload --path", str(csar.path), package)
        self.run_failing(
            "vnf package upload --path", "", str(csar.path), package
        )
        self.check_shown(package, csar.vnfd_id)
        self.check_downloads(package, csar)
        self.run_failing(f"vnf package delete {package}", "ENABLED")
        self.run_ok(
            f"vnf package update {package} --operational-state DISABLED"
            " --user-data size=small"
        )
        shown = self.run_json(f"vnf package show {package}")
        self.assertEqual("DISABLED", shown["Operational State"])
        data = {"color": "blue", "size": "small"}
        self.assertEqual(data, shown["User Defined Data"])
        self.run_ok(f"vnf package delete {package}")
        self.assertEqual([], self.run_json("vnf package list"))
        self.run_failing(f"vnf package show {package}", package)
        self.run_failing(f"vnf package delete {UNKNOWN_ID}", UNKNOWN_ID)

    def create_leftover(self) -> str:
        return self.file("junk.zip", "this is no zip file")

    def check_shown(self, package: str, vnfd_id: str) -> None:
        shown = self.run_json(f"vnf package show {package}")
        self.assertEqual("ONBOARDED", shown["Onboarding State"])
        self.assertEqual("ENABLED", shown["Operational State"])
        self.assertEqual("NOT_IN_USE", shown["Usage State"])
        self.assertEqual(vnfd_id, shown["VNFD ID"])
        self.assertEqual("SHA-256", shown["Checksum"]["algorithm"])
        self.assertEqual(
            ["UserData/own.py imports tacker.db: requests that run it fail"],
            shown["warnings"],
        )
        listed = self.run_json("vnf package list")
        self.assertEqual([package], [one["Id"] for one in listed])
        self.assertEqual("Five Kinds", listed[0]["Vnf Product Name"])

    def check_downloads(self, package: str, csar: Csar) -> None:
        whole = self.folder / "whole.zip"
        self.run_ok(f"vnf package download {package} --file", str(whole))
        self.assertEqual(csar.read(), whole.read_bytes())
        vnfd = self.folder / "vnfd.zip"
        self.run_ok(f"vnf package download {package} --vnfd --file", str(vnfd))
        self.assertTrue(vnfd.read_bytes().startswith(b"PK"))
        artifact = self.folder / "artifact"
        name = "Files/kubernetes/deployment.yaml"
        command = f"vnf package artifact download {package} {name} --file"
        self.run_ok(command, str(artifact))
        source = ROOT / "samples" / "cnf" / name
        self.assertEqual(source.read_text(), artifact.read_text())
        command = f"vnf package artifact download {package} nope --file"
        self.run_failing(command, "nope", str(artifact))

    def test_subscriptions(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        types = ["VnfIdentifierCreationNotification"]
        subscription_request = {
            "callbackUri": receiver.url,
            "filter": {"notificationTypes": types},
            "authentication": {
                "authType": ["BASIC"],
                "paramsBasic": {"userName": "vnfm", "password": "hush"},
            },
        }
        path = self.file("subscription.json", subscription_request)
        made = self.run_json(self.lcm("subsc create"), path)
        self.assertEqual(receiver.url, made["Callback URI"])
        self.assertEqual(types, made["Filter"]["notificationTypes"])
        self.assertNotIn("hush", str(made))
        shown = self.run_json(self.lcm(f"subsc show {made['ID']}"))
        self.assertEqual(made, shown)
        listed = self.run_json(self.lcm("subsc list"))
        self.assertEqual([made["ID"]], [one["ID"] for one in listed])
        chosen = f"(eq,id,{made['ID']})"
        for filter_, count in ((chosen, 1), (f"(neq,id,{made['ID']})", 0)):
            found = self.run_json(self.lcm("subsc list --filter"), filter_)
            self.assertEqual(count, len(found))
        # the client follows 303 to the existing one by another POST
        again = self.run_json(self.lcm("subsc create"), path)
        self.assertEqual(made, again)
        self.assertEqual(listed, self.run_json(self.lcm("subsc list")))
        self.check_notification(receiver, made["ID"])
        output = self.run_ok(self.lcm(f"subsc delete {made['ID']}"))
        self.assertIn("is deleted successfully", output)
        self.assertEqual([], self.run_json(self.lcm("subsc list")))
        self.run_failing(self.lcm(f"subsc show {made['ID']}"), made["ID"])
        self.run_failing(self.lcm(f"subsc delete {UNKNOWN_ID}"), UNKNOWN_ID)
        wrong = self.file("wrong.json", {"callbackUri": "http://127.0.0.1:1"})
        self.run_failing(self.lcm("subsc create"), "callbackUri", wrong)

    def check_notification(
        self, receiver: HttpReceiver, subscription: str
    ) -> None:
        csar = self.useFixture(Csar())
        package = self.run_json("vnf package create")["ID"]
        self.run_ok("vnf package upload --path", str(csar.path), package)
        made = self.run_json(self.lcm(f"create {csar.vnfd_id}"))
        notification = receiver.wait(1)[0]
        self.assertEqual(made["ID"], notification.json["vnfInstanceId"])
        self.assertEqual(subscription, notification.json["subscriptionId"])
        self.assertTrue(
            notification.headers["Authorization"].startswith("Basic ")
        )

    def test_lifecycle_of_a_vnf(self) -> None:
        self.check_versions()
        vnfd_id = self.onboarded()
        self.create(vnfd_id)
        self.instantiate()
        self.scale()
        self.heal()
        self.update()
        self.run_failing("vim delete cluster", "in use")
        self.terminate()
        self.create(vnfd_id)
        self.run_ok(self.lcm(f"delete {self.instance}"))
        self.assertEqual([], self.run_json(self.lcm("list")))

    def check_versions(self) -> None:
        versions = self.run_json("vnflcm versions")["apiVersions"]
        numbers = [one["version"] for one in versions]
        self.assertEqual(["1.3.0", "2.0.0"], numbers)
        versions = self.run_json(self.lcm("versions --major-version 2"))
        self.assertEqual("/vnflcm/v2", versions["uriPrefix"])

    def create(self, vnfd_id: str) -> None:
        made = self.run_json(self.lcm(f"create {vnfd_id} --name mine"))
        self.instance = made["ID"]
        self.assertEqual("NOT_INSTANTIATED", made["Instantiation State"])
        listed = self.run_json(self.lcm("list"))
        self.assertEqual([self.instance], [one["ID"] for one in listed])
        self.assertEqual("mine", listed[0]["VNF Instance Name"])
        self.run_failing(self.lcm(f"create {UNKNOWN_ID}"), UNKNOWN_ID)
        self.run_failing(self.lcm(f"show {UNKNOWN_ID}"), UNKNOWN_ID)

    def instantiate(self) -> None:
        command = self.lcm(f"instantiate {self.instance}")
        wrong = {**instantiation(), "flavourId": "nope"}
        self.run_failing(command, "nope", self.file("wrong.json", wrong))
        body = self.file("instantiate.json", instantiation())
        self.assertIn("has been accepted", self.run_ok(command, body))
        done = self.wait_operation()
        self.assertEqual("INSTANTIATE", done["Operation"])
        self.assertEqual(6, len(done["Resource Changes"]["affectedVnfcs"]))
        self.run_failing(command, "INSTANTIATED", body)

    def scale(self) -> None:
        command = self.lcm(f"scale {self.instance} --aspect-id web_aspect")
        for way, count in (("SCALE_OUT", 3), ("SCALE_IN", 1)):
            output = self.run_ok(f"{command} --type {way} --number-of-steps 2")
            self.assertIn("has been accepted", output)
            self.assertEqual("SCALE", self.wait_operation()["Operation"])
            self.assertEqual(count, len(self.vnfcs("web")))
        self.run_failing(
            f"{command} --type SCALE_IN --number-of-steps 9", "web"
        )

    def heal(self) -> None:
        command = self.lcm(f"heal {self.instance}")
        (one,) = self.vnfcs("web")
        output = self.run_ok(f"{command} --cause whim --vnfc-instance {one}")
        self.assertIn("has been accepted", output)
        self.wait_operation()
        (other,) = self.vnfcs("web")
        self.assertNotEqual(one, other)
        self.run_failing(f"{command} --vnfc-instance {one}", one)
        self.run_ok(command)
        self.assertEqual("HEAL", self.wait_operation()["Operation"])
        self.assertNotEqual([other], self.vnfcs("web"))

    def update(self) -> None:
        command = self.lcm(f"update {self.instance} --I")
        patch = {"vnfInstanceName": "renamed", "metadata": {"owner": "ops"}}
        output = self.run_ok(command, self.file("update.json", patch))
        self.assertIn(f"Update vnf:{self.instance}", output)
        done = self.wait_operation()
        self.assertEqual("MODIFY_INFO", done["Operation"])
        self.assertEqual(patch, done["Changed Info"])
        shown = self.run_json(self.lcm(f"show {self.instance}"))
        self.assertEqual("renamed", shown["VNF Instance Name"])
        other = {"vnfdId": UNKNOWN_ID}
        self.run_failing(command, UNKNOWN_ID, self.file("other.json", other))

    def terminate(self) -> None:
        output = self.run_ok(
            self.lcm(
                f"terminate {self.instance} --termination-type GRACEFUL"
                " --graceful-termination-timeout 1 --D"
            )
        )
        self.assertIn("is deleted successfully", output)
        self.run_failing(self.lcm(f"show {self.instance}"), self.instance)
        self.run_failing(self.lcm(f"terminate {self.instance}"), self.instance)
        done = self.run_json(self.lcm("op list"))
        self.assertEqual("TERMINATE", done[-1]["Operation"])
        self.assertEqual("COMPLETED", done[-1]["Operation State"])


class TestDecisions(CommandTest):
    """Decisions about operations that fail or hang."""

    pod_start_delay = 600

    def test_retry_rollback_fail_and_cancel(self) -> None:
        made = self.run_json(self.lcm(f"create {self.onboarded()}"))
        self.instance = made["ID"]
        body = self.file("instantiate.json", instantiation())
        command = self.lcm(f"instantiate {self.instance}")
        self.run_ok(command, body)
        self.run_failing(command, "is reserved by", body)
        self.run_failing(self.lcm(f"delete {self.instance}"), "is reserved by")
        first = self.newest()
        self.run_failing(self.lcm(f"op retry {first}"), "PROCESSING")
        self.cancel(first)
        output = self.run_ok(self.lcm(f"op rollback {first}"))
        self.assertIn("has been accepted", output)
        self.wait_state(first, "ROLLED_BACK")
        self.run_ok(command, body)
        second = self.newest()
        self.cancel(second)
        output = self.run_ok(self.lcm(f"op retry {second}"))
        self.assertIn("has been accepted", output)
        self.wait_state(second, "PROCESSING")
        self.cancel(second)
        failed = self.run_json(self.lcm(f"op fail {second}"))
        self.assertEqual("FAILED", failed["Operation State"])
        self.assertIn("was cancelled", failed["Error"]["detail"])
        self.run_failing(self.lcm(f"op rollback {second}"), "FAILED")
        self.run_failing(self.lcm(f"op fail {UNKNOWN_ID}"), UNKNOWN_ID)
        waiting.until(self.is_deleted, "the deletion", START_TIMEOUT_S)

    def is_deleted(self) -> bool:
        """Delete the instance, unless its VIM still has resources."""
        done = self.openstack(*self.lcm(f"delete {self.instance}").split())
        if done.returncode:
            self.assertIn("on its VIM", done.stderr)
        return done.returncode == 0

    def newest(self) -> str:
        return str(self.run_json(self.lcm("op list"))[-1]["ID"])

    def cancel(self, op_occ_id: str) -> None:
        """Cancel it by REST: the command has no cancel in version 2."""
        client = self.useFixture(Client(self.sandbox.facts["api"]))
        path = f"{OP_OCCS}/{op_occ_id}/cancel"
        response = client.call("POST", path, {"cancelMode": "FORCEFUL"})
        self.assertEqual(202, response.status)
        self.wait_state(op_occ_id, "FAILED_TEMP")
