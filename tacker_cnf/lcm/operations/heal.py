"""Heal a VNF, or some VNFCs of it (SOL003 5.4.9)."""

from typing import Final, Literal

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import grant_resources
from tacker_cnf.lcm.change import ALL, State, flavour_of
from tacker_cnf.lcm.grant_resources import GrantResource
from tacker_cnf.lcm.operations.base import GrantChanges, Operation
from tacker_cnf.sol.lcm_request import HealVnfRequest
from tacker_cnf.sol.vnf_instance import (
    VnfcResourceInfo,
    VnfInstance,
    VnfOperationalState,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour, Vnfd

#: VNFCs that an error message lists at most
MAX_LISTED_VNFCS: Final = 20


class Heal(Operation[HealVnfRequest]):
    """Resources of the VNF are replaced. A heal has no rollback: the VNFCs that
    it replaces are broken.
    """

    kind = LcmOperationType.HEAL
    summary = "Heal a VNF, or VNFCs of it."
    request_type = HealVnfRequest
    reversible = False
    hook = "heal"

    def changed(
        self,
        request: HealVnfRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> State:
        """Return the current state; if the whole VNF is healed, a VDU below
        its minimum gets the count of its scale levels.
        """
        if request.vnfc_instance_id:
            return current
        flavour = flavour_of(vnfd, current.flavour_id)
        levels = current.scale_levels
        smallest = scaling.counts_at(flavour, {})
        counts = {
            vdu: current.counts.get(vdu, 0)
            if current.counts.get(vdu, 0) >= smallest[vdu]
            else count
            for vdu, count in scaling.counts_at(flavour, levels).items()
        }
        return msgspec.structs.replace(
            current, counts={**current.counts, **counts}
        )

    def replacement(
        self, request: HealVnfRequest, instance: VnfInstance
    ) -> tuple[VnfcResourceInfo, ...] | Literal["ALL"]:
        """Return the VNFCs that a request names, or all if it names none.

        :raises UnknownVnfc: the instance has no VNFC of a name
        """
        return self.vnfcs(request, instance) or ALL

    def vnfcs(
        self, request: HealVnfRequest, instance: VnfInstance
    ) -> tuple[VnfcResourceInfo, ...]:
        """Return the VNFCs that a request names; (): the whole VNF.

        A name is a vnfcInfo.id or a vnfcResourceInfo.id.

        :raises UnknownVnfc: the instance has no VNFC of a name
        """
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

    def grant_changes(
        self,
        request: HealVnfRequest,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> GrantChanges:
        """Return the resources that are deleted and created again.

        These are the servers or pods of the VNFCs. With
        ``additionalParams.all`` their storages are included, and all resources
        if the request names no VNFC.
        """
        removed = self._removed(request, instance)
        return GrantChanges(
            add=[*map(grant_resources.replacement_of, removed)],
            remove=removed,
            is_replacement=bool(removed),
        )

    def _removed(
        self, request: HealVnfRequest, instance: VnfInstance
    ) -> list[GrantResource]:
        info = instance.instantiated_vnf_info
        if info is None:
            return []
        include_storages = request.additional_params.get("all") is True
        whole_vnf = include_storages and not request.vnfc_instance_id
        removed: list[GrantResource] = []
        for vnfc in self.vnfcs(request, instance) or info.vnfc_resource_info:
            if whole_vnf:
                removed += grant_resources.of_vnfc(vnfc, info)
            else:
                removed.append(grant_resources.compute_of(vnfc))
                if include_storages:
                    removed += grant_resources.storages_of(vnfc, info)
        if whole_vnf:
            removed += grant_resources.links_of(info)
        return removed


def _describe_vnfcs(instance: VnfInstance) -> str:
    """Describe the VNFCs of an instance, at most MAX_LISTED_VNFCS of them."""
    info = instance.instantiated_vnf_info
    vnfc_ids = sorted(vnfc.id for vnfc in (info.vnfc_info if info else ()))
    if info and info.vnf_state is VnfOperationalState.STOPPED:
        return (
            "the VNF is STOPPED: start it, or heal the whole VNF without "
            "vnfcInstanceId"
        )
    if not vnfc_ids:
        return "it has none"
    more = len(vnfc_ids) - MAX_LISTED_VNFCS
    tail = f" and {more} more" if more > 0 else ""
    return f"it has {', '.join(vnfc_ids[:MAX_LISTED_VNFCS])}{tail}"
