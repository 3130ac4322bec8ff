"""The resources of a VNF in version 1 (SOL003 v2.6.1, 5.5.3).

An attribute that is null if it has no value has no default here: only default
values are left out of the JSON.
"""

from tacker_cnf.sol.base import Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import IpType, LayerProtocol, MacAddress
from tacker_cnf.sol.vnf_instance import VnfOperationalState


class VimConnectionInfoV1(SolType):
    """SOL003 v2.6.1, 4.4.1.6."""

    id: Identifier
    vim_id: Identifier | None
    vim_type: Identifier | None
    interface_info: KeyValuePairs
    access_info: KeyValuePairs
    extra: KeyValuePairs


class ResourceHandleV1(SolType):
    """SOL003 v2.6.1, 4.4.1.7."""

    vim_connection_id: Identifier | None
    resource_id: str
    vim_level_resource_type: str | None


class IpAddressesInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.10, inner type."""

    type: IpType
    subnet_id: Identifier | None
    is_dynamic: bool | None
    addresses: tuple[str, ...]


class IpOverEthernetAddressInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.10."""

    mac_address: MacAddress | None
    ip_addresses: tuple[IpAddressesInfoV1, ...] = ()


class CpProtocolInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.9b."""

    layer_protocol: LayerProtocol
    ip_over_ethernet: IpOverEthernetAddressInfoV1 | None = None


class VnfExtCpInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.17."""

    id: Identifier
    cpd_id: Identifier
    ext_link_port_id: Identifier | None
    associated_vnfc_cp_id: Identifier | None
    cp_protocol_info: tuple[CpProtocolInfoV1, ...]


class VnfcCpInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.5, inner type."""

    id: Identifier
    cpd_id: Identifier
    vnf_ext_cp_id: Identifier | None
    vnf_link_port_id: Identifier | None
    cp_protocol_info: tuple[CpProtocolInfoV1, ...] = ()


class VnfLinkPortInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.8."""

    id: Identifier
    resource_handle: ResourceHandleV1
    cp_instance_id: Identifier | None


class ExtLinkPortInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.9."""

    id: Identifier
    resource_handle: ResourceHandleV1
    cp_instance_id: Identifier | None


class ExtVirtualLinkInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.2."""

    id: Identifier
    resource_handle: ResourceHandleV1
    ext_link_ports: tuple[ExtLinkPortInfoV1, ...] = ()


class ExtManagedVirtualLinkInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.3."""

    id: Identifier
    vnf_virtual_link_desc_id: Identifier
    network_resource: ResourceHandleV1
    vnf_link_ports: tuple[VnfLinkPortInfoV1, ...] = ()


class VnfVirtualLinkResourceInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.6."""

    id: Identifier
    vnf_virtual_link_desc_id: Identifier
    network_resource: ResourceHandleV1
    vnf_link_ports: tuple[VnfLinkPortInfoV1, ...] = ()


class VirtualStorageResourceInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.7."""

    id: Identifier
    virtual_storage_desc_id: Identifier
    storage_resource: ResourceHandleV1


class VnfcResourceInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.5."""

    #: a UUID of this service; version 2 has the id of the resource
    id: Identifier
    vdu_id: Identifier
    compute_resource: ResourceHandleV1
    storage_resource_ids: tuple[Identifier, ...]
    vnfc_cp_info: tuple[VnfcCpInfoV1, ...] = ()


class VnfcInfoV1(SolType):
    """SOL002 v2.6.1, 5.5.3.23."""

    id: Identifier
    vdu_id: Identifier
    vnfc_state: VnfOperationalState
