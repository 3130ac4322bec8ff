"""Build the GrantRequest of an operation (SOL003 9.5.2.2)."""

from collections.abc import Iterable, Iterator

from tacker_cnf import errors
from tacker_cnf.lcm import grant_resources, placement
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.grant_resources import GrantResource
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.redaction import shown_only
from tacker_cnf.lcm.shown_names import ADDITIONAL_PARAMS, DEFAULT, ShownNames
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.grant import (
    Grant,
    GrantedLcmOperationType,
    GrantRequest,
    GrantRequestLinks,
    PlacementConstraint,
    ResourceDefinition,
)
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc
from tacker_cnf.vnfd.model import Flavour


def build(  # noqa: PLR0913  # the default of each option is safe
    op_occ: VnfLcmOpOcc,
    request: SolType,
    instance: VnfInstance,
    current: State | None,
    desired: State | None,
    flavour: Flavour,
    *,
    names: ShownNames = DEFAULT,
    new_flavour: Flavour | None = None,
    best_effort: bool = False,
) -> GrantRequest:
    """Build the GrantRequest: the resources an operation adds and removes.

    Parameters that are not shown are left out: the standard requires none of
    them, and an NFVO needs none to decide.

    :param names: those that are shown
    :param new_flavour: the flavour that the VNF changes to, if another
    :param best_effort: placement constraints are preferences
    """
    new_flavour = new_flavour or flavour
    operation = OPERATIONS[op_occ.operation]
    changes = operation.grant_changes(request, instance, flavour, new_flavour)
    removed_vnfcs = tuple(_removed_vnfcs(instance, current, desired))
    add = [*_added(current, desired, new_flavour), *changes.add]
    remove = [*_removed(instance, desired, removed_vnfcs), *changes.remove]
    defined = tuple(
        grant_resources.build_definitions(
            op_occ.id, [*add, *remove, *changes.update]
        )
    )
    added, rest = defined[: len(add)], defined[len(add) :]
    return GrantRequest(
        vnf_instance_id=instance.id,
        vnf_lcm_op_occ_id=op_occ.id,
        vnfd_id=instance.vnfd_id,
        flavour_id=new_flavour.id,
        operation=GrantedLcmOperationType(op_occ.operation),
        is_automatic_invocation=op_occ.is_automatic_invocation,
        add_resources=added,
        remove_resources=rest[: len(remove)],
        update_resources=rest[len(remove) :],
        placement_constraints=()
        if changes.is_replacement
        else _constraints(
            instance, new_flavour, added, best_effort=best_effort
        ),
        additional_params=shown_only(
            operation.parameters(request), ADDITIONAL_PARAMS, names
        ),
        links=_links(op_occ, instance),
        **operation.grant_fields(request),
    )


def check_granted(request: GrantRequest, grant: Grant) -> None:
    """Check that the NFVO granted all requested resources.

    The counts of the desired state are valid only then; SOL003 9.5.2.3 has no
    partial grant.

    :raises GrantRejected: the grant lacks a requested resource
    """
    requested = {
        r.id for r in (*request.add_resources, *request.remove_resources)
    }
    requested |= {r.id for r in request.update_resources}
    granted = (
        *grant.add_resources,
        *grant.remove_resources,
        *grant.update_resources,
    )
    missing = requested - {info.resource_definition_id for info in granted}
    if missing:
        raise errors.GrantRejected(
            f"The NFVO granted {len(requested) - len(missing)} of {len(requested)} "
            "requested resources."
        )


def _links(op_occ: VnfLcmOpOcc, instance: VnfInstance) -> GrantRequestLinks:
    return GrantRequestLinks(
        vnf_lcm_op_occ=Link(href=f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ.id}"),
        vnf_instance=Link(href=f"/vnflcm/v2/vnf_instances/{instance.id}"),
    )


def _added(
    current: State | None, desired: State | None, flavour: Flavour
) -> Iterator[GrantResource]:
    if desired is None:
        return
    had = current.counts if current else {}
    for vdu, count in desired.counts.items():
        for _ in range(count - had.get(vdu, 0)):
            yield from grant_resources.new(flavour, vdu)
    if current is None:
        managed = desired.ext_managed_virtual_links
        yield from grant_resources.new_links(flavour, managed)


def _removed_vnfcs(
    instance: VnfInstance, current: State | None, desired: State | None
) -> Iterator[VnfcResourceInfo]:
    """List VNFCs to be deleted; the VIM chooses among VNFCs of a VDU."""
    info = instance.instantiated_vnf_info
    if current is None or info is None:
        return
    for vdu, count in current.counts.items():
        keep = desired.counts.get(vdu, 0) if desired else 0
        of_vdu = [v for v in info.vnfc_resource_info if v.vdu_id == vdu]
        yield from of_vdu[: max(count - keep, 0)]


def _removed(
    instance: VnfInstance,
    desired: State | None,
    removed_vnfcs: Iterable[VnfcResourceInfo],
) -> Iterator[GrantResource]:
    info = instance.instantiated_vnf_info
    if info is None:
        return
    for vnfc in removed_vnfcs:
        yield from grant_resources.of_vnfc(vnfc, info)
    if desired is None:
        yield from grant_resources.links_of(info)


def _constraints(
    instance: VnfInstance,
    flavour: Flavour,
    added: tuple[ResourceDefinition, ...],
    *,
    best_effort: bool,
) -> tuple[PlacementConstraint, ...]:
    info = instance.instantiated_vnf_info
    remaining = info.vnfc_resource_info if info else ()
    return tuple(
        placement.constraints(
            flavour, added, remaining, best_effort=best_effort
        )
    )
