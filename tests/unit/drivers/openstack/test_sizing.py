from typing import Any

import testtools

from tacker_cnf.drivers.openstack import inventory, sizing
from tacker_cnf.sol.common import Link, ResourceHandle
from tacker_cnf.sol.grant import (
    GrantedLcmOperationType,
    GrantRequest,
    GrantRequestLinks,
    ResourceDefinition,
    ResourceDefinitionType,
)
from tests.factories import (
    a_running_instance,
    a_target,
    a_task,
    a_vnfc,
    an_info,
)
from tests.unit.drivers.openstack import trees
from tests.unit.drivers.openstack.test_work import OF_TREES, Script, a_work

FOUND = inventory.vnfcs(
    trees.grouped("first", "second", "third").tree(), trees.a_flavour()
)


def asked_for(*servers: str) -> GrantRequest:
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


def going(count: int, **task: Any) -> list[str]:
    given = a_task(target=a_target(counts={"web": count, "store": 1}), **task)
    return [vnfc.id for vnfc in sizing.leaving(FOUND, given)]


class TestMembers(testtools.TestCase):
    def marked(self, group: str) -> list[str]:
        heat = Script("UPDATE_COMPLETE")
        # a heal has made the first anew
        heat.listing = trees.grouped("2", "10", "0", group=group)
        task: dict[str, Any] = {
            "target": a_target(counts={"web": 2, "store": 1}),
            "current": a_target(counts={"web": 3, "store": 1}),
        }
        work = a_work(heat, vnfd=OF_TREES, **task)
        found = sizing.members(work, work.there(), a_task(**task))
        return [member.name for member in found]

    def test_those_that_go_are_marked(self) -> None:
        self.assertEqual(["0"], self.marked(trees.GROUP))

    def test_of_a_group_that_numbers_its_members_none_is(self) -> None:
        self.assertEqual([], self.marked("OS::Heat::ResourceGroup"))


class TestLeaving(testtools.TestCase):
    def test_the_last_registered_go_first(self) -> None:
        self.assertEqual(["web@third", "web@second"], going(1))

    def test_those_of_which_the_nfvo_was_told_go(self) -> None:
        request = asked_for("web@first")
        self.assertEqual(["web@first"], going(2, grant_request=request))

    def test_no_more_go_than_there_are_too_many(self) -> None:
        request = asked_for("web@first", "web@second")
        self.assertEqual(["web@second"], going(2, grant_request=request))
        self.assertEqual([], going(3, grant_request=request))

    def test_a_rollback_takes_what_was_added(self) -> None:
        before = an_info(a_vnfc("web@third"), a_vnfc("web@first"))
        self.assertEqual(
            ["web@second"],
            going(
                2,
                rolls_back=True,
                instance=a_running_instance(info=before),
            ),
        )
