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
            if enforcer.allows(policies.rule_of(task), target, client)
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

    def test_a_changed_policy_file_applies(self) -> None:
        self.useFixture(
            fixtures.MockPatchObject(policies, "ANSWERS_LAST_S", 0)
        )
        enforcer = policies.enforcer(self.conf)
        client = RequestContext(project_id="a", user_id="u", roles=["other"])
        rule = policies.rule_of(READ)
        self.assertFalse(enforcer.allows(rule, OWN, client))
        (self.folder / "policy.yaml").write_text(f'"{rule}": "role:other"')
        self.assertTrue(enforcer.allows(rule, OWN, client))

    def test_an_answer_applies_to_its_question_only(self) -> None:
        enforcer = policies.enforcer(self.conf)
        read, write = map(policies.rule_of, (READ, WRITE))
        for _ in range(2):
            for role, expected in (("reader", False), ("member", True)):
                client = RequestContext(project_id="a", roles=[role])
                self.assertTrue(enforcer.allows(read, OWN, client))
                self.assertFalse(enforcer.allows(read, FOREIGN, client))
                self.assertIs(expected, enforcer.allows(write, OWN, client))

    def test_a_rule_of_an_earlier_release_is_an_error(self) -> None:
        (self.folder / "policy.yaml").write_text('"lcm:write": "role:boss"')
        error = self.assertRaises(
            errors.VnfmError, policies.enforcer, self.conf
        )
        self.assertIn("the rules lcm:write", str(error))
        self.assertIn("vnf_instances:scale", str(error))

    def test_an_unknown_task(self) -> None:
        self.assertRaises(ValueError, policies.rule_of, "vims:destroy")
