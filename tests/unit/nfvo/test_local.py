"""Grants of the built-in NFVO."""

from typing import Any

import testtools

from tacker_cnf.lcm import grant_plan
from tacker_cnf.lcm.change import current_state
from tacker_cnf.nfvo.local import LocalNfvo
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.lcm_request import (
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.vnfd.model import AffinityRule
from tests.factories import (
    a_flavour,
    a_running_instance,
    a_vnfc,
    a_vnfd,
    an_instance,
    an_op_occ,
    desired_state,
)

RUNNING = a_running_instance(a_vnfc("web-1"), a_vnfc("agent-1", "agent"))
BUSY = InstantiateVnfRequest(
    flavour_id="simple", instantiation_level_id="busy"
)
OUT = ScaleVnfRequest(
    type=ScaleType.SCALE_OUT, aspect_id="web_aspect", number_of_steps=1
)
ANTI_AFFINITY = AffinityRule(
    id="rule", kind="ANTI_AFFINITY", scope="ZONE", targets=("web",)
)


def build_grant_request(
    op: Op, request: Any, instance: Any, **flavour: Any
) -> GrantRequest:
    current = current_state(instance)
    simple = a_flavour(**flavour)
    wanted = desired_state(request, current, a_vnfd(simple))
    return grant_plan.build(
        an_op_occ(op), request, instance, current, wanted, simple
    )


def grant_zones(request: GrantRequest, *zones: str) -> Grant:
    return LocalNfvo(zones).grant(request, CancelToken(), Deadline.within(600))


def placed(request: GrantRequest, grant: Grant) -> list[str]:
    """Return "VDU zone" of each added VNFC."""
    granted = {
        info.resource_definition_id: info for info in grant.add_resources
    }
    return sorted(
        f"{resource.vdu_id} {granted[resource.id].zone_id}"
        for resource in request.add_resources
    )


class TestLocalNfvo(testtools.TestCase):
    def zones(self, request: GrantRequest, *zones: str) -> list[str]:
        grant = grant_zones(request, *zones)
        grant_plan.check_granted(request, grant)
        zone_ids = {zone.id: zone.zone_id for zone in grant.zones}
        used = {info.zone_id for info in grant.add_resources if info.zone_id}
        self.assertEqual(used, set(zone_ids.values()))
        return placed(request, grant)

    def test_all_vnfcs_get_the_first_zone(self) -> None:
        request = build_grant_request(Op.INSTANTIATE, BUSY, an_instance())
        self.assertEqual(
            ["agent a", "web a", "web a", "web a"],
            self.zones(request, "a", "b"),
        )

    def test_anti_affinity_separates_as_far_as_zones_suffice(self) -> None:
        request = build_grant_request(
            Op.INSTANTIATE,
            BUSY,
            an_instance(),
            affinity_rules=(ANTI_AFFINITY,),
        )
        self.assertEqual(
            ["agent a", "web a", "web a", "web b"],
            self.zones(request, "a", "b"),
        )

    def test_anti_affinity_separates_new_from_existing_vnfcs(self) -> None:
        request = build_grant_request(
            Op.SCALE, OUT, RUNNING, affinity_rules=(ANTI_AFFINITY,)
        )
        self.assertEqual(["web b"], self.zones(request, "a", "b"))

    def test_anti_affinity_of_hosts_does_not_affect_zones(self) -> None:
        rule = AffinityRule(
            id="rule",
            kind="ANTI_AFFINITY",
            scope="NFVI_NODE",
            targets=("web",),
        )
        request = build_grant_request(
            Op.SCALE, OUT, RUNNING, affinity_rules=(rule,)
        )
        self.assertEqual(["web a"], self.zones(request, "a", "b"))

    def test_a_replacement_gets_no_new_zone(self) -> None:
        request = build_grant_request(Op.HEAL, HealVnfRequest(), RUNNING)
        self.assertEqual(["agent None", "web None"], self.zones(request, "a"))

    def test_no_zones_without_configuration(self) -> None:
        request = build_grant_request(Op.INSTANTIATE, BUSY, an_instance())
        grant = grant_zones(request)
        self.assertEqual((), grant.zones)
        self.assertEqual({None}, {i.zone_id for i in grant.add_resources})
