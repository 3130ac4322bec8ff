"""Types that several interfaces share (SOL003 4.4.1, SOL013 7.1)."""

import enum
import ipaddress
from typing import Annotated

import msgspec

from tacker_cnf.sol.base import DateTime, Identifier, KeyValuePairs, SolType

MacAddress = Annotated[
    str, msgspec.Meta(pattern="^([0-9A-Fa-f]{2}[-:]){5}[0-9A-Fa-f]{2}$")
]


class Link(SolType):
    """SOL013 7.1.3."""

    href: str


class Checksum(SolType):
    """SOL013 7.1.7. The algorithm is named as in SOL004: "SHA-256"."""

    algorithm: str
    hash: str


class ApiVersion(SolType):
    """SOL013 7.1.6, inner type."""

    version: str
    is_deprecated: bool | None = None
    retirement_date: DateTime | None = None


class ApiVersionInformation(SolType):
    """SOL013 7.1.6."""

    uri_prefix: str
    api_versions: tuple[ApiVersion, ...]


class VimConnectionInfo(SolType):
    """SOL003 4.4.1.6.

    The standard requires vimType. Here vimId alone is sufficient: missing
    attributes are those of the VIM that is registered under this id.
    """

    vim_id: Identifier | None = None
    vim_type: Identifier | None = None
    interface_info: KeyValuePairs = msgspec.field(default_factory=dict)
    access_info: KeyValuePairs = msgspec.field(default_factory=dict)
    extra: KeyValuePairs = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.vim_id is None and self.vim_type is None:
            raise ValueError(
                "vimType, or the vimId of a registered VIM, is required"
            )


class ResourceHandle(SolType):
    """SOL003 4.4.1.7. The reference of a virtualised resource in its VIM."""

    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    resource_id: Identifier
    vim_level_resource_type: str | None = None


class IpType(enum.StrEnum):
    """SOL003 4.4.1.10c, inner type."""

    IPV4 = "IPV4"
    IPV6 = "IPV6"


class LayerProtocol(enum.StrEnum):
    """SOL003 4.4.1.10b, inner type."""

    IP_OVER_ETHERNET = "IP_OVER_ETHERNET"


class AddressRange(SolType):
    """SOL003 4.4.1.10c, inner type."""

    min_address: str
    max_address: str


class IpAddresses(SolType):
    """SOL003 4.4.1.10c, inner type. Exactly one attribute with addresses."""

    type: IpType
    fixed_addresses: tuple[str, ...] = ()
    num_dynamic_addresses: Annotated[int, msgspec.Meta(ge=1)] | None = None
    address_range: AddressRange | None = None
    subnet_id: Identifier | None = None

    def __post_init__(self) -> None:
        alternatives = (
            self.fixed_addresses,
            self.num_dynamic_addresses,
            self.address_range,
        )
        if sum(map(bool, alternatives)) != 1:
            raise ValueError(
                "exactly one of fixedAddresses, numDynamicAddresses and"
                " addressRange is required"
            )
        _check_addresses(self)


def _check_addresses(ip_addresses: IpAddresses) -> None:
    addresses = list(ip_addresses.fixed_addresses)
    if ip_addresses.address_range:
        addresses.append(ip_addresses.address_range.min_address)
        addresses.append(ip_addresses.address_range.max_address)
    for address in addresses:
        try:
            kind = f"IPV{ipaddress.ip_address(address).version}"
        except ValueError:
            kind = None
        if kind != ip_addresses.type:
            raise ValueError(
                f"{address!r} is not an {ip_addresses.type} address"
            )


class IpOverEthernetAddressData(SolType):
    """SOL003 4.4.1.10c."""

    mac_address: MacAddress | None = None
    segmentation_id: str | None = None
    ip_addresses: tuple[IpAddresses, ...] = ()

    def __post_init__(self) -> None:
        if not (self.mac_address or self.ip_addresses):
            raise ValueError("macAddress, ipAddresses or both are required")


class CpProtocolData(SolType):
    """SOL003 4.4.1.10b."""

    layer_protocol: LayerProtocol
    ip_over_ethernet: IpOverEthernetAddressData | None = None

    def __post_init__(self) -> None:
        if self.ip_over_ethernet is None:
            raise ValueError(
                "layerProtocol IP_OVER_ETHERNET requires ipOverEthernet"
            )


class VnfExtCpConfig(SolType):
    """SOL003 4.4.1.10a."""

    parent_cp_config_id: Identifier | None = None
    link_port_id: Identifier | None = None
    #: SOL003 v4.3.1: the network attachment definitions of a container
    net_att_def_resource_id: tuple[Identifier, ...] = ()
    cp_protocol_data: tuple[CpProtocolData, ...] = ()

    def __post_init__(self) -> None:
        alternatives = (
            self.link_port_id,
            self.net_att_def_resource_id,
            self.cp_protocol_data,
        )
        if not any(alternatives):
            raise ValueError(
                "at least one of linkPortId, netAttDefResourceId and "
                "cpProtocolData is required"
            )
        if self.link_port_id and self.net_att_def_resource_id:
            raise ValueError(
                "linkPortId and netAttDefResourceId exclude each other"
            )


class VnfExtCpData(SolType):
    """SOL003 4.4.1.10.

    Entries of cpConfig are applied as a JSON merge patch: null removes a
    connection point.
    """

    cpd_id: Identifier
    cp_config: Annotated[
        dict[Identifier, VnfExtCpConfig | None], msgspec.Meta(min_length=1)
    ]


class ExtLinkPortData(SolType):
    """SOL003 4.4.1.14."""

    id: Identifier
    resource_handle: ResourceHandle


class NetAttDefResourceData(SolType):
    """SOL003 v4.3.1. A network attachment definition of a container."""

    net_att_def_resource_id: Identifier
    resource_handle: ResourceHandle


class ExtVirtualLinkData(SolType):
    """SOL003 4.4.1.11."""

    id: Identifier
    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    resource_id: Identifier
    ext_cps: Annotated[tuple[VnfExtCpData, ...], msgspec.Meta(min_length=1)]
    ext_link_ports: tuple[ExtLinkPortData, ...] = ()
    #: SOL003 v4.3.1: networks of the connection points of containers
    ext_net_att_def_resource_data: tuple[NetAttDefResourceData, ...] = ()


class VnfLinkPortData(SolType):
    """SOL003 5.5.3.18."""

    vnf_link_port_id: Identifier
    resource_handle: ResourceHandle


class ExtManagedVirtualLinkData(SolType):
    """SOL003 4.4.1.12. The standard has vnfLinkPort in the singular."""

    id: Identifier
    vnf_virtual_link_desc_id: Identifier
    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    resource_id: Identifier
    vnf_link_port: tuple[VnfLinkPortData, ...] = ()
    ext_managed_multisite_virtual_link_id: Identifier | None = None
