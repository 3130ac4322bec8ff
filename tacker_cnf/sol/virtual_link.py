"""Virtual links and their ports (SOL003 5.5.3)."""

import enum

import msgspec

from tacker_cnf.sol.base import Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import ResourceHandle, VnfExtCpData


class CpInstanceType(enum.StrEnum):
    """SOL003 5.5.3.8, inner type."""

    VNFC_CP = "VNFC_CP"
    EXT_CP = "EXT_CP"


class VnfLinkPortInfo(SolType):
    """SOL003 5.5.3.8."""

    id: Identifier
    resource_handle: ResourceHandle
    cp_instance_id: Identifier | None = None
    cp_instance_type: CpInstanceType | None = None

    def __post_init__(self) -> None:
        if (self.cp_instance_id is None) != (self.cp_instance_type is None):
            raise ValueError(
                "cpInstanceId and cpInstanceType require each other"
            )


class VnfVirtualLinkResourceInfo(SolType):
    """SOL003 5.5.3.6."""

    id: Identifier
    vnf_virtual_link_desc_id: Identifier
    vnfd_id: Identifier | None = None
    network_resource: ResourceHandle
    zone_id: Identifier | None = None
    reservation_id: Identifier | None = None
    vnf_link_ports: tuple[VnfLinkPortInfo, ...] = ()
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)


class ExtLinkPortInfo(SolType):
    """SOL003 5.5.3.9."""

    id: Identifier
    resource_handle: ResourceHandle
    cp_instance_id: Identifier | None = None


class ExtVirtualLinkInfo(SolType):
    """SOL003 5.5.3.2."""

    id: Identifier
    resource_handle: ResourceHandle
    ext_link_ports: tuple[ExtLinkPortInfo, ...] = ()
    current_vnf_ext_cp_data: tuple[VnfExtCpData, ...]


class ExtManagedVirtualLinkInfo(SolType):
    """SOL003 5.5.3.3."""

    id: Identifier
    vnf_virtual_link_desc_id: Identifier
    vnfd_id: Identifier | None = None
    network_resource: ResourceHandle
    vnf_link_ports: tuple[VnfLinkPortInfo, ...] = ()
    ext_managed_multisite_virtual_link_id: Identifier | None = None
