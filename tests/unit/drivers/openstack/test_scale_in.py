from typing import Any

import testtools

from tacker_cnf.drivers.openstack import inventory, scale_in
from tacker_cnf.lcm.change import Change
from tacker_cnf.sol.common import Link, ResourceHandle
from tacker_cnf.sol.grant import (
    GrantedLcmOperationType,
    GrantRequest,
    GrantRequestLinks,
    ResourceDefinition,
    ResourceDefinitionType,
)
from tests.factories import (
    a_state,
    a_vnfc,
)
from tests.unit.drivers.openstack import stack_resources
from tests.unit.drivers.openstack.test_stack_task import (
    OF_TREES,
    ScriptedHeat,
    build_task,
)

FOUND = inventory.vnfcs(
    stack_resources.grouped("first", "second", "third").tree(),
    stack_resources.a_flavour(),
)


def removal_request(*servers: str) -> GrantRequest:
    link = Link(href="x")
    return GrantRequest(
        vnf_instance_id="an-instance",
        vnf_lcm_op_occ_id="an-op-occ",
        vnfd_id="a-vnfd",
        operation=GrantedLcmOperationType.SCALE,
        is_automatic_invocation=False,
        remove_resources=tuple(
            ResourceDefinition(
                id=f"r-{server}",
                type=ResourceDefinitionType.COMPUTE,
                resource_template_id="web",
                resource=ResourceHandle(resource_id=server),
            )
            for server in servers
        ),
        links=GrantRequestLinks(vnf_lcm_op_occ=link, vnf_instance=link),
    )


def ids_to_remove(
    count: int, grant_request: GrantRequest | None = None, **state: Any
) -> list[str]:
    desired = a_state(counts={"web": count, "store": 1}, **state)
    return [
        vnfc.id
        for vnfc in scale_in.vnfcs_to_remove(FOUND, desired, grant_request)
    ]


class TestMembersToRemove(testtools.TestCase):
    def marked(self, group: str) -> list[str]:
        heat = ScriptedHeat("UPDATE_COMPLETE")
        # a heal has replaced the first
        heat.listing = stack_resources.grouped("2", "10", "0", group=group)
        change = Change(
            current=a_state(counts={"web": 3, "store": 1}),
            desired=a_state(counts={"web": 2, "store": 1}),
        )
        stack_task = build_task(heat, vnfd=OF_TREES, desired=change.desired)
        found = scale_in.members_to_remove(
            stack_task, stack_task.existing(), change, None
        )
        return [member.name for member in found]

    def test_members_to_remove_are_marked(self) -> None:
        self.assertEqual(["0"], self.marked(stack_resources.GROUP))

    def test_no_member_of_a_resource_group_is_marked(self) -> None:
        self.assertEqual([], self.marked("OS::Heat::ResourceGroup"))


class TestVnfcsToRemove(testtools.TestCase):
    def test_the_last_created_are_removed_first(self) -> None:
        self.assertEqual(["web@third", "web@second"], ids_to_remove(1))

    def test_vnfcs_in_the_grant_request_are_removed(self) -> None:
        request = removal_request("web@first")
        self.assertEqual(
            ["web@first"], ids_to_remove(2, grant_request=request)
        )

    def test_no_more_than_the_excess_are_removed(self) -> None:
        request = removal_request("web@first", "web@second")
        self.assertEqual(
            ["web@second"], ids_to_remove(2, grant_request=request)
        )
        self.assertEqual([], ids_to_remove(3, grant_request=request))

    def test_a_rollback_removes_the_added_vnfcs(self) -> None:
        before = (a_vnfc("web@third"), a_vnfc("web@first"))
        self.assertEqual(["web@second"], ids_to_remove(2, vnfcs=before))
