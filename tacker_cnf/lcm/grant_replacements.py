"""The resources that a heal or a change of package replaces, for a grant."""

from collections.abc import Iterator

import msgspec

from tacker_cnf.lcm import grant_resources, vnfcs
from tacker_cnf.lcm.grant_resources import Resource
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    HealVnfRequest,
)
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tacker_cnf.vnfd.model import Flavour


def list_replaced(
    request: HealVnfRequest, instance: VnfInstance
) -> list[Resource]:
    """List the resources that a heal deletes and creates again.

    These are the servers or pods of the VNFCs. With
    ``additionalParams.all`` their storages are included, and all resources
    if the request names no VNFC.
    """
    info = instance.instantiated_vnf_info
    if info is None:
        return []
    include_storages = request.additional_params.get("all") is True
    whole_vnf = include_storages and not request.vnfc_instance_id
    removed: list[Resource] = []
    for vnfc in vnfcs.list_replaced(request, instance):
        if whole_vnf:
            removed += grant_resources.of_vnfc(vnfc, info)
        else:
            removed.append(grant_resources.compute_of(vnfc))
            if include_storages:
                removed += grant_resources.storages_of(vnfc, info)
    if whole_vnf:
        removed += grant_resources.links_of(info)
    return removed


def replacement_of(resource: Resource) -> Resource:
    """Return the resource that replaces a deleted one."""
    return msgspec.structs.replace(resource, handle=None)


class PackageChange:
    """The resources of existing VNFCs that change with their package."""

    def __init__(
        self,
        request: ChangeCurrentVnfPkgRequest,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> None:
        self._vnfcs = vnfcs.list_replaced(request, instance)
        self._info = instance.instantiated_vnf_info
        self._managed = request.ext_managed_virtual_links
        self._old_flavour = old_flavour
        self._new_flavour = new_flavour

    def removed(self) -> Iterator[Resource]:
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

    def added(self) -> Iterator[Resource]:
        """List the resources that are created: replacements, and what the
        new flavour adds to these VNFCs.
        """
        for vnfc in self._vnfcs:
            yield replacement_of(grant_resources.compute_of(vnfc))
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

    def _storages(self, vnfc: VnfcResourceInfo) -> Iterator[Resource]:
        vdu = vnfc.vdu_id
        old_storages = self._old_flavour.vdus[vdu].storages
        new_storages = self._new_flavour.vdus[vdu].storages
        removed = grant_resources.storages_of(vnfc, self._info)
        kept = [r for r in removed if r.template in new_storages]
        yield from map(replacement_of, kept)
        for name in new_storages:
            if name not in old_storages:
                yield grant_resources.storage(name, vdu)
