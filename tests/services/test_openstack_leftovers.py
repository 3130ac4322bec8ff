"""Stacks of VNF instances that should have none, on a real Heat."""

import uuid
from typing import Any

import testtools
from keystoneauth1.exceptions import Conflict

from tacker_cnf.conductor.upkeep import TURN
from tests.fixtures import waiting
from tests.fixtures.openstack import need_faults
from tests.fixtures.vnf import VnfService

EMPTY = {"heat_template_version": "2021-04-16"}


class TestLeftovers(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        need_faults(self)
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project

    def failing(self) -> Any:
        self.project.fail("store", "No room.")
        return self.vnf.do("instantiate", self.vnf.request(), "FAILED_TEMP")

    def delete(self) -> Any:
        path = f"/vnflcm/v2/vnf_instances/{self.vnf.id}"
        return self.vnf.call("DELETE", path)

    def late(self, instance_id: str) -> str:
        """Create what a conductor posts after its lease: a stack."""
        name = f"vnf-{instance_id}"
        body = {"stack_name": name, "template": EMPTY}

        def created() -> bool:
            try:
                self.project.heat("POST", "/stacks", body)
            except Conflict:  # Heat keeps the name of a deleted stack a while
                return False
            return True

        waiting.until(created, "the stack")
        return name

    def turn(self) -> None:
        """Let the conductor look at everything once."""
        upkeep = self.vnf.conductor.upkeep
        self.assertTrue(upkeep.duties.take(TURN))
        upkeep.turn()

    def test_a_deletion_waits_until_the_stack_is_removed(self) -> None:
        failed = self.failing()
        self.vnf.then(failed, "fail", "FAILED")
        self.assertIn(self.vnf.stack, self.project.stacks())
        refused = self.delete()
        self.assertEqual(409, refused.status)
        self.assertIn(failed["id"], refused.detail)
        # nor is the VIM forgotten meanwhile
        vim = self.vnf.call("DELETE", f"/v1.0/vims/{self.vnf.vim_id}")
        self.assertEqual(409, vim.status)
        waiting.until(lambda: self.delete().status == 204, "the deletion")
        self.assertNotIn(self.vnf.stack, self.project.stacks())

    def test_a_turn_removes_a_stack_that_came_too_late(self) -> None:
        failed = self.failing()
        self.vnf.then(failed, "rollback", "ROLLED_BACK")
        mine = self.late(self.vnf.id)
        unknown = self.late(str(uuid.uuid4()))
        self.turn()
        waiting.until(lambda: mine not in self.project.stacks(), "the end")
        self.assertIn(unknown, self.project.stacks())
        log = self.vnf.logger.output
        self.assertIn("Objects of an unknown VNF instance found", log)
        self.assertEqual(204, self.delete().status)

    def test_a_stack_whose_deletion_failed_is_found(self) -> None:
        self.failing()
        self.project.keep("store", "Its volume is in use.")
        self.addCleanup(self.project.mend, "store")
        stack = self.project.stacks()[self.vnf.stack]
        path = f"/stacks/{self.vnf.stack}/{stack['id']}"
        self.project.heat("DELETE", path)
        waiting.until(
            lambda: (
                self.project.stacks()[self.vnf.stack]["stack_status"]
                == "DELETE_FAILED"
            ),
            "the failed deletion",
        )
        orphans = self.vnf.conductor.upkeep.sync.orphans
        (task,) = orphans.searches(lambda: True).values()
        driver = self.vnf.parts.drivers.of({"": task.vim_connection})
        self.assertIn(self.vnf.id, driver.search(task))
