"""Suspended stacks, unreachable VIMs and deleted servers on a real Heat."""

import uuid
from typing import Any

import testtools

from tests.fixtures import waiting
from tests.fixtures.openstack import require_fault_injection
from tests.fixtures.openstack_vnf import OUT, VnfService


class TestSuspended(testtools.TestCase):
    """A suspended stack on the first of two VIMs."""

    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project
        unreachable_vim = {"endpoint": f"http://127.0.0.1:1/{uuid.uuid4()}/v3"}
        other = {**self.project.connection, "interfaceInfo": unreachable_vim}
        vims = {"first": self.project.connection, "second": other}
        self.vnf.start(vimConnectionInfo=vims)

    def run_stack_action(self, action: str) -> None:
        """Suspend or resume the stack, and wait for it."""
        path = f"/stacks/{self.vnf.stack}/{self.vnf.stack_id}/actions"
        self.project.heat("POST", path, {action: None})
        done = f"{action.upper()}_COMPLETE"
        waiting.until(lambda: self.status() == done, done)

    def status(self) -> str:
        return str(self.project.stacks()[self.vnf.stack]["stack_status"])

    def test_a_heal_resumes_the_stack_and_other_operations_fail(self) -> None:
        vnf = self.vnf
        vims = {v["computeResource"]["vimConnectionId"] for v in vnf.vnfcs()}
        self.assertEqual({"first"}, vims)
        (line,) = {
            line
            for line in vnf.logger.output.splitlines()
            if "Several VIM connections" in line
        }
        self.assertIn(f"vnf_instance_id={vnf.id}", line)
        self.assertIn("used=first ignored=second", line)
        self.run_stack_action("suspend")
        failed = vnf.run_operation("scale", OUT, "FAILED_TEMP")
        self.assertIn("is suspended", failed["error"]["detail"])
        self.assertIn("heal", failed["error"]["detail"])
        again = vnf.run_decision(failed, "rollback", "FAILED_TEMP")
        self.assertIn("openstack stack resume", again["error"]["detail"])
        self.run_stack_action("resume")
        vnf.run_decision(again, "rollback", "ROLLED_BACK")
        self.run_stack_action("suspend")
        before = vnf.ids("front")
        body = {"vnfcInstanceId": [vnf.vnfc("front")["id"]]}
        vnf.run_operation("heal", body)
        self.assertEqual(set(), before & vnf.ids("front"))
        self.assertEqual(vnf.servers(), vnf.ids())
        vnf.run_operation("scale", OUT)


class TestDeletedServer(testtools.TestCase):
    """A server that a failed heal has deleted."""

    def setUp(self) -> None:
        super().setUp()
        require_fault_injection(self)
        self.vnf = self.useFixture(VnfService(self))
        self.project = self.vnf.project

    def list_active_servers(self) -> set[str]:
        return set(self.project.visible("servers"))

    def test_a_deleted_server_is_not_listed(self) -> None:
        vnf = self.vnf
        vnf.start()
        vnf.run_operation("scale", OUT)
        names = [vnf.vnfc("front")["id"], vnf.vnfc("store")["id"]]
        self.project.fail("store", "No room.")
        failed: Any = vnf.run_operation(
            "heal", {"vnfcInstanceId": names}, "FAILED_TEMP"
        )
        vnf.run_decision(failed, "fail", "FAILED")
        # the other one was replaced, or is being replaced
        waiting.until(self.is_record_current, "a current vnfcInfo")

    def is_record_current(self) -> bool:
        """Return whether all VNFCs are existing servers; Heat does not list
        a deleted one whose replacement failed.
        """
        resources = self.project.resources(self.vnf.stack)
        is_busy = any("PROGRESS" in r["resource_status"] for r in resources)
        return not is_busy and self.vnf.ids() <= self.list_active_servers()
