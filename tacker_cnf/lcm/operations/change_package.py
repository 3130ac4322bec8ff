"""Change the package of a running VNF (SOL003 5.4.11a)."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tacker_cnf.lcm import (
    grant_resources,
    modification,
    vnfd_compatibility,
)
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.lcm.grant_resources import GrantResource
from tacker_cnf.lcm.operations.base import (
    GrantChanges,
    Modifications,
    Operation,
    reconfigured,
)
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import ChangeCurrentVnfPkgRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationType,
    ModificationsTriggeredByVnfPkgChange,
)
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour, Vnfd


class ChangePackage(Operation[ChangeCurrentVnfPkgRequest]):
    """The VNF gets the software and the resources of another package."""

    kind = LcmOperationType.CHANGE_VNFPKG
    summary = "Change the VNF package of a VNF."
    request_type = ChangeCurrentVnfPkgRequest
    hook = "change_current_package"
    requires_started = True

    def next_vnfd_id(
        self, request: ChangeCurrentVnfPkgRequest, instance: VnfInstance
    ) -> str | None:
        """Return the requested VNFD, if it is another."""
        return modification.other_vnfd_id(instance, request.vnfd_id)

    def changed(
        self,
        request: ChangeCurrentVnfPkgRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> State:
        """Return the current state, plus the aspects, at level 0, and VDUs
        that only the new package has.

        :raises UnknownFlavour: the new package lacks the flavour
        :raises InvalidParameters: a connection point does not exist
        """
        flavour = flavour_of(vnfd, current.flavour_id)
        old_vdus = flavour_of(old_vnfd, current.flavour_id).vdus
        levels = dict.fromkeys(flavour.aspects, 0) | dict(current.scale_levels)
        new = {
            vdu: count
            for vdu, count in scaling.counts_at(flavour, levels).items()
            if vdu not in old_vdus
        }
        return msgspec.structs.replace(
            reconfigured(current, request, flavour),
            scale_levels=levels,
            counts={**current.counts, **new},
        )

    def grant_changes(
        self,
        request: ChangeCurrentVnfPkgRequest,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> GrantChanges:
        """Return the resources of existing VNFCs that change."""
        change = _PackageChange(request, instance, old_flavour, new_flavour)
        removed = [*change.removed()]
        return GrantChanges(
            add=[*change.added()],
            remove=removed,
            is_replacement=bool(removed),
        )

    def grant_fields(
        self, request: ChangeCurrentVnfPkgRequest
    ) -> dict[str, Any]:
        """Return the VNFD that the VNF changes to."""
        return {"dst_vnfd_id": request.vnfd_id}

    def finish(
        self,
        request: ChangeCurrentVnfPkgRequest,
        instance: VnfInstance,
        vnfd: Vnfd,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> VnfInstance:
        """Apply the VNFD, its defaults, and the values of the request."""
        values = modification.of_vnfd(instance, vnfd)
        return modification.with_properties(
            msgspec.structs.replace(instance, **values), request
        )

    def modifications(
        self, before: VnfInstance, after: VnfInstance
    ) -> Modifications:
        """Return the changed attributes of the instance."""
        changes = modification.changed(before, after)
        if changes is None:
            return Modifications()
        names = ModificationsTriggeredByVnfPkgChange.__struct_fields__
        return Modifications(
            triggered_by_vnf_pkg_change=ModificationsTriggeredByVnfPkgChange(
                **{name: getattr(changes, name) for name in names}
            )
        )


def check(instance: VnfInstance, vnfd: Vnfd) -> None:
    """Check that a running VNF can change to another VNFD.

    :raises IncompatibleVnfd: the VNFD lacks an element that the VNF uses
    """
    if info := instance.instantiated_vnf_info:
        vnfd_compatibility.apply_vnfd(info, vnfd)


def list_updated(
    request: ChangeCurrentVnfPkgRequest, instance: VnfInstance
) -> tuple[VnfcResourceInfo, ...]:
    """List the VNFCs that the request updates: those of its VDUs, or all."""
    info = instance.instantiated_vnf_info
    vdu_params = request.additional_params.get("vdu_params") or ()
    vdus = {
        entry.get("vdu_id") for entry in vdu_params if isinstance(entry, dict)
    }
    return tuple(
        vnfc
        for vnfc in (info.vnfc_resource_info if info else ())
        if vnfc.vdu_id in vdus or not vdus
    )


class _PackageChange:
    """The resources of existing VNFCs that change with their package."""

    def __init__(
        self,
        request: ChangeCurrentVnfPkgRequest,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> None:
        self._vnfcs = list_updated(request, instance)
        self._info = instance.instantiated_vnf_info
        self._managed = request.ext_managed_virtual_links
        self._old_flavour = old_flavour
        self._new_flavour = new_flavour

    def removed(self) -> Iterator[GrantResource]:
        """List the resources that are deleted: the servers or pods of the
        updated VNFCs and their storages, and ports and links that the new
        flavour does not have.
        """
        if self._info is None:
            return
        for vnfc in self._vnfcs:
            yield grant_resources.compute_of(vnfc)
            yield from grant_resources.storages_of(vnfc, self._info)
            for port in grant_resources.ports_of(vnfc, self._info):
                if port.template not in self._new_flavour.connection_points:
                    yield port
        for link in grant_resources.links_of(self._info):
            if link.template not in self._new_flavour.virtual_links:
                yield link

    def added(self) -> Iterator[GrantResource]:
        """List the resources that are created: replacements, and what the
        new flavour adds to these VNFCs.
        """
        for vnfc in self._vnfcs:
            yield grant_resources.replacement_of(
                grant_resources.compute_of(vnfc)
            )
            yield from self._storages(vnfc)
            for point in self._new_flavour.connection_points.values():
                existed = point.id in self._old_flavour.connection_points
                if point.vdu == vnfc.vdu_id and not existed:
                    yield grant_resources.port(point.id, vnfc.vdu_id)
        for link in grant_resources.new_links(
            self._new_flavour, self._managed
        ):
            if link.template not in self._old_flavour.virtual_links:
                yield link

    def _storages(self, vnfc: VnfcResourceInfo) -> Iterator[GrantResource]:
        vdu = vnfc.vdu_id
        old_storages = self._old_flavour.vdus[vdu].storages
        new_storages = self._new_flavour.vdus[vdu].storages
        removed = grant_resources.storages_of(vnfc, self._info)
        kept = [r for r in removed if r.template in new_storages]
        yield from map(grant_resources.replacement_of, kept)
        for name in new_storages:
            if name not in old_storages:
                yield grant_resources.storage(name, vdu)
