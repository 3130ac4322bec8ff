"""Selects the zones of the VNFCs that an operation adds."""

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
    """Return the zone of each added VNFC: the first zone, or several where an
    anti-affinity rule separates VNFCs, as far as there are enough zones.

    A VNFC that replaces another stays in its zone and is not in the result.

    :returns: id of the ResourceDefinition -> zone
    """
    if not zones:
        return {}
    chosen = {vnfc.id: zones[0] for vnfc in _added_vnfcs(request)}
    for rule in request.placement_constraints:
        for number, resource in enumerate(_separated_resources(rule)):
            if resource in chosen:
                chosen[resource] = zones[number % len(zones)]
    return chosen


def _added_vnfcs(request: GrantRequest) -> Iterator[ResourceDefinition]:
    """Return the VNFCs that are added without replacing another."""
    compute = ResourceDefinitionType.COMPUTE
    replaced = collections.Counter(
        resource.vdu_id
        for resource in request.remove_resources
        if resource.type is compute
    )
    for resource in request.add_resources:
        if resource.type is not compute:
            continue
        if replaced[resource.vdu_id]:
            replaced[resource.vdu_id] -= 1
        else:
            yield resource


def _separated_resources(rule: PlacementConstraint) -> list[str]:
    """Return the ids a rule separates by zone, existing resources first."""
    if (
        rule.affinity_or_anti_affinity
        is not AffinityOrAntiAffinity.ANTI_AFFINITY
        or rule.scope is not PlacementScope.ZONE
    ):
        return []
    existing = ConstraintResourceIdType.RES_MGMT
    order = sorted(rule.resource, key=lambda ref: ref.id_type is not existing)
    return [ref.resource_id for ref in order]
