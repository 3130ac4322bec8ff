"""The requests of version 1 (SOL003 v2.6.1, 5.5.2), where they differ from
those of version 2.
"""

from typing import Annotated

import msgspec

from tacker_cnf.sol.base import Identifier, KeyValuePairs, Name, SolType
from tacker_cnf.sol.common import (
    CpProtocolData,
    ExtLinkPortData,
    ExtManagedVirtualLinkData,
    IpAddresses,
    IpOverEthernetAddressData,
    IpType,
    LayerProtocol,
    MacAddress,
    VnfExtCpConfig,
)
from tacker_cnf.sol.lcm_request import (
    Count,
    ScaleType,
    TerminationType,
    VnfcNames,
)

#: a number, or its digits in a string
Digits = (
    Annotated[int, msgspec.Meta(ge=1)]
    | Annotated[str, msgspec.Meta(pattern=r"^[1-9][0-9]{0,8}\Z")]
)


class IpAddressesV1(SolType):
    """SOL003 v2.6.1, 4.4.1.10c, inner type."""

    type: IpType
    fixed_addresses: tuple[str, ...] = ()
    num_dynamic_addresses: Digits | None = None
    subnet_id: Identifier | None = None

    def __post_init__(self) -> None:
        self.converted()

    def converted(self) -> IpAddresses:
        """Return the value of version 2.

        :raises ValueError: there is none
        """
        if bool(self.fixed_addresses) == bool(self.num_dynamic_addresses):
            raise ValueError(
                "exactly one of fixedAddresses and numDynamicAddresses is"
                " required"
            )
        number = self.num_dynamic_addresses
        return IpAddresses(
            type=self.type,
            fixed_addresses=self.fixed_addresses,
            num_dynamic_addresses=None if number is None else int(number),
            subnet_id=self.subnet_id,
        )


class IpOverEthernetAddressDataV1(SolType):
    """SOL003 v2.6.1, 4.4.1.10c."""

    mac_address: MacAddress | None = None
    ip_addresses: tuple[IpAddressesV1, ...] = ()

    def __post_init__(self) -> None:
        self.converted()

    def converted(self) -> IpOverEthernetAddressData:
        """Return the value of version 2.

        :raises ValueError: there is none
        """
        return IpOverEthernetAddressData(
            mac_address=self.mac_address,
            ip_addresses=tuple(a.converted() for a in self.ip_addresses),
        )


class CpProtocolDataV1(SolType):
    """SOL003 v2.6.1, 4.4.1.10b."""

    layer_protocol: LayerProtocol
    ip_over_ethernet: IpOverEthernetAddressDataV1 | None = None

    def __post_init__(self) -> None:
        self.converted()

    def converted(self) -> CpProtocolData:
        """Return the value of version 2.

        :raises ValueError: there is none
        """
        ethernet = self.ip_over_ethernet
        return CpProtocolData(
            layer_protocol=self.layer_protocol,
            ip_over_ethernet=ethernet.converted() if ethernet else None,
        )


class VnfExtCpConfigV1(SolType):
    """SOL003 v2.6.1, 4.4.1.10a."""

    cp_instance_id: Identifier | None = None
    link_port_id: Identifier | None = None
    cp_protocol_data: tuple[CpProtocolDataV1, ...] = ()

    def __post_init__(self) -> None:
        self.converted()

    def converted(self) -> VnfExtCpConfig:
        """Return the value of version 2.

        :raises ValueError: there is none
        """
        if not (self.link_port_id or self.cp_protocol_data):
            raise ValueError("linkPortId or cpProtocolData is required")
        return VnfExtCpConfig(
            link_port_id=self.link_port_id,
            cp_protocol_data=tuple(
                data.converted() for data in self.cp_protocol_data
            ),
        )


class VnfExtCpDataV1(SolType):
    """SOL003 v2.6.1, 4.4.1.10."""

    cpd_id: Identifier
    cp_config: Annotated[
        tuple[VnfExtCpConfigV1, ...], msgspec.Meta(min_length=1, max_length=1)
    ]


class ExtVirtualLinkDataV1(SolType):
    """SOL003 v2.6.1, 4.4.1.11."""

    id: Identifier
    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    resource_id: Identifier
    ext_cps: Annotated[tuple[VnfExtCpDataV1, ...], msgspec.Meta(min_length=1)]
    ext_link_ports: tuple[ExtLinkPortData, ...] = ()


class VimConnectionInfoDataV1(SolType):
    """SOL003 v2.6.1, 4.4.1.6, in a request."""

    id: Identifier
    vim_id: Identifier | None = None
    vim_type: Identifier
    interface_info: KeyValuePairs = msgspec.field(default_factory=dict)
    access_info: KeyValuePairs = msgspec.field(default_factory=dict)
    extra: KeyValuePairs = msgspec.field(default_factory=dict)


#: a VNF is on one VIM
OneVimConnection = Annotated[
    tuple[VimConnectionInfoDataV1, ...], msgspec.Meta(max_length=1)
]


class CreateVnfRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.3."""

    vnfd_id: Identifier
    vnf_instance_name: Name | None = None
    vnf_instance_description: str | None = None


class InstantiateVnfRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.4."""

    flavour_id: Identifier
    instantiation_level_id: Identifier | None = None
    ext_virtual_links: tuple[ExtVirtualLinkDataV1, ...] = ()
    ext_managed_virtual_links: tuple[ExtManagedVirtualLinkData, ...] = ()
    vim_connection_info: OneVimConnection = ()
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class ScaleVnfRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.5."""

    type: ScaleType
    aspect_id: Identifier
    number_of_steps: Count = 1
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class TerminateVnfRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.8."""

    termination_type: TerminationType
    #: 0: do not wait
    graceful_termination_timeout: (
        Annotated[int, msgspec.Meta(ge=0, le=31_536_000)] | None
    ) = None
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class HealVnfRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.9, and SOL002 v2.6.1, which adds the VNFCs to
    heal: one id, or several in an array.
    """

    cause: Name | None = None
    vnfc_instance_id: Identifier | VnfcNames = ()
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class ChangeExtVnfConnectivityRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.11."""

    ext_virtual_links: Annotated[
        tuple[ExtVirtualLinkDataV1, ...], msgspec.Meta(min_length=1)
    ]
    vim_connection_info: OneVimConnection = ()
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class VimConnectionInfoModificationV1(SolType):
    """Changes of the VimConnectionInfo with this id; attributes that are
    absent stay.
    """

    id: Identifier
    vim_id: Identifier | None = None
    vim_type: Identifier | None = None
    interface_info: KeyValuePairs = msgspec.field(default_factory=dict)
    access_info: KeyValuePairs = msgspec.field(default_factory=dict)
    extra: KeyValuePairs = msgspec.field(default_factory=dict)


class VnfInfoModificationRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.12. Attributes that are absent or null stay."""

    vnf_instance_name: Name | None = None
    vnf_instance_description: str | None = None
    vnfd_id: Identifier | None = None
    #: the VNF package with the new VNFD; ignored if vnfdId is set
    vnf_pkg_id: Identifier | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    vim_connection_info: tuple[VimConnectionInfoModificationV1, ...] = ()
