"""Connection points and their addresses (SOL003 5.5.3)."""

import msgspec

from tacker_cnf.sol.base import Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import (
    AddressRange,
    IpType,
    LayerProtocol,
    MacAddress,
)


class IpAddressesInfo(SolType):
    """SOL003 5.5.3.10, inner type."""

    type: IpType
    addresses: tuple[str, ...] = ()
    is_dynamic: bool | None = None
    address_range: AddressRange | None = None
    subnet_id: Identifier | None = None

    def __post_init__(self) -> None:
        if bool(self.addresses) == bool(self.address_range):
            raise ValueError(
                "exactly one of addresses and addressRange is required"
            )
        if bool(self.addresses) == (self.is_dynamic is None):
            raise ValueError("addresses requires isDynamic, and vice versa")


class IpOverEthernetAddressInfo(SolType):
    """SOL003 5.5.3.10."""

    mac_address: MacAddress | None = None
    segmentation_id: str | None = None
    ip_addresses: tuple[IpAddressesInfo, ...] = ()

    def __post_init__(self) -> None:
        if not (self.mac_address or self.ip_addresses):
            raise ValueError("macAddress, ipAddresses or both are required")


class CpProtocolInfo(SolType):
    """SOL003 5.5.3.9b."""

    layer_protocol: LayerProtocol
    ip_over_ethernet: IpOverEthernetAddressInfo | None = None

    def __post_init__(self) -> None:
        if self.ip_over_ethernet is None:
            raise ValueError(
                "layerProtocol IP_OVER_ETHERNET requires ipOverEthernet"
            )


class VnfExtCpInfo(SolType):
    """SOL003 5.5.3.17."""

    id: Identifier
    cpd_id: Identifier
    cp_config_id: Identifier
    vnfd_id: Identifier | None = None
    cp_protocol_info: tuple[CpProtocolInfo, ...]
    ext_link_port_id: Identifier | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    associated_vnfc_cp_id: Identifier | None = None
    associated_vnf_virtual_link_id: Identifier | None = None

    def __post_init__(self) -> None:
        if self.associated_vnfc_cp_id and self.associated_vnf_virtual_link_id:
            raise ValueError(
                "associatedVnfcCpId and associatedVnfVirtualLinkId exclude"
                " each other"
            )


class VnfcCpInfo(SolType):
    """SOL003 5.5.3.5, inner type."""

    id: Identifier
    cpd_id: Identifier
    vnf_ext_cp_id: Identifier | None = None
    cp_protocol_info: tuple[CpProtocolInfo, ...] = ()
    vnf_link_port_id: Identifier | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
