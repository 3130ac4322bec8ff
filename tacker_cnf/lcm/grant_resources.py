"""The resources of VNFCs, as a GrantRequest lists them (SOL003 9.5.3.2)."""

import uuid
from collections.abc import Iterable, Iterator

import msgspec

from tacker_cnf.lcm.connectivity import REQUEST_PORT_PREFIX
from tacker_cnf.sol.common import ExtManagedVirtualLinkData, ResourceHandle
from tacker_cnf.sol.connection_point import VnfcCpInfo
from tacker_cnf.sol.grant import ResourceDefinition, ResourceDefinitionType
from tacker_cnf.sol.virtual_link import ExtLinkPortInfo, VnfLinkPortInfo
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo, VnfcResourceInfo
from tacker_cnf.vnfd.model import Flavour

_COMPUTE = ResourceDefinitionType.COMPUTE
_LINKPORT = ResourceDefinitionType.LINKPORT
_STORAGE = ResourceDefinitionType.STORAGE
_VL = ResourceDefinitionType.VL


class GrantResource(msgspec.Struct, frozen=True, kw_only=True):
    """A ResourceDefinition without an id."""

    type: ResourceDefinitionType
    template: str
    vdu: str | None = None
    #: of an existing resource
    handle: ResourceHandle | None = None


def build_definitions(
    op_occ_id: str, resources: Iterable[GrantResource]
) -> Iterator[ResourceDefinition]:
    """Build resource definitions with stable ids, so that an operation that
    repeats its grant request sends the same one.
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


def compute_of(vnfc: VnfcResourceInfo) -> GrantResource:
    """Return the virtual machine or the pod of a VNFC."""
    return GrantResource(
        type=_COMPUTE,
        template=vnfc.vdu_id,
        vdu=vnfc.vdu_id,
        handle=vnfc.compute_resource,
    )


def port(cpd: str, vdu: str) -> GrantResource:
    """Return a new port of a VNFC."""
    return GrantResource(type=_LINKPORT, template=cpd, vdu=vdu)


def storage(template: str, vdu: str) -> GrantResource:
    """Return a new storage of a VNFC."""
    return GrantResource(type=_STORAGE, template=template, vdu=vdu)


def new(flavour: Flavour, vdu: str) -> Iterator[GrantResource]:
    """List the resources of one more VNFC of a VDU."""
    yield GrantResource(type=_COMPUTE, template=vdu, vdu=vdu)
    for point in flavour.connection_points.values():
        if point.vdu == vdu:
            yield port(point.id, vdu)
    storages = flavour.vdus[vdu].storages if vdu in flavour.vdus else ()
    for name in storages:
        yield storage(name, vdu)


def new_links(
    flavour: Flavour, managed: tuple[ExtManagedVirtualLinkData, ...]
) -> Iterator[GrantResource]:
    """List the virtual links that the VNFM creates: those not provided."""
    provided = {link.vnf_virtual_link_desc_id for link in managed}
    for link in flavour.virtual_links:
        if link not in provided:
            yield GrantResource(type=_VL, template=link)


def of_vnfc(
    vnfc: VnfcResourceInfo, info: InstantiatedVnfInfo
) -> Iterator[GrantResource]:
    """List the resources of a VNFC."""
    yield compute_of(vnfc)
    yield from ports_of(vnfc, info)
    yield from storages_of(vnfc, info)


def ports_of(
    vnfc: VnfcResourceInfo,
    info: InstantiatedVnfInfo,
    points: Iterable[VnfcCpInfo] | None = None,
) -> Iterator[GrantResource]:
    """List the ports of a VNFC without those that a request provided.

    :param points: connection points of the VNFC; None: all
    """
    internal_ports, external_ports = _ports(info), _ext_ports(info)
    for point in vnfc.vnfc_cp_info if points is None else points:
        found = internal_ports.get(
            point.vnf_link_port_id or ""
        ) or external_ports.get(point.vnf_ext_cp_id or "")
        if found and not found.id.startswith(REQUEST_PORT_PREFIX):
            yield GrantResource(
                type=_LINKPORT,
                template=point.cpd_id,
                vdu=vnfc.vdu_id,
                handle=found.resource_handle,
            )


def storages_of(
    vnfc: VnfcResourceInfo, info: InstantiatedVnfInfo | None
) -> Iterator[GrantResource]:
    """List the storages of a VNFC."""
    for existing in info.virtual_storage_resource_info if info else ():
        if existing.id in vnfc.storage_resource_ids:
            yield GrantResource(
                type=_STORAGE,
                template=existing.virtual_storage_desc_id,
                vdu=vnfc.vdu_id,
                handle=existing.storage_resource,
            )


def links_of(info: InstantiatedVnfInfo) -> Iterator[GrantResource]:
    """List the virtual links that the VNFM has created."""
    for link in info.vnf_virtual_link_resource_info:
        yield GrantResource(
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


def _ext_ports(info: InstantiatedVnfInfo) -> dict[str, ExtLinkPortInfo]:
    """Return the external ports by their connection point instance."""
    return {
        port.cp_instance_id: port
        for link in info.ext_virtual_link_info
        for port in link.ext_link_ports
        if port.cp_instance_id
    }


def replacement_of(resource: GrantResource) -> GrantResource:
    """Return the resource that replaces a deleted one."""
    return msgspec.structs.replace(resource, handle=None)
