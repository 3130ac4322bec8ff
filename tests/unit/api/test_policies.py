"""The default policies, by role and project of the client."""

from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.api import policies
from tacker_cnf.context import RequestContext

READ = "vnf_instances:show"
WRITE = "vnf_instances:scale"
READ_SHARED = "vnf_packages:download"
WRITE_SHARED = "vnf_packages:update"
OWN = {"project_id": "a", "user_id": "u", "is_shared": False}
SHARED = {"project_id": "b", "user_id": "v", "is_shared": True}
FOREIGN = {"project_id": "b", "user_id": "v", "is_shared": False}


class PolicyTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = cfg.ConfigOpts()
        self.conf(["--config-dir", str(self.folder)])

    def allowed(self, *roles: str) -> set[tuple[str, str]]:
        """Return which tasks on which resources a client may do."""
        enforcer = policies.enforcer(self.conf)
        client = RequestContext(project_id="a", user_id="u", roles=list(roles))
        return {
            (task, name)
            for task in (READ, WRITE, READ_SHARED, WRITE_SHARED)
            for name, target in (
                ("own", OWN),
                ("shared", SHARED),
                ("foreign", FOREIGN),
            )
            if enforcer.enforce(policies.rule_of(task), target, client)
        }

    def test_a_reader_reads(self) -> None:
        expected = {(READ, "own"), (READ_SHARED, "own")}
        expected |= {(READ_SHARED, "shared")}
        self.assertEqual(expected, self.allowed("reader"))

    def test_a_member_writes_in_its_project(self) -> None:
        expected = self.allowed("reader") | {
            (WRITE, "own"),
            (WRITE_SHARED, "own"),
        }
        self.assertEqual(expected, self.allowed("member"))

    def test_administrators_and_services_do_everything(self) -> None:
        for role in ("admin", "service"):
            self.assertEqual(12, len(self.allowed(role)))

    def test_other_roles_do_nothing(self) -> None:
        self.assertEqual(set(), self.allowed("other"))

    def test_a_rule_of_an_earlier_release_is_an_error(self) -> None:
        (self.folder / "policy.yaml").write_text('"lcm:write": "role:boss"')
        error = self.assertRaises(
            errors.VnfmError, policies.enforcer, self.conf
        )
        self.assertIn("the rules lcm:write", str(error))
        self.assertIn("vnf_instances:scale", str(error))

    def test_an_unknown_task(self) -> None:
        self.assertRaises(ValueError, policies.rule_of, "vims:destroy")
