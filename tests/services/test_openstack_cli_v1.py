"""The installed openstack command with its default version of the lifecycle
API, against the sandbox.
"""

import re
import uuid
from typing import Any

from tests.fixtures.http_receiver import HttpReceiver
from tests.services.client import instantiation
from tests.services.test_openstack_cli import UNKNOWN_ID, CommandTest

#: the rows of `vnflcm show` of an instantiated VNF, in version 1
ROWS = [
    "ID",
    "Instantiated Vnf Info",
    "Instantiation State",
    "Links",
    "VIM Connection Info",
    "VNF Configurable Properties",
    "VNF Instance Description",
    "VNF Instance Name",
    "VNF Package ID",
    "VNF Product Name",
    "VNF Provider",
    "VNF Software Version",
    "VNFD ID",
    "VNFD Version",
    "metadata",
]


class VersionOneCase(CommandTest):
    def lcm(self, command: str) -> str:
        return f"vnflcm {command}"

    def create(self, vnfd_id: str) -> dict[str, Any]:
        created: dict[str, Any] = self.run_json(f"vnflcm create {vnfd_id}")
        self.instance = created["ID"]
        return created

    def instantiation(self) -> str:
        """Write a request for the registered VIM; return its path."""
        (vim,) = self.run_json("vim list")
        connection = {
            "id": str(uuid.uuid4()),
            "vimId": vim["ID"],
            "vimType": "kubernetes",
        }
        return self.file(
            "instantiate.json",
            instantiation() | {"vimConnectionInfo": [connection]},
        )

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.run_json(f"vnflcm show {self.instance}")
        return shown

    def vnfcs(self, vdu: str) -> list[str]:
        info = self.show()["Instantiated Vnf Info"]
        found = info["vnfcResourceInfo"]
        return [vnfc["id"] for vnfc in found if vnfc["vduId"] == vdu]

    def accepted(self, command: str, *more: str) -> dict[str, Any]:
        """Run a command that starts an operation; return it at its end."""
        output = self.run_ok(command, *more)
        self.assertRegex(output, f"{self.instance}'? has been accepted\\.\n")
        return self.wait_operation()


class TestLifecycle(VersionOneCase):
    def test_the_commands_of_the_guides_of_healing(self) -> None:
        """`create`, `instantiate`, `show`, `heal` and `delete` without the
        option of the version, by the ids that `show` prints.
        """
        vnfd_id = self.onboarded()
        created = self.create(vnfd_id)
        self.assertEqual(f"vnf-{self.instance}", created["VNF Instance Name"])
        (package,) = self.run_json("vnf package list")
        self.assertEqual(package["Id"], created["VNF Package ID"])
        self.accepted(
            f"vnflcm instantiate {self.instance}", self.instantiation()
        )
        shown = self.show()
        self.assertEqual(ROWS, list(shown))
        (vim,) = shown["VIM Connection Info"]
        self.assertEqual("ETSINFV.KUBERNETES.V_1", vim["vimType"])
        table = self.run_ok(f"vnflcm show {self.instance}")
        self.assertEqual(
            ["Field", *ROWS],
            re.findall(r"^\| (\w.*?) +\|", table, re.MULTILINE),
        )
        info = shown["Instantiated Vnf Info"]
        ids = [vnfc["id"] for vnfc in info["vnfcResourceInfo"]]
        resources = [
            vnfc["computeResource"]["resourceId"]
            for vnfc in info["vnfcResourceInfo"]
        ]
        self.assertEqual(5, uuid.UUID(ids[0]).version)
        self.assertEqual(set(), {*ids} & {*resources})
        self.check_heals(ids)
        listed = self.run_json("vnflcm op list")
        self.assertEqual(
            ["INSTANTIATE", "HEAL", "HEAL", "HEAL"],
            [one["Operation"] for one in listed],
        )
        of_v2 = self.run_json(
            f"--os-tacker-api-version 2 vnflcm show {self.instance}"
        )
        self.assertIsInstance(of_v2["VIM Connection Info"], dict)
        self.accepted(
            f"vnflcm terminate {self.instance} --termination-type FORCEFUL"
        )
        output = self.run_ok(f"vnflcm delete {self.instance}")
        self.assertEqual(
            f"Vnf instance '{self.instance}' is deleted successfully\n", output
        )

    def check_heals(self, ids: list[str]) -> None:
        self.accepted(f"vnflcm heal {self.instance}")
        info = self.show()["Instantiated Vnf Info"]
        healed = [vnfc["id"] for vnfc in info["vnfcResourceInfo"]]
        # the singleton pod has the same name again
        self.assertNotEqual(set(ids), set(healed))
        (one,) = self.vnfcs("web")
        done = self.accepted(
            f"vnflcm heal {self.instance} --vnfc-instance {one}"
        )
        self.assertEqual([one], done["Operation Parameters"]["vnfcInstanceId"])
        self.assertNotEqual([one], self.vnfcs("web"))
        self.run_failing(
            f"vnflcm heal {self.instance} --vnfc-instance {one}",
            self.vnfcs("web")[0],
        )
        two = [*self.vnfcs("web"), *self.vnfcs("cache")]
        self.accepted(
            f"vnflcm heal --cause whim --vnfc-instance {' '.join(two)} "
            f"-- {self.instance}"
        )
        left = {*self.vnfcs("web"), *self.vnfcs("cache")}
        self.assertEqual(set(), {*two} & left)

    def test_commands_of_both_versions_on_one_instance(self) -> None:
        """`vnflcm create` and `vnflcm update` as the guide of updates types
        them: partly with the option of the version, partly without.
        """
        self.create(self.onboarded())
        (vim,) = self.run_json("vim list")
        body = instantiation() | {
            "vimConnectionInfo": {"vim1": {"vimId": vim["ID"]}}
        }
        self.accepted(
            f"vnflcm instantiate {self.instance} --os-tacker-api-version 2",
            self.file("instance_kubernetes.json", body),
        )
        patch = {"vnfInstanceName": "renamed", "metadata": {"owner": "ops"}}
        output = self.run_ok(
            f"vnflcm update {self.instance} --I",
            self.file("sample_param_file.json", patch),
        )
        self.assertEqual(f"Update vnf:{self.instance} \n", output)
        done = self.wait_operation()
        self.assertEqual(patch, done["Changed Info"])
        scale = f"vnflcm scale {self.instance} --aspect-id web_aspect"
        self.accepted(f"{scale} --type SCALE_OUT --number-of-steps 1")
        self.assertEqual(2, len(self.vnfcs("web")))
        self.accepted(f"{scale} --type SCALE_IN")
        self.assertEqual(1, len(self.vnfcs("web")))
        self.run_failing(f"{scale} --type SCALE_IN", "web")
        output = self.run_ok(
            f"vnflcm terminate {self.instance} --graceful-termination-timeout "
            "1 --D"
        )
        self.assertIn("is deleted successfully", output)
        self.run_failing(f"vnflcm show {self.instance}", self.instance)

    def test_commands_without_an_operation(self) -> None:
        self.assertEqual("\n", self.run_ok("vnflcm list"))
        for option, numbers in (
            ("", ["1.3.0", "2.0.0"]),
            ("--major-version 1", ["1.3.0"]),
            ("--major-version 2", ["2.0.0"]),
        ):
            found = self.run_json(f"vnflcm versions {option}")["apiVersions"]
            self.assertEqual(numbers, [one["version"] for one in found])
        vnfd_id = self.onboarded()
        ids = [self.create(vnfd_id)["ID"] for _ in range(2)]
        self.assertEqual(
            ids, [one["ID"] for one in self.run_json("vnflcm list")]
        )
        self.run_failing(f"vnflcm create {UNKNOWN_ID}", UNKNOWN_ID)
        self.run_failing(f"vnflcm heal {ids[0]}", "NOT_INSTANTIATED")
        self.run_failing(f"vnflcm op show {UNKNOWN_ID}", UNKNOWN_ID)
        self.assertEqual("\n", self.run_ok("vnflcm op list"))
        self.assertEqual("", self.run_ok(f"vnflcm update {ids[0]}"))
        output = self.run_ok(f"vnflcm delete {' '.join(ids)}")
        self.assertEqual(
            "All specified vnf instances are deleted successfully\n", output
        )

    def test_subscriptions(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        body = {"callbackUri": receiver.url}
        path = self.file("subscription.json", body)
        created = self.run_json("vnflcm subsc create", path)
        self.assertEqual(
            ["Callback URI", "Filter", "ID", "Links"], list(created)
        )
        # the command repeats the request at the address of the redirect
        self.assertEqual(created, self.run_json("vnflcm subsc create", path))
        listed = self.run_json("vnflcm subsc list")
        self.assertEqual([created["ID"]], [one["ID"] for one in listed])
        shown = self.run_json(f"vnflcm subsc show {created['ID']}")
        self.assertEqual(created, shown)
        instance = self.create(self.onboarded())["ID"]
        (notification,) = receiver.wait(1)
        self.assertEqual("1.3.0", notification.headers["Version"])
        link = notification.json["_links"]["vnfInstance"]["href"]
        self.assertTrue(link.endswith(f"/vnflcm/v1/vnf_instances/{instance}"))
        output = self.run_ok(f"vnflcm subsc delete {created['ID']}")
        self.assertIn("is deleted successfully", output)
        wrong = self.file("wrong.json", {"callbackUri": "http://127.0.0.1:1"})
        self.run_failing("vnflcm subsc create", "callbackUri", wrong)


class TestDecisions(VersionOneCase):
    """Decisions about an operation that hangs, then fails."""

    pod_start_delay = 600

    def test_cancel_retry_rollback_and_fail(self) -> None:
        self.create(self.onboarded())
        body = self.instantiation()
        command = f"vnflcm instantiate {self.instance}"
        self.run_ok(command, body)
        self.run_failing(command, "is reserved by", body)
        first = self.newest()
        self.run_failing(f"vnflcm op retry {first}", "PROCESSING")
        self.cancel(first)
        output = self.run_ok(f"vnflcm op retry {first}")
        self.assertIn(f"operation {first} has been accepted", output)
        self.wait_state(first, "PROCESSING")
        self.cancel(first)
        output = self.run_ok(f"vnflcm op rollback {first}")
        self.assertIn(f"operation {first} has been accepted", output)
        self.wait_state(first, "ROLLED_BACK")
        self.run_failing(f"vnflcm op cancel {first}", "ROLLED_BACK")
        self.run_ok(command, body)
        second = self.newest()
        self.cancel(second)
        failed = self.run_json(f"vnflcm op fail {second}")
        self.assertEqual("FAILED", failed["Operation State"])
        self.assertIn("was cancelled", failed["Error"]["detail"])
        self.run_failing(f"vnflcm op fail {UNKNOWN_ID}", UNKNOWN_ID)

    def newest(self) -> str:
        found = self.run_json("vnflcm op list")[-1]
        self.wait_state(found["ID"], "PROCESSING")
        return str(found["ID"])

    def cancel(self, op_occ_id: str) -> None:
        """Cancel an operation; the command itself fails afterwards."""
        done = self.openstack(
            *f"vnflcm op cancel {op_occ_id} --cancel-mode FORCEFUL".split()
        )
        self.assertEqual(
            f"Cancel request for LCM operation {op_occ_id} has been accepted\n",
            done.stdout,
        )
        self.assertIn("cannot unpack", done.stderr)
        self.wait_state(op_occ_id, "FAILED_TEMP")
