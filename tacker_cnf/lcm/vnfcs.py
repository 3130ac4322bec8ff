"""Find the VNFCs that a request names or replaces."""

from typing import Final

from tacker_cnf import errors
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    HealVnfRequest,
)
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance

#: VNFCs that an error message lists at most
MAX_LISTED_VNFCS: Final = 20


def find_requested(
    request: SolType, instance: VnfInstance
) -> tuple[VnfcResourceInfo, ...]:
    """Find the VNFCs that a heal request names; (): the whole VNF.

    A name is a vnfcInfo.id or a vnfcResourceInfo.id.

    :raises UnknownVnfc: the instance has no VNFC of a name
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
            f"instance {', '.join(unknown)}; {_describe_vnfcs(instance)}."
        )
    chosen = {by_name[n].id: by_name[n] for n in request.vnfc_instance_id}
    return tuple(chosen.values())


def _describe_vnfcs(instance: VnfInstance) -> str:
    """Describe the VNFCs of an instance, at most MAX_LISTED_VNFCS of them."""
    info = instance.instantiated_vnf_info
    vnfc_ids = sorted(vnfc.id for vnfc in (info.vnfc_info if info else ()))
    if not vnfc_ids:
        return "it has none"
    more = len(vnfc_ids) - MAX_LISTED_VNFCS
    tail = f" and {more} more" if more > 0 else ""
    return f"it has {', '.join(vnfc_ids[:MAX_LISTED_VNFCS])}{tail}"


def list_replaced(
    request: SolType, instance: VnfInstance
) -> tuple[VnfcResourceInfo, ...]:
    """List the VNFCs that a request replaces: those it names, or all."""
    info = instance.instantiated_vnf_info
    if info is None:
        return ()
    if isinstance(request, HealVnfRequest):
        return find_requested(request, instance) or info.vnfc_resource_info
    if isinstance(request, ChangeCurrentVnfPkgRequest):
        vdu_params = request.additional_params.get("vdu_params") or ()
        vdus = {
            entry.get("vdu_id")
            for entry in vdu_params
            if isinstance(entry, dict)
        }
        return tuple(
            vnfc
            for vnfc in info.vnfc_resource_info
            if vnfc.vdu_id in vdus or not vdus
        )
    return ()
