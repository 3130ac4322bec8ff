"""The resource changes of an operation (SOL003 5.5.3.3 and following)."""

from collections.abc import Iterable, Iterator, Mapping

from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.vnfc_ids import LOST
from tacker_cnf.sol.virtual_link import (
    ExtLinkPortInfo,
    VnfVirtualLinkResourceInfo,
)
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    VirtualStorageResourceInfo,
    VnfcResourceInfo,
)
from tacker_cnf.sol.vnf_lcm_op_occ import (
    AffectedExtLinkPort,
    AffectedVirtualLink,
    AffectedVirtualStorage,
    AffectedVnfc,
    ChangeType,
    ExtLinkPortChangeType,
    ResourceChanges,
    VirtualLinkChangeType,
)

Info = InstantiatedVnfInfo | Observed


def between(
    before: InstantiatedVnfInfo | None, after: Observed | None
) -> ResourceChanges:
    """Compare an instance before an operation with what the driver found."""
    old: Info = before or Observed()
    new: Info = after or Observed()
    return ResourceChanges(
        affected_vnfcs=tuple(_vnfcs(old, new)),
        affected_virtual_links=tuple(_links(old, new)),
        affected_ext_link_ports=tuple(_ext_ports(old, new)),
        affected_virtual_storages=tuple(_storages(old, new)),
    )


def _vnfcs(before: Info, after: Info) -> Iterator[AffectedVnfc]:
    old = _by_identity(before.vnfc_resource_info)
    new = _by_identity(after.vnfc_resource_info)
    kind = ChangeType
    for key, vnfc in old.items():
        if key not in new:
            yield _affected(vnfc, kind.REMOVED, before=vnfc)
    for key, vnfc in new.items():
        if key not in old:
            yield _affected(vnfc, kind.ADDED, after=vnfc)
        elif _is_changed(old[key], vnfc):
            yield _affected(vnfc, kind.MODIFIED, before=old[key], after=vnfc)


def _is_changed(before: VnfcResourceInfo, after: VnfcResourceInfo) -> bool:
    return (
        before.metadata != after.metadata
        or before.storage_resource_ids != after.storage_resource_ids
    )


def _by_identity(
    vnfcs: Iterable[VnfcResourceInfo],
) -> Mapping[tuple[str, str | None], VnfcResourceInfo]:
    # A replaced pod of a StatefulSet has the same name, so the VIM's
    # immutable id, if any, distinguishes them.
    return {
        (vnfc.id, vnfc.metadata.get("uid")): vnfc
        for vnfc in vnfcs
        if not vnfc.metadata.get(LOST)
    }


def _affected(
    vnfc: VnfcResourceInfo,
    change: ChangeType,
    *,
    before: VnfcResourceInfo | None = None,
    after: VnfcResourceInfo | None = None,
) -> AffectedVnfc:
    had = before.storage_resource_ids if before else ()
    has = after.storage_resource_ids if after else ()
    return AffectedVnfc(
        id=vnfc.id,
        vdu_id=vnfc.vdu_id,
        change_type=change,
        compute_resource=vnfc.compute_resource,
        zone_id=vnfc.zone_id,
        metadata=vnfc.metadata,
        affected_vnfc_cp_ids=tuple(point.id for point in vnfc.vnfc_cp_info),
        added_storage_resource_ids=tuple(x for x in has if x not in had),
        removed_storage_resource_ids=tuple(x for x in had if x not in has),
    )


def _links(before: Info, after: Info) -> Iterator[AffectedVirtualLink]:
    old = {x.id: x for x in before.vnf_virtual_link_resource_info}
    new = {x.id: x for x in after.vnf_virtual_link_resource_info}
    kind = VirtualLinkChangeType
    for link in old.values():
        if link.id not in new:
            yield _link(link, kind.REMOVED, _all_ports(link))
        else:
            yield from _ports(link, new[link.id], kind.LINK_PORT_REMOVED)
    for link in new.values():
        if link.id not in old:
            yield _link(link, kind.ADDED, _all_ports(link))
        else:
            yield from _ports(link, old[link.id], kind.LINK_PORT_ADDED)


def _ports(
    link: VnfVirtualLinkResourceInfo,
    other: VnfVirtualLinkResourceInfo,
    change: VirtualLinkChangeType,
) -> Iterator[AffectedVirtualLink]:
    """List the ports that only the first of two states of a link has."""
    other_ids = {port.id for port in other.vnf_link_ports}
    ports = [p.id for p in link.vnf_link_ports if p.id not in other_ids]
    if ports:
        yield _link(link, change, ports)


def _link(
    link: VnfVirtualLinkResourceInfo,
    change: VirtualLinkChangeType,
    ports: Iterable[str],
) -> AffectedVirtualLink:
    return AffectedVirtualLink(
        id=link.id,
        vnf_virtual_link_desc_id=link.vnf_virtual_link_desc_id,
        change_type=change,
        network_resource=link.network_resource,
        vnf_link_port_ids=tuple(ports),
        zone_id=link.zone_id,
        metadata=link.metadata,
    )


def _all_ports(link: VnfVirtualLinkResourceInfo) -> list[str]:
    return [port.id for port in link.vnf_link_ports]


def _ext_ports(before: Info, after: Info) -> Iterator[AffectedExtLinkPort]:
    old = _by_point(before)
    new = _by_point(after)
    kind = ExtLinkPortChangeType
    for changed, other, change in (
        (old, new, kind.REMOVED),
        (new, old, kind.ADDED),
    ):
        for key, port in changed.items():
            if key not in other:
                yield AffectedExtLinkPort(
                    id=port.id,
                    change_type=change,
                    ext_cp_instance_id=key[1],
                    resource_handle=port.resource_handle,
                )


def _by_point(info: Info) -> Mapping[tuple[str, str], ExtLinkPortInfo]:
    """Return the external ports that connection points use, by port and
    connection point.
    """
    return {
        (port.id, port.cp_instance_id): port
        for link in info.ext_virtual_link_info
        for port in link.ext_link_ports
        if port.cp_instance_id
    }


def _storages(before: Info, after: Info) -> Iterator[AffectedVirtualStorage]:
    old = {x.id: x for x in before.virtual_storage_resource_info}
    new = {x.id: x for x in after.virtual_storage_resource_info}
    yield from (
        _storage(old[k], ChangeType.REMOVED) for k in old if k not in new
    )
    yield from (
        _storage(new[k], ChangeType.ADDED) for k in new if k not in old
    )


def _storage(
    storage: VirtualStorageResourceInfo, change: ChangeType
) -> AffectedVirtualStorage:
    return AffectedVirtualStorage(
        id=storage.id,
        virtual_storage_desc_id=storage.virtual_storage_desc_id,
        change_type=change,
        storage_resource=storage.storage_resource,
        zone_id=storage.zone_id,
        metadata=storage.metadata,
    )
