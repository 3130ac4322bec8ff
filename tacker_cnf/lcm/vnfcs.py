"""Which VNFCs a request is about."""

from tacker_cnf import errors
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.lcm_request import HealVnfRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance


def named(
    request: SolType, instance: VnfInstance
) -> tuple[VnfcResourceInfo, ...]:
    """Find the VNFCs that a heal request names; none: the whole VNF.

    A name is a vnfcInfo.id, or a vnfcResourceInfo.id.

    :raises UnknownVnfc: the instance has no VNFC of some name
    """
    if not isinstance(request, HealVnfRequest):
        return ()
    info = instance.instantiated_vnf_info
    by_name = {v.id: v for v in (info.vnfc_resource_info if info else ())}
    for vnfc in info.vnfc_info if info else ():
        resource = by_name.get(vnfc.vnfc_resource_info_id or "")
        if resource:
            by_name[vnfc.id] = resource
    unknown = [n for n in request.vnfc_instance_id if n not in by_name]
    if unknown:
        raise errors.UnknownVnfc(
            f"vnfcInstanceId: VNF instance {instance.id} has no VNFC "
            f"instance {', '.join(unknown)}."
        )
    chosen = {by_name[n].id: by_name[n] for n in request.vnfc_instance_id}
    return tuple(chosen.values())


def healed(
    request: SolType, instance: VnfInstance
) -> tuple[VnfcResourceInfo, ...]:
    """Find the VNFCs that a heal request replaces: those it names, or all."""
    info = instance.instantiated_vnf_info
    if info is None or not isinstance(request, HealVnfRequest):
        return ()
    return named(request, instance) or info.vnfc_resource_info
