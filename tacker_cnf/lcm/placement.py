"""Placement constraints between the resources of a VNF (SOL003 9.5.3.6)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tacker_cnf.sol.grant import (
    AffinityOrAntiAffinity,
    ConstraintResourceIdType,
    ConstraintResourceRef,
    PlacementConstraint,
    PlacementScope,
    ResourceDefinition,
    ResourceDefinitionType,
)
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo
from tacker_cnf.vnfd.model import AffinityRule, Flavour

#: the scopes of SOL003; a VNFD may name others
SCOPES: Final = frozenset(PlacementScope)
#: resource types to which an affinity rule applies (SOL001)
PLACEABLE_TYPES: Final = frozenset(
    {ResourceDefinitionType.COMPUTE, ResourceDefinitionType.VL}
)


def constraints(
    flavour: Flavour,
    added: Iterable[ResourceDefinition],
    remaining: Sequence[VnfcResourceInfo],
    *,
    best_effort: bool,
) -> Iterator[PlacementConstraint]:
    """Build a constraint from each rule of the VNFD that applies to added
    resources, including the existing ones. A rule that applies to fewer than
    two resources is skipped.

    :param best_effort: the constraints are preferences
    """
    placeable = [r for r in added if r.type in PLACEABLE_TYPES]
    for rule in flavour.affinity_rules:
        if rule.scope not in SCOPES:
            continue
        targets = _targets(flavour, rule)
        new = [
            _granted(r) for r in placeable if r.resource_template_id in targets
        ]
        old = [_managed(v) for v in remaining if v.vdu_id in targets]
        if new and len(new) + len(old) > 1:
            yield PlacementConstraint(
                affinity_or_anti_affinity=AffinityOrAntiAffinity(rule.kind),
                scope=PlacementScope(rule.scope),
                resource=(*new, *old),
                fallback_best_effort=best_effort or None,
            )


def _targets(flavour: Flavour, rule: AffinityRule) -> frozenset[str]:
    """Return the templates a rule applies to, placement groups resolved."""
    return frozenset(
        member
        for target in rule.targets
        for member in flavour.placement_groups.get(target, (target,))
    )


def _granted(resource: ResourceDefinition) -> ConstraintResourceRef:
    return ConstraintResourceRef(
        id_type=ConstraintResourceIdType.GRANT, resource_id=resource.id
    )


def _managed(vnfc: VnfcResourceInfo) -> ConstraintResourceRef:
    handle = vnfc.compute_resource
    return ConstraintResourceRef(
        id_type=ConstraintResourceIdType.RES_MGMT,
        resource_id=handle.resource_id,
        vim_connection_id=handle.vim_connection_id,
        resource_provider_id=handle.resource_provider_id,
    )
