"""In which zones the VNFCs go that an operation adds."""

import collections
from collections.abc import Iterator, Mapping, Sequence

from tacker_cnf.sol.grant import (
    AffinityOrAntiAffinity,
    ConstraintResourceIdType,
    GrantRequest,
    PlacementConstraint,
    PlacementScope,
    ResourceDefinition,
    ResourceDefinitionType,
)


def assigned_zones(
    request: GrantRequest, zones: Sequence[str]
) -> Mapping[str, str]:
    """Tell the zone of each VNFC that is added: the first one, unless an
    anti-affinity rule wants others. It is held as far as there are zones.

    A VNFC that takes the place of another stays where that is: of it nothing
    is told.

    :returns: id of the ResourceDefinition -> zone
    """
    if not zones:
        return {}
    chosen = {one.id: zones[0] for one in _added_vnfcs(request)}
    for rule in request.placement_constraints:
        for number, resource in enumerate(_separated_resources(rule)):
            if resource in chosen:
                chosen[resource] = zones[number % len(zones)]
    return chosen


def _added_vnfcs(request: GrantRequest) -> Iterator[ResourceDefinition]:
    """Tell the VNFCs that are added and take no other's place."""
    compute = ResourceDefinitionType.COMPUTE
    replaced = collections.Counter(
        one.vdu_id for one in request.remove_resources if one.type is compute
    )
    for one in request.add_resources:
        if one.type is not compute:
            continue
        if replaced[one.vdu_id]:
            replaced[one.vdu_id] -= 1
        else:
            yield one


def _separated_resources(rule: PlacementConstraint) -> list[str]:
    """Tell what a rule wants in different zones: first what is there."""
    if (
        rule.affinity_or_anti_affinity
        is not AffinityOrAntiAffinity.ANTI_AFFINITY
        or rule.scope is not PlacementScope.ZONE
    ):
        return []
    existing = ConstraintResourceIdType.RES_MGMT
    order = sorted(rule.resource, key=lambda one: one.id_type is not existing)
    return [one.resource_id for one in order]
