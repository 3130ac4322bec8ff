"""What the VNFM asks the NFVO for leave to do (SOL003 9.5.2.2)."""

import uuid
from collections.abc import Iterable

from tacker_cnf import errors
from tacker_cnf.lcm import vnfcs
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import Link, ResourceHandle
from tacker_cnf.sol.grant import (
    Grant,
    GrantedLcmOperationType,
    GrantRequest,
    GrantRequestLinks,
    ResourceDefinition,
    ResourceDefinitionType,
)
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc


def build(
    op_occ: VnfLcmOpOcc,
    request: SolType,
    instance: VnfInstance,
    current: Target | None,
    target: Target | None,
) -> GrantRequest:
    """Write down what an operation adds to the VIM and takes from it."""
    doomed = vnfcs.healed(request, instance)
    add = [*_added(current, target), *map(_again, doomed)]
    remove = [*map(_taken, _removed(instance, current, target))]
    remove += map(_taken, doomed)
    level = None
    if isinstance(request, InstantiateVnfRequest):
        level = request.instantiation_level_id
    basis = target or current
    return GrantRequest(
        vnf_instance_id=instance.id,
        vnf_lcm_op_occ_id=op_occ.id,
        vnfd_id=instance.vnfd_id,
        flavour_id=basis.flavour_id if basis else None,
        operation=GrantedLcmOperationType(op_occ.operation),
        is_automatic_invocation=op_occ.is_automatic_invocation,
        instantiation_level_id=level,
        add_resources=tuple(add),
        remove_resources=tuple(remove),
        additional_params=getattr(request, "additional_params", {}),
        links=GrantRequestLinks(
            vnf_lcm_op_occ=Link(
                href=f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ.id}"
            ),
            vnf_instance=Link(href=f"/vnflcm/v2/vnf_instances/{instance.id}"),
        ),
    )


def check_granted(request: GrantRequest, grant: Grant) -> None:
    """Make sure that the NFVO granted all that was asked for.

    The counts of the target hold only then; SOL003 9.5.2.3 knows no grant of
    a part.

    :raises GrantRefused: something is missing in the grant
    """
    asked = {r.id for r in (*request.add_resources, *request.remove_resources)}
    given = (*grant.add_resources, *grant.remove_resources)
    missing = asked - {info.resource_definition_id for info in given}
    if missing:
        raise errors.GrantRefused(
            f"The NFVO granted {len(asked) - len(missing)} of {len(asked)} "
            "resources that were asked for."
        )


def _added(
    current: Target | None, target: Target | None
) -> Iterable[ResourceDefinition]:
    had = current.counts if current else {}
    for vdu, count in (target.counts if target else {}).items():
        for _ in range(count - had.get(vdu, 0)):
            yield _compute(vdu)


def _removed(
    instance: VnfInstance, current: Target | None, target: Target | None
) -> Iterable[VnfcResourceInfo]:
    info = instance.instantiated_vnf_info
    if current is None or info is None:
        return
    for vdu, count in current.counts.items():
        keep = target.counts.get(vdu, 0) if target else 0
        of_vdu = [v for v in info.vnfc_resource_info if v.vdu_id == vdu]
        yield from of_vdu[: max(count - keep, 0)]


def _compute(
    vdu: str, resource: ResourceHandle | None = None
) -> ResourceDefinition:
    return ResourceDefinition(
        id=str(uuid.uuid4()),
        type=ResourceDefinitionType.COMPUTE,
        vdu_id=vdu,
        resource_template_id=vdu,
        resource=resource,
    )


def _again(vnfc: VnfcResourceInfo) -> ResourceDefinition:
    return _compute(vnfc.vdu_id)


def _taken(vnfc: VnfcResourceInfo) -> ResourceDefinition:
    return _compute(vnfc.vdu_id, vnfc.compute_resource)
