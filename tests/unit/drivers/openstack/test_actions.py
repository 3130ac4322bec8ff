"""The actions of plans for stacks."""

from typing import Any

import msgspec
import testtools

from tacker_cnf.drivers.base import InfraTask, PackageCall
from tacker_cnf.drivers.openstack import actions
from tacker_cnf.drivers.openstack.observation import ObservedStack
from tacker_cnf.lcm.change import ALL
from tacker_cnf.lcm.vnf_plan import ActionType
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.vnf_instance import VirtualStorageResourceInfo
from tests.factories import (
    a_running_instance,
    a_state,
    a_task,
    a_vnfc,
    an_info,
)

CALL = PackageCall("scale", {})
STACK = "OS::Heat::Stack"
SERVER = "OS::Nova::Server"


def listed(
    task: InfraTask, *, heals_stack: bool = False
) -> list[tuple[str, str, str]]:
    """Return type, kind and name of each action."""
    found = actions.StackPlan(task, heals_stack).list_actions()
    return [(action.type, action.kind, action.name) for action in found]


def warnings(task: InfraTask, *, heals_stack: bool = False) -> str:
    return " ".join(actions.StackPlan(task, heals_stack).list_warnings())


class TestActions(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        volume = VirtualStorageResourceInfo(
            id="a-storage",
            virtual_storage_desc_id="storage",
            storage_resource=ResourceHandle(resource_id="a-volume"),
        )
        self.vnfcs = (
            msgspec.structs.replace(
                a_vnfc("web-1"), storage_resource_ids=("a-storage",)
            ),
            a_vnfc("web-2"),
        )
        info = an_info(*self.vnfcs, virtual_storage_resource_info=(volume,))
        self.instance = a_running_instance(info=info)
        self.state = a_state(vnfcs=self.vnfcs)

    def task(self, **fields: Any) -> InfraTask:
        given: dict[str, Any] = {
            "current": self.state,
            "desired": self.state,
        } | fields
        return a_task(instance=self.instance, package_call=CALL, **given)

    def test_a_life(self) -> None:
        name = "vnf-an-instance"
        self.assertEqual(
            [(ActionType.CREATE, STACK, name)],
            listed(self.task(current=None)),
        )
        end = self.task(desired=None)
        self.assertEqual([(ActionType.DELETE, STACK, name)], listed(end))
        self.assertIn("deleted with their data", warnings(end))

    def test_an_update_has_its_reasons(self) -> None:
        bigger = a_state(counts={"web": 2, "agent": 1})
        task = self.task(desired=bigger, moves_links=True)
        (action,) = actions.StackPlan(task, heals_stack=False).list_actions()
        self.assertEqual(ActionType.PATCH, action.type)
        self.assertEqual(
            "VDU web is scaled from 1 to 2 VNFCs, and connection points move to "
            "other external links",
            action.reason,
        )

    def test_a_failed_update_is_repeated(self) -> None:
        """Heat has stored the parameters of the update that failed."""
        task = self.task(desired=a_state(counts={"web": 2}))
        updates = {
            True: ObservedStack(exists=True, has_failed=True),
            False: ObservedStack(exists=True),
        }
        for is_repeated, observed in updates.items():
            plan = actions.StackPlan(task, False, observed)  # noqa: FBT003
            found = [action.kind for action in plan.list_actions()]
            self.assertEqual([STACK] if is_repeated else [], found)

    def test_no_operation_changes_nothing(self) -> None:
        task = a_task(
            instance=self.instance, current=self.state, desired=self.state
        )
        self.assertEqual([], listed(task))

    def test_a_heal_of_named_vnfcs(self) -> None:
        task = self.task(replace=self.vnfcs[:1])
        self.assertEqual(
            [(ActionType.RECREATE, SERVER, "web-1")], listed(task)
        )
        self.assertEqual("", warnings(task))
        with_storage = self.task(
            replace=self.vnfcs[:1], parameters={"all": True}
        )
        self.assertEqual(
            [
                (ActionType.RECREATE, SERVER, "web-1"),
                (ActionType.RECREATE, "OS::Cinder::Volume", "a-volume"),
            ],
            listed(with_storage),
        )
        self.assertIn("deleted with their data", warnings(with_storage))

    def test_a_heal_of_all(self) -> None:
        servers = [
            (ActionType.RECREATE, SERVER, name) for name in ("web-1", "web-2")
        ]
        stack = [(ActionType.RECREATE, STACK, "vnf-an-instance")]
        task = self.task(replace=ALL)
        self.assertEqual(servers, listed(task))
        self.assertEqual(stack, listed(task, heals_stack=True))
        self.assertIn("out of service", warnings(task, heals_stack=True))
