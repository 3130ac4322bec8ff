"""The resources of VNFCs, as a GrantRequest names them (SOL003 9.5.3.2)."""

import uuid
from collections.abc import Iterable, Iterator

import msgspec

from tacker_cnf.sol.common import ExtManagedVirtualLinkData, ResourceHandle
from tacker_cnf.sol.connection_point import VnfcCpInfo
from tacker_cnf.sol.grant import ResourceDefinition, ResourceDefinitionType
from tacker_cnf.sol.virtual_link import VnfLinkPortInfo
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo, VnfcResourceInfo
from tacker_cnf.vnfd.model import Flavour

_COMPUTE = ResourceDefinitionType.COMPUTE
_LINKPORT = ResourceDefinitionType.LINKPORT
_STORAGE = ResourceDefinitionType.STORAGE
_VL = ResourceDefinitionType.VL


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A ResourceDefinition that has no id yet."""

    type: ResourceDefinitionType
    template: str
    vdu: str | None = None
    #: of what exists
    handle: ResourceHandle | None = None


def defined(
    op_occ_id: str, resources: Iterable[Resource]
) -> Iterator[ResourceDefinition]:
    """Give each resource an id: always the same one, so that an operation
    that has to ask the NFVO again asks in the same words.
    """
    for number, resource in enumerate(resources):
        name = f"{op_occ_id}/{number}"
        yield ResourceDefinition(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, name)),
            type=resource.type,
            vdu_id=resource.vdu,
            resource_template_id=resource.template,
            resource=resource.handle,
        )


def again(vnfc: VnfcResourceInfo) -> Resource:
    """Name what takes the place of a VNFC that is healed."""
    return Resource(type=_COMPUTE, template=vnfc.vdu_id, vdu=vnfc.vdu_id)


def compute_of(vnfc: VnfcResourceInfo) -> Resource:
    """Name the virtual machine or the pod of a VNFC."""
    return Resource(
        type=_COMPUTE,
        template=vnfc.vdu_id,
        vdu=vnfc.vdu_id,
        handle=vnfc.compute_resource,
    )


def port_again(vnfc: VnfcResourceInfo, point: VnfcCpInfo) -> Resource:
    """Name what takes the place of a port to the outside."""
    return Resource(type=_LINKPORT, template=point.cpd_id, vdu=vnfc.vdu_id)


def ext_port_of(
    vnfc: VnfcResourceInfo,
    point: VnfcCpInfo,
    info: InstantiatedVnfInfo | None,
) -> Resource:
    """Name the port of a connection point to the outside."""
    links = info.ext_virtual_link_info if info else ()
    handles = {
        port.cp_instance_id: port.resource_handle
        for link in links
        for port in link.ext_link_ports
    }
    return Resource(
        type=_LINKPORT,
        template=point.cpd_id,
        vdu=vnfc.vdu_id,
        handle=handles.get(point.vnf_ext_cp_id),
    )


def new(flavour: Flavour, vdu: str) -> Iterator[Resource]:
    """Name what one more VNFC of a VDU takes."""
    yield Resource(type=_COMPUTE, template=vdu, vdu=vdu)
    for point in flavour.connection_points.values():
        if point.vdu == vdu:
            yield Resource(type=_LINKPORT, template=point.id, vdu=vdu)
    storages = flavour.vdus[vdu].storages if vdu in flavour.vdus else ()
    for storage in storages:
        yield Resource(type=_STORAGE, template=storage, vdu=vdu)


def new_links(
    flavour: Flavour, managed: tuple[ExtManagedVirtualLinkData, ...]
) -> Iterator[Resource]:
    """Name the virtual links that the VNFM makes: those it is not given."""
    given = {link.vnf_virtual_link_desc_id for link in managed}
    for link in flavour.virtual_links:
        if link not in given:
            yield Resource(type=_VL, template=link)


def of_vnfc(
    vnfc: VnfcResourceInfo, info: InstantiatedVnfInfo
) -> Iterator[Resource]:
    """Name what a VNFC has."""
    yield compute_of(vnfc)
    ports = _ports(info)
    for point in vnfc.vnfc_cp_info:
        port = ports.get(point.vnf_link_port_id or "")
        if port:
            yield Resource(
                type=_LINKPORT,
                template=point.cpd_id,
                vdu=vnfc.vdu_id,
                handle=port.resource_handle,
            )
    for storage in info.virtual_storage_resource_info:
        if storage.id in vnfc.storage_resource_ids:
            yield Resource(
                type=_STORAGE,
                template=storage.virtual_storage_desc_id,
                vdu=vnfc.vdu_id,
                handle=storage.storage_resource,
            )


def links_of(info: InstantiatedVnfInfo) -> Iterator[Resource]:
    """Name the virtual links that the VNFM has made."""
    for link in info.vnf_virtual_link_resource_info:
        yield Resource(
            type=_VL,
            template=link.vnf_virtual_link_desc_id,
            handle=link.network_resource,
        )


def _ports(info: InstantiatedVnfInfo) -> dict[str, VnfLinkPortInfo]:
    of_links = (
        *(link.vnf_link_ports for link in info.vnf_virtual_link_resource_info),
        *(link.vnf_link_ports for link in info.ext_managed_virtual_link_info),
    )
    return {port.id: port for ports in of_links for port in ports}
