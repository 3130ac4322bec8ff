"""Stacks left behind by VNF instances, on a real Heat."""

import uuid
from typing import Any

import testtools
from keystoneauth1.exceptions import Conflict

from tacker_cnf.conductor.synchronizer import RESYNC_LEASE
from tests.fixtures import waiting
from tests.fixtures.openstack import require_fault_injection
from tests.fixtures.openstack_vnf import VnfService

EMPTY = {"heat_template_version": "2021-04-16"}


class TestLeftovers(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        require_fault_injection(self)
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project

    def create_failing(self) -> Any:
        self.project.fail("store", "No room.")
        return self.vnf.run_operation(
            "instantiate", self.vnf.request(), "FAILED_TEMP"
        )

    def delete(self) -> Any:
        path = f"/vnflcm/v2/vnf_instances/{self.vnf.id}"
        return self.vnf.call("DELETE", path)

    def create_late_stack(self, instance_id: str) -> str:
        """Create a stack, as a conductor does after losing its lease."""
        name = f"vnf-{instance_id}"
        body = {"stack_name": name, "template": EMPTY}

        def created() -> bool:
            try:
                self.project.heat("POST", "/stacks", body)
            except Conflict:  # Heat reserves the name of a deleted stack
                return False
            return True

        waiting.until(created, "the stack")
        return name

    def full_resync(self) -> None:
        """Run one full resync in the conductor."""
        synchronizer = self.vnf.conductor.synchronizer
        self.assertTrue(synchronizer.lease_set.acquire(RESYNC_LEASE))
        synchronizer.full_resync()

    def test_a_deletion_waits_until_the_stack_is_removed(self) -> None:
        failed = self.create_failing()
        self.vnf.run_decision(failed, "fail", "FAILED")
        self.assertIn(self.vnf.stack, self.project.stacks())
        refused = self.delete()
        self.assertEqual(409, refused.status)
        self.assertIn(failed["id"], refused.detail)
        # the VIM cannot be deleted either
        vim = self.vnf.call("DELETE", f"/v1.0/vims/{self.vnf.vim_id}")
        self.assertEqual(409, vim.status)
        waiting.until(lambda: self.delete().status == 204, "the deletion")
        self.assertNotIn(self.vnf.stack, self.project.stacks())

    def test_a_resync_deletes_a_stack_created_too_late(self) -> None:
        failed = self.create_failing()
        self.vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        stack_id = self.create_late_stack(self.vnf.id)
        unknown = self.create_late_stack(str(uuid.uuid4()))
        self.full_resync()
        waiting.until(
            lambda: stack_id not in self.project.stacks(), "the deletion"
        )
        self.assertIn(unknown, self.project.stacks())
        log = self.vnf.logger.output
        self.assertIn("Objects of an unknown VNF instance found", log)
        self.assertEqual(204, self.delete().status)

    def test_a_stack_whose_deletion_failed_is_found(self) -> None:
        self.create_failing()
        self.project.fail_deletion("store", "Its volume is in use.")
        self.addCleanup(self.project.repair, "store")
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
        orphans = self.vnf.conductor.synchronizer.sync.orphans
        (task,) = orphans.build_search_tasks(lambda: True).values()
        driver = self.vnf.parts.drivers.for_connections(
            {"": task.vim_connection}
        )
        self.assertIn(self.vnf.id, driver.search(task))
