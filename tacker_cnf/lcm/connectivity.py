"""External connectivity of a VNF, and its changes
(SOL003 5.4.11, 4.4.1.10 to 4.4.1.12).
"""

from collections.abc import Iterable, Sequence

import msgspec

from tacker_cnf import errors
from tacker_cnf.sol.common import (
    ExtLinkPortData,
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    VnfExtCpData,
    VnfLinkPortData,
)
from tacker_cnf.sol.virtual_link import (
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
)
from tacker_cnf.vnfd.model import Flavour

#: prefix of the ids of ports that a request provided
REQUEST_PORT_PREFIX = "req-"

Links = tuple[ExtVirtualLinkData, ...]


def of_external(info: ExtVirtualLinkInfo) -> ExtVirtualLinkData:
    """Return the request data that describe an existing external link."""
    return ExtVirtualLinkData(
        id=info.id,
        vim_connection_id=info.resource_handle.vim_connection_id,
        resource_provider_id=info.resource_handle.resource_provider_id,
        resource_id=info.resource_handle.resource_id,
        ext_cps=info.current_vnf_ext_cp_data,
        ext_link_ports=tuple(
            ExtLinkPortData(
                id=port.id.removeprefix(REQUEST_PORT_PREFIX),
                resource_handle=port.resource_handle,
            )
            for port in info.ext_link_ports
            if port.id.startswith(REQUEST_PORT_PREFIX)
        ),
    )


def of_managed(info: ExtManagedVirtualLinkInfo) -> ExtManagedVirtualLinkData:
    """Return the request data that describe an existing managed link."""
    multisite = info.ext_managed_multisite_virtual_link_id
    return ExtManagedVirtualLinkData(
        id=info.id,
        vnf_virtual_link_desc_id=info.vnf_virtual_link_desc_id,
        vim_connection_id=info.network_resource.vim_connection_id,
        resource_provider_id=info.network_resource.resource_provider_id,
        resource_id=info.network_resource.resource_id,
        vnf_link_port=tuple(
            VnfLinkPortData(
                vnf_link_port_id=port.id.removeprefix(REQUEST_PORT_PREFIX),
                resource_handle=port.resource_handle,
            )
            for port in info.vnf_link_ports
            if port.id.startswith(REQUEST_PORT_PREFIX)
        ),
        ext_managed_multisite_virtual_link_id=multisite,
    )


def changed(current: Links, requested: Links) -> Links:
    """Apply requested external links to the current ones.

    A connection point is only where the request puts it; a link that is
    left without a connection point is removed.
    """
    moved = {cp.cpd_id for link in requested for cp in link.ext_cps}
    found = {link.id: _without(link, moved) for link in current}
    for link in requested:
        before = found.get(link.id)
        found[link.id] = msgspec.structs.replace(
            link,
            ext_cps=(
                *(before.ext_cps if before else ()),
                *_patched(current, link.ext_cps),
            ),
            ext_link_ports=_ports(before, link),
        )
    return tuple(link for link in found.values() if link.ext_cps)


def limited(links: Links, flavour: Flavour) -> Links:
    """Leave out the connection points that a flavour does not have, and the
    links that are left without one.
    """
    removed = {
        cp.cpd_id
        for link in links
        for cp in link.ext_cps
        if cp.cpd_id not in flavour.connection_points
    }
    kept = (_without(link, removed) for link in links)
    return tuple(link for link in kept if link.ext_cps)


def _without(
    link: ExtVirtualLinkData, cpds: Iterable[str]
) -> ExtVirtualLinkData:
    """Remove connection points; none may be left for now."""
    kept = tuple(cp for cp in link.ext_cps if cp.cpd_id not in cpds)
    return msgspec.structs.replace(link, ext_cps=kept)


def _patched(
    current: Links, requested: Sequence[VnfExtCpData]
) -> Iterable[VnfExtCpData]:
    """Apply the configurations of connection points as a JSON merge patch:
    null deletes one, and one that is not named stays.
    """
    for cp in requested:
        configs = {
            key: config
            for link in current
            for old in link.ext_cps
            if old.cpd_id == cp.cpd_id
            for key, config in old.cp_config.items()
        }
        # requested entries come first
        both = {**cp.cp_config, **configs, **cp.cp_config}
        left = {k: v for k, v in both.items() if v is not None}
        if left:
            yield VnfExtCpData(cpd_id=cp.cpd_id, cp_config=dict(left))


def _ports(
    before: ExtVirtualLinkData | None, link: ExtVirtualLinkData
) -> tuple[ExtLinkPortData, ...]:
    ports = {
        port.id: port
        for source in (before, link)
        if source is not None
        for port in source.ext_link_ports
    }
    return tuple(ports.values())


def check(requested: Links, flavour: Flavour) -> None:
    """Check that a request names connection points of the flavour.

    :raises InvalidParameters: it names another one
    """
    for link in requested:
        for cp in link.ext_cps:
            if cp.cpd_id not in flavour.connection_points:
                known_cpds = ", ".join(
                    name
                    for name, point in flavour.connection_points.items()
                    if point.external
                )
                raise errors.InvalidParameters(
                    f"extVirtualLinks: flavour {flavour.id} has no connection "
                    f"point {cp.cpd_id!r}, only {known_cpds or 'none'}."
                )
