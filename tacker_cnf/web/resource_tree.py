"""The resources of a VNF as a tree: VDUs, their VNFCs, and what these have."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tacker_cnf.lcm.vnfc_ids import LOST
from tacker_cnf.sol.connection_point import CpProtocolInfo
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    VirtualStorageResourceInfo,
    VnfcInfo,
    VnfcResourceInfo,
    VnfOperationalState,
)


class Leaf(NamedTuple):
    """A storage or a connection point of a VNFC, or a link of a VNF."""

    kind: str
    #: its name in the VNFD
    name: str
    resource_id: str
    addresses: tuple[str, ...] = ()


class Vnfc(NamedTuple):
    """A VNFC with its resources."""

    #: by which a request names it
    id: str
    resource_id: str
    kind: str
    #: STARTED, STOPPED or LOST
    state: str
    zone: str | None
    leaves: tuple[Leaf, ...]


class Vdu(NamedTuple):
    """A VDU with its VNFCs."""

    id: str
    vnfcs: tuple[Vnfc, ...]


class Tree(NamedTuple):
    """The resources of a VNF."""

    vdus: tuple[Vdu, ...]
    #: those of the whole VNF
    links: tuple[Leaf, ...]

    @property
    def vnfcs(self) -> tuple[Vnfc, ...]:
        """All VNFCs."""
        return tuple(vnfc for vdu in self.vdus for vnfc in vdu.vnfcs)


def build(info: InstantiatedVnfInfo | None) -> Tree:
    """Return the resources of a VNF; none, if it is not instantiated."""
    if info is None:
        return Tree((), ())
    names = {v.vnfc_resource_info_id: v for v in info.vnfc_info}
    storages = {s.id: s for s in info.virtual_storage_resource_info}
    found: dict[str, list[Vnfc]] = {}
    for resource in info.vnfc_resource_info:
        leaves = (
            *_storages(storages, resource),
            *_connection_points(resource),
        )
        found.setdefault(resource.vdu_id, []).append(
            _vnfc(resource, names.get(resource.id), info.vnf_state, leaves)
        )
    vdus = (Vdu(name, tuple(found[name])) for name in sorted(found))
    return Tree(tuple(vdus), tuple(_links(info)))


def lost_vnfcs(info: InstantiatedVnfInfo | None) -> int:
    """Return how many VNFCs the VIM does not have any more."""
    resources = info.vnfc_resource_info if info else ()
    return sum(bool(resource.metadata.get(LOST)) for resource in resources)


def _vnfc(
    resource: VnfcResourceInfo,
    vnfc: VnfcInfo | None,
    vnf_state: VnfOperationalState,
    leaves: tuple[Leaf, ...],
) -> Vnfc:
    state = vnfc.vnfc_state if vnfc else vnf_state
    return Vnfc(
        id=vnfc.id if vnfc else resource.id,
        resource_id=resource.compute_resource.resource_id,
        kind=resource.compute_resource.vim_level_resource_type or "",
        state="LOST" if resource.metadata.get(LOST) else str(state),
        zone=resource.zone_id,
        leaves=leaves,
    )


def _storages(
    found: Mapping[str, VirtualStorageResourceInfo], resource: VnfcResourceInfo
) -> Iterator[Leaf]:
    for storage_id in resource.storage_resource_ids:
        if storage := found.get(storage_id):
            yield Leaf(
                "Storage",
                storage.virtual_storage_desc_id,
                storage.storage_resource.resource_id,
            )


def _connection_points(resource: VnfcResourceInfo) -> Iterator[Leaf]:
    for point in resource.vnfc_cp_info:
        addresses = tuple(_addresses(point.cp_protocol_info))
        yield Leaf("Connection point", point.cpd_id, point.id, addresses)


def _links(info: InstantiatedVnfInfo) -> Iterator[Leaf]:
    for link in info.vnf_virtual_link_resource_info:
        yield Leaf(
            "Virtual link",
            link.vnf_virtual_link_desc_id,
            link.network_resource.resource_id,
        )
    for point in info.ext_cp_info:
        addresses = tuple(_addresses(point.cp_protocol_info))
        yield Leaf(
            "External connection point", point.cpd_id, point.id, addresses
        )


def _addresses(protocols: tuple[CpProtocolInfo, ...]) -> Iterator[str]:
    for protocol in protocols:
        ethernet = protocol.ip_over_ethernet
        for found in ethernet.ip_addresses if ethernet else ():
            yield from found.addresses
