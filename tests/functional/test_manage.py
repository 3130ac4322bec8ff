"""Commands of tacker-cnf-manage that change the database."""

import contextlib
import io
from pathlib import Path
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools
from testtools.matchers import EndsWith, StartsWith

from tacker_cnf import errors
from tacker_cnf.cmd import manage
from tests.fixtures.vnfm import FAKE_VIM, Vnfm


def fail_instantiation(vnfm: Vnfm, reason: str) -> Any:
    """Let an instantiation fail; return it."""

    def fail(_: object) -> None:
        raise errors.InfraError(reason)

    vnfm.driver.before["apply"] = fail
    body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
    failed = vnfm.run(vnfm.create(), "instantiate", body)
    assert failed["operationState"] == "FAILED_TEMP", failed
    return failed


class ManageCase(testtools.TestCase):
    """A service in this process, and the command."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        state_path = self.vnfm.state_path
        self.config = Path(self.useFixture(fixtures.TempDir()).path) / "x.conf"
        self.config.write_text(f"[DEFAULT]\nstate_path = {state_path}\n")

    def manage(self, *arguments: str) -> tuple[int, str]:
        """Run a command; return its exit status and its output."""
        output = io.StringIO()
        options = ("--config-file", str(self.config))
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            status = manage.main([*options, *arguments])
        return status, output.getvalue()


class TestManage(ManageCase):
    def test_purge(self) -> None:
        for before in ("90", "2026-01-31"):
            status, output = self.manage("db", "purge", before)
            self.assertEqual(0, status, output)
            self.assertIn("0 operations that ended before", output)
        wrong_dates = (["2026-02-31"], ["9999-01-01"], ["9" * 20])
        for wrong in ([], ["x"], ["-1"], ["1"], *wrong_dates):
            status, output = self.manage("db", "purge", "--", *wrong)
            self.assertEqual(1, status)
            self.assertIn("a number from 2", output)

    def test_a_dry_run_of_a_purge_deletes_nothing(self) -> None:
        instance_id = self.vnfm.create_instantiated()
        for _ in range(2):
            self.vnfm.modify(instance_id, {"vnfInstanceName": "new"})
        with self.vnfm.parts.store.engine.begin() as connection:
            long_ago = "UPDATE vnf_lcm_op_occs SET state_entered_time = :time"
            time = {"time": "2025-01-01 00:00:00"}
            connection.execute(sa.text(long_ago), time)
        kept = "Kept: 2 that are the instantiation or the last operation"
        for _ in range(2):
            _, output = self.manage("db", "purge", "90", "--dry-run")
            self.assertIn("1 operations that ended before", output)
            self.assertIn("would be deleted", output)
            self.assertIn(kept, output)
        _, output = self.manage("db", "purge", "90")
        self.assertRegex(output, "^1 operations .* deleted")
        _, output = self.manage("operations", "--state", "COMPLETED")
        self.assertIn("2 operations.", output)

    def test_help_describes_each_area(self) -> None:
        output = io.StringIO()
        with (
            contextlib.redirect_stdout(output),
            contextlib.suppress(SystemExit),
        ):
            manage.main(["--help"])
        for area in manage.COMMANDS:
            self.assertRegex(output.getvalue(), rf"(?m)^    {area} +\S")

    def test_operations(self) -> None:
        none = "No operation is running, waiting or FAILED_TEMP.\n"
        self.assertEqual((0, none), self.manage("operations"))
        failed = fail_instantiation(self.vnfm, "no\nquota")
        status, output = self.manage("operations", "--project", "noauth")
        self.assertEqual(0, status, output)
        line, count = output.splitlines()
        self.assertEqual("1 operations.", count)
        self.assertThat(
            line, StartsWith(f"{failed['id']} INSTANTIATE FAILED_TEMP since ")
        )
        instance_id = failed["vnfInstanceId"]
        self.assertThat(line, EndsWith(f"{instance_id} of project noauth: no"))
        for argument, value, none in (
            ("--project", "x", "of project x is running, waiting or"),
            ("--state", "starting", "is STARTING."),
        ):
            output = self.manage("operations", argument, value)[1]
            self.assertIn(f"No operation {none}", output)
        status, output = self.manage("operations", "--state", "lost")
        self.assertEqual(1, status)
        self.assertIn("--state: lost is unknown; it has to be one", output)

    def test_the_conductor_of_an_operation(self) -> None:
        printed = []
        self.vnfm.driver.before["apply"] = lambda _: printed.append(
            self.manage("operations")[1]
        )
        self.vnfm.create_instantiated()
        self.assertRegex(
            printed[0], r"INSTANTIATE PROCESSING .*, process \d+ on \S+"
        )

    def test_keys_are_replaced(self) -> None:
        instance_id = self.vnfm.create(self.vnfm.onboard())
        self.assertEqual(0, self.manage("keys", "rotate")[0])
        status, output = self.manage("keys", "reencrypt")
        self.assertEqual(0, status, output)
        self.assertRegex(output, r"^[1-9]\d* values encrypted")
        self.assertEqual(instance_id, self.vnfm.instance(instance_id)["id"])

    def test_quotas(self) -> None:
        self.vnfm.create(self.vnfm.onboard())
        status, output = self.manage("quotas", "show", "noauth")
        self.assertEqual(0, status, output)
        rows = dict(line.split(maxsplit=1) for line in output.splitlines())
        used = rows["vnf_instances"].split()
        self.assertEqual(["1000", "1", "all", "projects"], used)
        status, output = self.manage(
            "quotas", "set", "noauth", "vnf_instances", "1"
        )
        self.assertEqual(0, status, output)
        self.assertRegex(output, r"vnf_instances +1 +1 +the project")
        created = self.vnfm.call(
            "POST",
            "/vnflcm/v2/vnf_instances",
            {"vnfdId": self.vnfm.onboard()},
        )
        self.assertEqual(403, created.status)
        unlimited = ("set", "noauth", "vims", "--", "-1")
        status, output = self.manage("quotas", *unlimited)
        self.assertRegex(output, r"vims +unlimited +0 +the project")
        _, output = self.manage("quotas", "unset", "noauth", "vims")
        self.assertRegex(output, r"vims +100 +0 +all projects")
        self.assertRegex(output, r"vnf_instances +1 +1 +the project")
        _, output = self.manage("quotas", "unset", "noauth")
        self.assertNotIn("the project", output)

    def test_quotas_that_are_not_valid(self) -> None:
        for name, limit, message in (
            ("pods", "1", "QUOTA: pods is unknown; it has to be one of"),
            ("vims", "many", "LIMIT: many; it has to be a number, or -1"),
            ("vims", "-2", "LIMIT: -2; it has to be a number, or -1"),
        ):
            status, output = self.manage(
                "quotas", "set", "--", "noauth", name, limit
            )
            self.assertEqual(1, status)
            self.assertIn(message, output)
