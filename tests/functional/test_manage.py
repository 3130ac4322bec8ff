"""Commands of tacker-cnf-manage that change the database."""

import contextlib
import io
from pathlib import Path

import fixtures
import testtools

from tacker_cnf.cmd import manage
from tests.fixtures.vnfm import Vnfm


class TestManage(testtools.TestCase):
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

    def test_purge(self) -> None:
        status, output = self.manage("db", "purge", "90")
        self.assertEqual(0, status, output)
        self.assertIn("0 operations that ended before", output)
        for wrong in ([], ["x"], ["-1"], ["1"]):
            status, output = self.manage("db", "purge", "--", *wrong)
            self.assertEqual(1, status)
            self.assertIn("a number from 2", output)

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
