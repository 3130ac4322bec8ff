"""The command tacker-cnf against the whole service."""

import json
import shutil
from pathlib import Path
from typing import Any

import fixtures

from tacker_cnf import errors
from tests.fixtures.command_line import CommandLine
from tests.fixtures.served_api import Served
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Vnfm


class CommandCase(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.served = self.useFixture(Served(self.vnfm))
        self.command = self.useFixture(CommandLine(self, self.served.url))
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.request = self.folder / "request.json"
        self.request.write_text(json.dumps({"vimConnectionInfo": FAKE_VIM}))

    def read(self, *arguments: str) -> Any:
        """Run a command that has to succeed; return its output as JSON."""
        return json.loads(self.command.succeed(*arguments, "-f", "json"))

    def create(self, name: str) -> str:
        """Create a VNF instance; return its id."""
        vnfd_id = self.vnfm.onboard()
        created = self.read("vnf", "create", vnfd_id, "--name", name)
        return str(created["id"])

    def instantiate(self, name: str) -> str:
        """Instantiate a VNF; return the output."""
        return self.command.succeed(
            *("vnf", "instantiate", name, "--flavour", "simple", "--wait"),
            *("--request", str(self.request)),
        )

    def start_failing(self, name: str) -> str:
        """Scale a VNF, which fails; return the id of the operation."""

        def fail(_: object) -> None:
            raise errors.InfraError("\x1b[2JQuota exceeded.")

        self.vnfm.driver.before["apply"] = fail
        output = self.command.expect(
            1,
            "vnf",
            "scale",
            name,
            "--aspect",
            "web_aspect",
            "--out",
            "1",
            "--wait",
        )
        self.assertIn("\ufffd[2JQuota exceeded.\n", output.stderr)
        (op,) = self.read("op", "list", "--state", "FAILED_TEMP")
        for decision in ("retry", "rollback", "fail"):
            self.assertIn(f"op {decision} {op['id']}", output.stderr)
        return str(op["id"])


class TestLifecycle(CommandCase):
    def test_the_life_of_a_vnf(self) -> None:
        instance_id = self.create("demo")
        output = self.instantiate("demo")
        self.assertRegex(output, r"INSTANTIATE of demo: COMPLETED$")
        shown = self.read("vnf", "show", instance_id)
        self.assertEqual("STARTED", shown["vnfState"])
        self.assertIn("VDU/web", self.command.succeed("describe", "demo"))
        for arguments, operation in (
            ("scale demo --aspect web_aspect --out 2", "SCALE"),
            ("scale demo --aspect web_aspect --in 1", "SCALE"),
            ("scale-to-level demo --aspect web_aspect=0", "SCALE_TO_LEVEL"),
            ("heal demo --cause test", "HEAL"),
            ("operate demo stop --graceful 1", "OPERATE"),
            ("operate demo start", "OPERATE"),
            ("terminate demo --forceful", "TERMINATE"),
        ):
            output = self.command.succeed("vnf", *arguments.split(), "--wait")
            self.assertRegex(output, f"{operation} of demo: COMPLETED$")
        self.command.succeed("vnf", "delete", "demo")
        self.assertEqual([], self.read("vnf", "list"))

    def test_an_operation_is_started_and_watched(self) -> None:
        self.create("demo")
        self.instantiate("demo")
        output = self.command.run("vnf", "heal", "demo")
        op_occ_id = output.stdout.strip()
        self.assertIn(f"op watch {op_occ_id}", output.stderr)
        output = self.command.expect(0, "op", "watch", op_occ_id)
        self.assertIn("HEAL of demo: COMPLETED", output.stdout)
        self.command.expect(2, "op", "list", "--state", "FOO")
        output = self.command.expect(0, "op", "list", "--state", "FAILED")
        self.assertEqual("", output.stdout)
        self.assertIn("The list is empty.\n", output.stderr)
        listed = self.read("op", "list", "--vnf", "demo")
        self.assertEqual({"demo"}, {op["vnfInstanceName"] for op in listed})
        self.assertIn(op_occ_id, [op["id"] for op in listed])

    def test_missing_options(self) -> None:
        self.create("demo")
        for arguments, missing in (
            ("instantiate demo", "--flavour is missing"),
            ("scale demo --out 1", "--aspect is missing"),
            ("scale demo", "--aspect and --out or --in is missing"),
            ("scale demo --aspect a --out 0", "'0' is not a number from 1"),
            ("scale-to-level demo", "--level or --aspect is missing"),
        ):
            output = self.command.expect(2, "vnf", *arguments.split())
            self.assertIn(missing, output.stderr)

    def test_a_dry_run_changes_nothing(self) -> None:
        self.create("demo")
        self.instantiate("demo")
        output = self.command.succeed(
            "vnf", "terminate", "demo", "--dry-run", "--wait"
        )
        self.assertRegex(output, "^TERMINATE of VNF instance .*\n")
        (op,) = self.read("op", "list")
        self.assertEqual("INSTANTIATE", op["operation"])


class TestDecisions(CommandCase):
    def setUp(self) -> None:
        super().setUp()
        self.create("demo")
        self.instantiate("demo")
        self.op_occ_id = self.start_failing("demo")

    def test_retry(self) -> None:
        self.command.expect(1, "op", "retry", self.op_occ_id, "--wait")
        self.vnfm.driver.before.clear()
        preview = self.command.succeed(
            "op", "retry", self.op_occ_id, "--dry-run"
        )
        self.assertIn("Retry of SCALE", preview)
        output = self.command.expect(
            0, "op", "retry", self.op_occ_id, "--wait"
        )
        self.assertNotIn("FAILED", output.stdout)
        self.assertIn("(attempt 3)", output.stdout)

    def test_rollback(self) -> None:
        self.vnfm.driver.before.clear()
        self.command.succeed("op", "rollback", self.op_occ_id, "--wait")
        # the operation itself did not succeed
        output = self.command.expect(1, "op", "watch", self.op_occ_id)
        self.assertIn("SCALE of demo is ROLLED_BACK", output.stderr)

    def test_fail(self) -> None:
        shown = self.read("op", "show", self.op_occ_id)
        self.assertEqual(["retry", "rollback", "fail"], shown["decisions"])
        text = self.command.succeed("op", "fail", self.op_occ_id)
        self.assertEqual(f"SCALE {self.op_occ_id} is FAILED.", text)
        shown = self.read("op", "show", self.op_occ_id)
        self.assertEqual("FAILED", shown["operationState"])
        output = self.command.expect(1, "op", "cancel", self.op_occ_id)
        self.assertRegex(output.stderr, r"\(HTTP 409, request req-\S+\)")


class TestVims(CommandCase):
    def test_a_vim_comes_and_goes(self) -> None:
        config = self.folder / "vim.yaml"
        config.write_text(
            "type: fake\nauth_url: https://vim.example\n"
            "project_name: default\nbearer_token: secret\n"
        )
        arguments = ("vim", "register", str(config))
        first = self.read(*arguments, "--default", "--description", "one")
        self.assertEqual("vim", first["name"])
        self.assertTrue(first["is_default"])
        self.assertEqual({"name": "default"}, first["vim_project"])
        second = self.read(*arguments, "--name", "other")
        listed = self.read("vim", "list")
        self.assertEqual(["vim", "other"], [vim["name"] for vim in listed])
        self.assertEqual(second, self.read("vim", "show", "other"))
        self.command.expect(2, "vim", "delete", "other", "nope")
        self.command.succeed("vim", "delete", "other", first["id"])
        self.assertEqual([], self.read("vim", "list"))


class TestReferences(CommandCase):
    def test_a_name_that_is_not_unique(self) -> None:
        name = "it's (eq,id,x);"
        ids = {self.create(name), self.create(name)}
        for command in ("describe", "vnf heal", "op list --vnf"):
            output = self.command.expect(2, *command.split(), name)
            for instance_id in ids:
                self.assertIn(instance_id, output.stderr)
        for instance_id in ids:
            self.command.succeed("vnf", "delete", instance_id)

    def test_names_that_nothing_has(self) -> None:
        unknown = "11111111-2222-4333-8444-555555555555"
        for command, status in (
            ("vnf show nope", 2),
            (f"vnf delete {unknown}", 2),
            ("package show nope", 2),
            ("vnf instantiate nope --vim nope", 2),
            ("op show nope", 2),
            (f"op watch {unknown}", 1),
            ("vnf heal", 2),
            ("vnf heal nope --request nope", 2),
            ("nope", 2),
            ("", 2),
        ):
            self.command.expect(status, *command.split())

    def test_a_name_that_looks_like_an_id(self) -> None:
        name = "11111111-2222-4333-8444-555555555555"
        instance_id = self.create(name)
        self.assertEqual(instance_id, self.read("vnf", "show", name)["id"])

    def test_lists_of_several_pages(self) -> None:
        vnfd_id = self.vnfm.onboard()
        created = {self.vnfm.create(vnfd_id) for _ in range(3)}
        self.vnfm.conf.set_override("page_size", 1, "api")
        listed = self.read("vnf", "list")
        self.assertEqual(created, {instance["id"] for instance in listed})


class TestPackages(CommandCase):
    def test_a_package_comes_and_goes(self) -> None:
        csar = self.useFixture(Csar())
        uploaded = self.read("package", "upload", str(csar.path))
        self.assertEqual(csar.vnfd_id, uploaded["vnfdId"])
        output = self.command.expect(1, "package", "check", str(csar.path))
        self.assertIn("contains the VNFD", output.stderr)
        output = self.command.expect(1, "package", "delete", csar.vnfd_id)
        self.assertIn("disable it first", output.stderr)
        self.command.succeed("package", "delete", csar.vnfd_id, "--disable")
        self.assertEqual([], self.read("package", "list"))

    def test_a_package_is_disabled_and_enabled(self) -> None:
        vnfd_id = self.vnfm.onboard()
        for command, state in (
            ("disable", "DISABLED"),
            ("disable", "DISABLED"),
            ("enable", "ENABLED"),
        ):
            self.command.succeed("package", command, vnfd_id)
            shown = self.read("package", "show", vnfd_id)
            self.assertEqual(state, shown["operationalState"])

    def test_a_check_leaves_nothing(self) -> None:
        csar = self.useFixture(Csar())
        text = self.command.succeed("package", "check", str(csar.path))
        self.assertIn("can be onboarded, with no warnings", text)
        bad = self.folder / "bad.csar"
        bad.write_bytes(b"no ZIP")
        for command in ("check", "upload"):
            output = self.command.expect(1, "package", command, str(bad))
            self.assertIn("ZIP", output.stderr)
        self.assertEqual([], self.read("package", "list"))

    def test_a_directory_is_packed(self) -> None:
        source = str(Csar.source("cnf"))
        uploaded = self.read("package", "upload", source)
        self.assertEqual("Five Kinds", uploaded["vnfProductName"])

    def test_a_directory_with_links(self) -> None:
        source = self.folder / "source"
        shutil.copytree(Csar.source("cnf"), source)
        link = source / "link"
        beside = self.folder / "source-key"
        beside.write_text("secret")
        for target in (beside, "../source-key", "/etc", "Files", "nothing"):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
            for command in ("check", "upload"):
                arguments = ("package", command, str(source))
                output = self.command.expect(2, *arguments)
                self.assertIn(f"{link} is a symbolic link to", output.stderr)
        self.assertEqual([], self.read("package", "list"))
        link.unlink()
        link.symlink_to("TOSCA-Metadata/TOSCA.meta")
        self.command.succeed("package", "check", str(source))
