"""What a stack means for its VNF instance: its resources, in ETSI's words.

Ids are those of the reference: a VNFC is its server's id; its connection
point is ``<cpd>-<server>``; a port made by Heat is a link port under its own
id, one that the request brought under ``req-<id>``; an external connection
point is ``cp-<link port>``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf.drivers.openstack import addresses, connectivity
from tacker_cnf.drivers.openstack.stacks import PORT, Resource, Stack, Tree
from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.connection_point import VnfcCpInfo
from tacker_cnf.sol.vnf_instance import (
    VirtualStorageResourceInfo,
    VnfcResourceInfo,
)
from tacker_cnf.vnfd.model import Flavour

SERVER: Final = "OS::Nova::Server"
VOLUME: Final = "OS::Cinder::Volume"
NET: Final = "OS::Neutron::Net"

#: a VNFC that has a resource of its own: VDU1-0
_NUMBERED: Final = re.compile(r"^(.+)-(\d+)$")


class Vnfc(msgspec.Struct, frozen=True, kw_only=True):
    """A server that is a VNFC, and what belongs to it."""

    vdu_id: str
    #: the number of one that the template names by itself; None: it does not
    index: int | None
    server: Resource
    #: the member of a group that it is in
    member: Resource | None
    #: the number of that, if the group takes the highest away; None: it takes
    #: the unhealthy
    group_index: int | None
    #: connection point of the VNFD -> its port
    ports: Mapping[str, Resource]
    #: storage of the VNFD -> its volume
    volumes: Mapping[str, Resource]

    @property
    def id(self) -> str:
        return self.server.physical_id

    @property
    def registration_order(self) -> tuple[int, str, str]:
        """Orders those of one VDU; the last registered is the greatest."""
        number = self.group_index if self.index is None else self.index
        return (number or 0, self.server.created, self.id)


def vnfcs(tree: Tree, flavour: Flavour) -> list[Vnfc]:
    """Find the VNFCs of a stack: the last registered of each VDU first."""
    found = [
        vnfc
        for server in tree.of_type(SERVER)
        if (vnfc := _vnfc(tree, server, flavour)) is not None
    ]
    found.sort(key=lambda vnfc: vnfc.registration_order, reverse=True)
    order = list(flavour.vdus)
    return sorted(found, key=lambda vnfc: order.index(vnfc.vdu_id))


def vdu_of(
    tree: Tree, server: Resource, flavour: Flavour
) -> tuple[str | None, int | None]:
    """Tell which VDU a server is, and its number if it has one: it, or what
    it is nested in, is named like one.
    """
    vdu_id = None
    index = None
    for resource in tree.ancestors(server):
        vdu, number = parse_vdu_name(resource.name, flavour)
        vdu_id = vdu_id or vdu
        index = number if index is None and vdu == vdu_id else index
    return vdu_id, index


def _vnfc(tree: Tree, server: Resource, flavour: Flavour) -> Vnfc | None:
    vdu_id, index = vdu_of(tree, server, flavour)
    if vdu_id is None:
        return None
    cps = {
        name
        for name, cp in flavour.connection_points.items()
        if cp.vdu == vdu_id
    }
    member = tree.member(server)
    return Vnfc(
        vdu_id=vdu_id,
        index=index,
        server=server,
        member=member,
        group_index=tree.group_index(member) if member else None,
        ports=_resources_of_server(tree.siblings(server, PORT), cps, server),
        volumes=_resources_of_server(
            tree.siblings(server, VOLUME),
            flavour.vdus[vdu_id].storages,
            server,
        ),
    )


def parse_vdu_name(
    name: str, flavour: Flavour
) -> tuple[str | None, int | None]:
    """Tell which VDU a name is of, and its number if it has one."""
    if name in flavour.vdus:
        return name, None
    match = _NUMBERED.match(name)
    if match and match[1] in flavour.vdus:
        return match[1], int(match[2])
    return None, None


def _resources_of_server(
    resources: Sequence[Resource], names: Any, server: Resource
) -> Mapping[str, Resource]:
    """Choose, by what the VNFD calls them, those of a server: of several
    numbered ones in one stack, those that the server depends on.
    """
    found: dict[str, Resource] = {}
    for resource in resources:
        match = _NUMBERED.match(resource.name)
        if resource.name in names:
            found[resource.name] = resource
        elif (
            match and match[1] in names and server.name in resource.required_by
        ):
            found[match[1]] = resource
    return found


def build_result(
    stack: Stack,
    tree: Tree,
    target: Target,
    flavour: Flavour,
    location: "StackLocation",
    ports: addresses.Ports,
) -> InfraResult:
    """Take the inventory of an instance.

    :param ports: those of which Heat tells addresses
    """
    found = vnfcs(tree, flavour)
    links = connectivity.Links(target, flavour, location.key, ports)
    for vnfc in reversed(found):  # the first registered gets the first
        for cpd, port in vnfc.ports.items():
            links.attach(cpd, vnfc.id, port.physical_id, vnfc.index)
        for cpd in _cps_without_port(vnfc, flavour):
            links.attach_provided(cpd, vnfc.id, vnfc.index)
    return InfraResult(
        vnfc_resource_info=tuple(
            _resource_info(v, links.vnfc_cps(v.id), stack, location)
            for v in found
        ),
        virtual_storage_resource_info=tuple(
            _storage(v, name, volume, location)
            for v in found
            for name, volume in v.volumes.items()
        ),
        vnf_virtual_link_resource_info=links.internal(
            _networks(tree, flavour)
        ),
        ext_cp_info=links.ext_cps(),
        ext_virtual_link_info=links.external(),
        ext_managed_virtual_link_info=links.managed(),
        metadata={
            "stack_id": stack.id,
            "nfv": stack.nfv,
            "tenant": location.tenant,
        },
    )


def build_result_without_stack(
    target: Target,
    flavour: Flavour,
    location: "StackLocation",
    metadata: Mapping[str, Any],
) -> InfraResult:
    """Tell what is left of an instance whose stack has gone: how others have
    connected it, and what was known of the stack.
    """
    links = connectivity.Links(target, flavour, location.key, {})
    return InfraResult(
        ext_virtual_link_info=links.external(),
        ext_managed_virtual_link_info=links.managed(),
        metadata=metadata,
    )


class StackLocation(msgspec.Struct, frozen=True):
    """Where a stack is."""

    #: by which vimConnectionInfo names the OpenStack
    key: str
    #: project
    tenant: str


def _cps_without_port(vnfc: Vnfc, flavour: Flavour) -> Iterator[str]:
    """Tell the connection points whose ports Heat does not make."""
    for name, point in flavour.connection_points.items():
        if point.vdu == vnfc.vdu_id and name not in vnfc.ports:
            yield name


def _networks(tree: Tree, flavour: Flavour) -> Mapping[str, Resource]:
    """Tell the networks that Heat made of virtual links."""
    return {
        net.name: net
        for net in tree.of_type(NET)
        if net.name in flavour.virtual_links
    }


def handle(key: str, resource: Resource) -> ResourceHandle:
    return ResourceHandle(
        vim_connection_id=key,
        resource_id=resource.physical_id,
        vim_level_resource_type=resource.type,
    )


def _storage_id(vnfc: Vnfc, name: str) -> str:
    return vnfc.volumes[name].physical_id


def _resource_info(
    vnfc: Vnfc,
    cps: tuple[VnfcCpInfo, ...],
    stack: Stack,
    location: StackLocation,
) -> VnfcResourceInfo:
    return VnfcResourceInfo(
        id=vnfc.id,
        vdu_id=vnfc.vdu_id,
        compute_resource=handle(location.key, vnfc.server),
        zone_id=_zone(vnfc, stack),
        storage_resource_ids=tuple(
            _storage_id(vnfc, name) for name in vnfc.volumes
        ),
        vnfc_cp_info=cps,
        metadata=_metadata(vnfc, stack),
    )


def _metadata(vnfc: Vnfc, stack: Stack) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "creation_time": vnfc.server.created,
        "stack_id": vnfc.server.stack,
    }
    if vnfc.member:
        metadata["parent_stack_id"] = vnfc.member.stack
        metadata["parent_resource_name"] = vnfc.member.name
    if vnfc.index is not None:
        metadata["vdu_idx"] = vnfc.index
    flavor = _vdu_parameters(vnfc, stack).get("computeFlavourId")
    if flavor is not None:
        metadata["flavor"] = flavor
    metadata |= _images(vnfc, stack)
    return metadata


def _images(vnfc: Vnfc, stack: Stack) -> dict[str, Any]:
    """Tell the image of the server and of each volume: image-<template id>."""
    names = [vnfc.vdu_id, *vnfc.volumes]
    found = {}
    for name in names:
        image = _nfv_parameters(name, vnfc.index, stack).get("vcImageId")
        if image is not None:
            found[f"image-{name}"] = image
    return found


def _vdu_parameters(vnfc: Vnfc, stack: Stack) -> Mapping[str, Any]:
    return _nfv_parameters(vnfc.vdu_id, vnfc.index, stack)


def _nfv_parameters(
    name: str, index: int | None, stack: Stack
) -> Mapping[str, Any]:
    """Give what the stack's parameters say of a VDU or a storage."""
    vdus = stack.nfv.get("VDU")
    values: Any = None
    if isinstance(vdus, Mapping):
        values = vdus.get(f"{name}-{index}", vdus.get(name))
    return values if isinstance(values, Mapping) else {}


def _zone(vnfc: Vnfc, stack: Stack) -> str | None:
    zone = _vdu_parameters(vnfc, stack).get("locationConstraints")
    return zone if isinstance(zone, str) and zone else None


def _storage(
    vnfc: Vnfc, name: str, volume: Resource, location: StackLocation
) -> VirtualStorageResourceInfo:
    return VirtualStorageResourceInfo(
        id=_storage_id(vnfc, name),
        virtual_storage_desc_id=name,
        storage_resource=handle(location.key, volume),
        metadata={"stack_id": volume.stack},
    )
