"""The contents of a GrantRequest by SOL003 9.5.2.2, for each operation."""

from typing import Any

import testtools

from tacker_cnf.lcm import grant_plan, target
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.grant import (
    GrantedLcmOperationType,
    GrantRequest,
    ResourceDefinition,
    ResourceDefinitionType,
)
from tacker_cnf.sol.lcm_request import (
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
    TerminateVnfRequest,
    TerminationType,
)
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tests.factories import (
    a_running_instance,
    a_vnfc,
    a_vnfd,
    an_info,
    an_instance,
    an_op_occ,
)

RUNNING = a_running_instance(
    info=an_info(
        a_vnfc("web-1"),
        a_vnfc("web-2"),
        a_vnfc("agent-1", "agent"),
        levels={"web_aspect": 1},
    )
)
ALL = ["agent agent-1", "web web-1", "web web-2"]
PARAMETERS: dict[str, Any] = {"additional_params": {"colour": "red"}}


def build(op: Op, request: SolType, instance: VnfInstance) -> GrantRequest:
    current = target.of_instance(instance)
    wanted = target.wanted(request, current, a_vnfd())
    return grant_plan.build(an_op_occ(op), request, instance, current, wanted)


def told(resources: tuple[ResourceDefinition, ...]) -> list[str]:
    """Write each resource as its VDU, and what it is if it exists."""
    return sorted(
        f"{r.vdu_id} {r.resource.resource_id}" if r.resource else str(r.vdu_id)
        for r in resources
    )


def a_scale(kind: ScaleType, steps: int) -> ScaleVnfRequest:
    return ScaleVnfRequest(
        type=kind, aspect_id="web_aspect", number_of_steps=steps, **PARAMETERS
    )


TERMINATE = TerminateVnfRequest(
    termination_type=TerminationType.FORCEFUL, **PARAMETERS
)
INSTANTIATE = InstantiateVnfRequest(
    flavour_id="simple", instantiation_level_id="busy", **PARAMETERS
)
#: operation, request, instance, what it adds, what it removes
CASES: list[tuple[Op, Any, VnfInstance, list[str], list[str]]] = [
    (
        Op.INSTANTIATE,
        INSTANTIATE,
        an_instance(),
        ["agent", "web", "web", "web"],
        [],
    ),
    (
        Op.SCALE,
        a_scale(ScaleType.SCALE_OUT, 2),
        RUNNING,
        ["web", "web"],
        [],
    ),
    (Op.SCALE, a_scale(ScaleType.SCALE_IN, 1), RUNNING, [], ["web web-1"]),
    (
        Op.HEAL,
        HealVnfRequest(vnfc_instance_id=("web-web-2",), **PARAMETERS),
        RUNNING,
        ["web"],
        ["web web-2"],
    ),
    (
        Op.HEAL,
        HealVnfRequest(**PARAMETERS),
        RUNNING,
        ["agent", "web", "web"],
        ALL,
    ),
    (Op.TERMINATE, TERMINATE, RUNNING, [], ALL),
]


class TestBuild(testtools.TestCase):
    def test_what_is_added_and_what_is_removed(self) -> None:
        for op, request, instance, added, removed in CASES:
            grant = build(op, request, instance)
            self.assertEqual(added, told(grant.add_resources), op)
            self.assertEqual(removed, told(grant.remove_resources), op)

    def test_who_asks_for_what(self) -> None:
        for op, request, instance, *_ in CASES:
            grant = build(op, request, instance)
            self.assertEqual(GrantedLcmOperationType(op), grant.operation)
            self.assertEqual("an-instance", grant.vnf_instance_id)
            self.assertEqual("an-op-occ", grant.vnf_lcm_op_occ_id)
            self.assertEqual("a-vnfd", grant.vnfd_id)
            self.assertEqual("simple", grant.flavour_id)
            self.assertEqual({"colour": "red"}, grant.additional_params)
            self.assertFalse(grant.is_automatic_invocation)
            self.assertEqual(
                "/vnflcm/v2/vnf_lcm_op_occs/an-op-occ",
                grant.links.vnf_lcm_op_occ.href,
            )
            self.assertEqual(
                "/vnflcm/v2/vnf_instances/an-instance",
                grant.links.vnf_instance.href,
            )

    def test_each_resource_has_an_id_of_its_own(self) -> None:
        for op, request, instance, *_ in CASES:
            grant = build(op, request, instance)
            asked = (*grant.add_resources, *grant.remove_resources)
            self.assertEqual(len(asked), len({r.id for r in asked}))
            for resource in asked:
                self.assertEqual(ResourceDefinitionType.COMPUTE, resource.type)
                self.assertEqual(
                    resource.vdu_id, resource.resource_template_id
                )

    def test_only_instantiation_names_its_level(self) -> None:
        levels = {
            op: build(op, request, instance).instantiation_level_id
            for op, request, instance, *_ in CASES
        }
        self.assertEqual("busy", levels.pop(Op.INSTANTIATE))
        self.assertEqual({None}, set(levels.values()))

    def test_a_vdu_of_which_less_is_there_than_was_counted(self) -> None:
        info = an_info(a_vnfc("web-1"), levels={"web_aspect": 1})
        instance = a_running_instance(info=info)
        grant = build(Op.SCALE, a_scale(ScaleType.SCALE_IN, 1), instance)
        self.assertEqual(["web web-1"], told(grant.remove_resources))
