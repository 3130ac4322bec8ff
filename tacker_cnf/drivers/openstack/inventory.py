"""Converts the resources of a stack to ``instantiatedVnfInfo`` (SOL003).

Ids follow the reference: a VNFC has the id of its server; its connection
point is ``<cpd>-<server>``; a port that Heat created is a link port with its
own id, a port provided by the request has ``req-<id>``; an external
connection point is ``cp-<link port>``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf.drivers.openstack import addresses, connectivity
from tacker_cnf.drivers.openstack.stack_names import STACK_NAME
from tacker_cnf.drivers.openstack.stacks import PORT, Resource, Stack, Tree
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.instantiated_info import Observed
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

#: a VNFC that is a resource in the top template: VDU1-0
_NUMBERED: Final = re.compile(r"^(.+)-(\d+)$")


class Vnfc(msgspec.Struct, frozen=True, kw_only=True):
    """A server that is a VNFC, with its resources."""

    vdu_id: str
    #: number in the name of the resource (VDU1-0); None: it has none
    index: int | None
    server: Resource
    #: the group member that contains the server
    member: Resource | None
    #: index in a ResourceGroup, which removes the highest index first; None:
    #: other groups remove unhealthy members first
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
        """Sort key within one VDU; the last created is the greatest."""
        number = self.group_index if self.index is None else self.index
        return (number or 0, self.server.created, self.id)


def vnfcs(tree: Tree, flavour: Flavour) -> list[Vnfc]:
    """List the VNFCs of a stack by VDU, the last created first."""
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
    """Return VDU and index of a server, by its name or the name of a resource
    that contains it; None: it has none.
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
    """Parse the name of a resource; return its VDU and index, if any."""
    if name in flavour.vdus:
        return name, None
    match = _NUMBERED.match(name)
    if match and match[1] in flavour.vdus:
        return match[1], int(match[2])
    return None, None


def _resources_of_server(
    resources: Sequence[Resource], names: Any, server: Resource
) -> Mapping[str, Resource]:
    """Select the resources of a server, by their names in the VNFD. Among
    numbered ones in one stack, those that the server depends on.

    :param names: names of the resources in the VNFD
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
    state: State,
    flavour: Flavour,
    location: "StackLocation",
    ports: addresses.Ports,
) -> Observed:
    """Build the instantiatedVnfInfo of a stack.

    :param ports: the ports with known addresses
    """
    found = vnfcs(tree, flavour)
    links = connectivity.Links(state, flavour, location.key, ports)
    for vnfc in reversed(found):  # cpConfig in order of creation
        for cpd, port in vnfc.ports.items():
            links.attach(cpd, vnfc.id, port.physical_id, vnfc.index)
        for cpd in _cps_without_port(vnfc, flavour):
            links.attach_provided(cpd, vnfc.id, vnfc.index)
    return Observed(
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
            STACK_NAME: stack.name,
            "nfv": stack.nfv,
            "tenant": location.tenant,
        },
    )


def build_result_without_stack(
    state: State,
    flavour: Flavour,
    location: "StackLocation",
    metadata: Mapping[str, Any],
) -> Observed:
    """Build the instantiatedVnfInfo of an instance whose stack is deleted:
    external and externally managed links, and metadata.
    """
    links = connectivity.Links(state, flavour, location.key, {})
    return Observed(
        ext_virtual_link_info=links.external(),
        ext_managed_virtual_link_info=links.managed(),
        metadata=metadata,
    )


class StackLocation(msgspec.Struct, frozen=True):
    """The VIM and project of a stack."""

    #: key of the OpenStack in vimConnectionInfo
    key: str
    #: name or id of the project
    tenant: str


def _cps_without_port(vnfc: Vnfc, flavour: Flavour) -> Iterator[str]:
    """Return the connection points whose ports Heat did not create."""
    for name, point in flavour.connection_points.items():
        if point.vdu == vnfc.vdu_id and name not in vnfc.ports:
            yield name


def _networks(tree: Tree, flavour: Flavour) -> Mapping[str, Resource]:
    """Return virtual link -> network that Heat created for it."""
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
    """Return image-<VDU or storage> -> image, of server and volumes."""
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
    """Return the entry of a VDU or storage in the stack's nfv parameter."""
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
