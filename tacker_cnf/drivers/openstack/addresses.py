"""The addresses of connection points: requested, or assigned by Neutron."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tacker_cnf.sol.base import Identifier
from tacker_cnf.sol.common import (
    CpProtocolData,
    IpAddresses,
    IpType,
    LayerProtocol,
    MacAddress,
    VnfExtCpConfig,
)
from tacker_cnf.sol.connection_point import (
    CpProtocolInfo,
    IpAddressesInfo,
    IpOverEthernetAddressInfo,
)


class FixedIp(msgspec.Struct, frozen=True):
    """A fixed IP address of a port."""

    ip_address: str
    subnet_id: Identifier | None = None

    def __post_init__(self) -> None:
        ipaddress.ip_address(self.ip_address)


class Port(msgspec.Struct, frozen=True):
    """The attributes of a Neutron port that Heat returns."""

    mac_address: MacAddress | None = None
    fixed_ips: tuple[FixedIp, ...] = ()


#: id of a port -> its attributes
Ports = Mapping[str, Port]


def parse_port(attributes: Any) -> Port:
    """Parse the attributes of a port's resource; empty if not valid."""
    try:
        return msgspec.convert(attributes or {}, Port)
    except msgspec.ValidationError:
        return Port()


def protocol_info(
    port: Port | None, config: VnfExtCpConfig | None
) -> tuple[CpProtocolInfo, ...]:
    """Return the addresses of a connection point: those of its port, or the
    requested ones if its port is unknown.
    """
    requested = config.cp_protocol_data if config else ()
    if port is None or not (port.mac_address or port.fixed_ips):
        found = (_requested_protocol(data) for data in requested)
        return tuple(info for info in found if info is not None)
    return (
        CpProtocolInfo(
            layer_protocol=LayerProtocol.IP_OVER_ETHERNET,
            ip_over_ethernet=IpOverEthernetAddressInfo(
                mac_address=port.mac_address,
                segmentation_id=next(_segmentation_ids(requested), None),
                ip_addresses=tuple(
                    _addresses_of(port, set(_fixed_addresses(requested)))
                ),
            ),
        ),
    )


def _addresses_of(port: Port, fixed: set[str]) -> Iterator[IpAddressesInfo]:
    """Return the addresses of a port, grouped by subnet.

    :param fixed: requested addresses; the others are dynamic
    """
    groups: dict[tuple[IpType, bool, str | None], list[str]] = {}
    for fixed_ip in port.fixed_ips:
        version = ipaddress.ip_address(fixed_ip.ip_address).version
        dynamic = fixed_ip.ip_address not in fixed
        key = (IpType(f"IPV{version}"), dynamic, fixed_ip.subnet_id)
        groups.setdefault(key, []).append(fixed_ip.ip_address)
    for (kind, dynamic, subnet), addresses in groups.items():
        yield IpAddressesInfo(
            type=kind,
            addresses=tuple(addresses),
            is_dynamic=dynamic,
            subnet_id=subnet,
        )


def _segmentation_ids(requested: tuple[CpProtocolData, ...]) -> Iterator[str]:
    for data in requested:
        if data.ip_over_ethernet and data.ip_over_ethernet.segmentation_id:
            yield data.ip_over_ethernet.segmentation_id


def _fixed_addresses(requested: tuple[CpProtocolData, ...]) -> Iterator[str]:
    for data in requested:
        ethernet = data.ip_over_ethernet
        for group in ethernet.ip_addresses if ethernet else ():
            yield from map(str, group.fixed_addresses)


def _requested_protocol(data: CpProtocolData) -> CpProtocolInfo | None:
    """Return the requested addresses of a connection point."""
    requested = data.ip_over_ethernet
    if requested is None:
        return None
    found = (_requested_addresses(group) for group in requested.ip_addresses)
    addresses = tuple(info for info in found if info is not None)
    if not (requested.mac_address or addresses):
        return None
    return CpProtocolInfo(
        layer_protocol=data.layer_protocol,
        ip_over_ethernet=IpOverEthernetAddressInfo(
            mac_address=requested.mac_address,
            segmentation_id=requested.segmentation_id,
            ip_addresses=addresses,
        ),
    )


def _requested_addresses(requested: IpAddresses) -> IpAddressesInfo | None:
    common: dict[str, Any] = {
        "type": requested.type,
        "subnet_id": requested.subnet_id,
    }
    if requested.fixed_addresses:
        return IpAddressesInfo(
            addresses=requested.fixed_addresses, is_dynamic=False, **common
        )
    if requested.address_range:
        return IpAddressesInfo(address_range=requested.address_range, **common)
    return None
