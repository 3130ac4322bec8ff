"""Plans, compared with what their execution has done in OpenStack."""

from typing import Any

import testtools

from tacker_cnf.drivers.base import ActionType
from tacker_cnf.drivers.openstack.openstack_connection import VIM_TYPE
from tests.fixtures.openstack_vnf import FORCEFUL, OUT, VnfService
from tests.fixtures.recording_driver import RecordingDriver

STACK = "OS::Heat::Stack"


class TestPlans(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self))
        self.driver = RecordingDriver(self.vnf.parts.drivers, VIM_TYPE)

    def replaced(self, body: dict[str, Any]) -> set[str]:
        """Heal, and return the servers that were replaced; check that the
        plan has named them.
        """
        before = self.vnf.ids()
        self.vnf.run_operation("heal", body)
        replaced = before - self.vnf.ids()
        self.assertEqual(
            replaced,
            {
                action.name
                for action in self.driver.plans[-1].actions
                if action.type is ActionType.RECREATE
            },
        )
        return replaced

    def last(self) -> list[tuple[str, str, str]]:
        """Return the actions of the last plan."""
        actions = self.driver.plans[-1].actions
        return [(action.type, action.kind, action.name) for action in actions]

    def test_a_life(self) -> None:
        vnf = self.vnf
        vnf.start()
        name = f"vnf-{vnf.id}"
        self.assertEqual([(ActionType.CREATE, STACK, name)], self.last())
        vnf.run_operation("scale", OUT)
        self.assertEqual([(ActionType.PATCH, STACK, name)], self.last())
        (action,) = self.driver.plans[-1].actions
        self.assertEqual("VDU front has 2 VNFCs instead of 1", action.reason)
        one = vnf.vnfcs("front")[0]["id"]
        body = {"vnfcInstanceId": [f"front-{one}"]}
        self.assertEqual({one}, self.replaced(body))
        self.assertEqual(
            3, len(self.replaced({"additionalParams": {"all": False}}))
        )
        stack = vnf.stack_id
        vnf.run_operation("heal", {"additionalParams": {"all": True}})
        self.assertEqual([(ActionType.RECREATE, STACK, name)], self.last())
        self.assertNotEqual(stack, vnf.stack_id)
        vnf.run_operation("terminate", FORCEFUL)
        self.assertEqual([(ActionType.DELETE, STACK, name)], self.last())
