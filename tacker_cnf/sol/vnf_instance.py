"""A VNF instance and its resources (SOL003 5.5.2.2, 5.5.3)."""

import enum
from typing import Annotated

import msgspec

from tacker_cnf.sol.base import Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import Link, ResourceHandle, VimConnectionInfo
from tacker_cnf.sol.connection_point import VnfcCpInfo, VnfExtCpInfo
from tacker_cnf.sol.virtual_link import (
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
    VnfVirtualLinkResourceInfo,
)


class InstantiationState(enum.StrEnum):
    """SOL003 5.5.2.2, inner type."""

    NOT_INSTANTIATED = "NOT_INSTANTIATED"
    INSTANTIATED = "INSTANTIATED"


class VnfOperationalState(enum.StrEnum):
    """SOL003 5.5.4.3, there VnfOperationalStateType."""

    STARTED = "STARTED"
    STOPPED = "STOPPED"


class ScaleInfo(SolType):
    """SOL003 5.5.3.4. Level 0 is the smallest size of an aspect."""

    aspect_id: Identifier
    vnfd_id: Identifier | None = None
    scale_level: Annotated[int, msgspec.Meta(ge=0)]


class MonitoringParameter(SolType):
    """SOL003 5.5.3.11."""

    id: Identifier
    vnfd_id: Identifier | None = None
    name: str | None = None
    performance_metric: str


class VnfcResourceInfo(SolType):
    """SOL003 5.5.3.5. The resources of one VNFC."""

    id: Identifier
    vdu_id: Identifier
    vnfd_id: Identifier | None = None
    compute_resource: ResourceHandle
    zone_id: Identifier | None = None
    storage_resource_ids: tuple[Identifier, ...] = ()
    reservation_id: Identifier | None = None
    vnfc_cp_info: tuple[VnfcCpInfo, ...] = ()
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)


class VnfcInfo(SolType):
    """SOL002 5.5.3.23. A VNFC from the view of an element manager."""

    id: Identifier
    vdu_id: Identifier
    vnfc_resource_info_id: Identifier | None = None
    vnfc_state: VnfOperationalState
    vnfc_configurable_properties: KeyValuePairs = msgspec.field(
        default_factory=dict
    )


class VirtualStorageResourceInfo(SolType):
    """SOL003 5.5.3.7."""

    id: Identifier
    virtual_storage_desc_id: Identifier
    vnfd_id: Identifier | None = None
    storage_resource: ResourceHandle
    zone_id: Identifier | None = None
    reservation_id: Identifier | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)


class InstantiatedVnfInfo(SolType):
    """SOL003 5.5.2.2, inner type, with vnfcInfo of SOL002.

    The standard requires at least one extCpInfo, but a containerised VNF has
    none.
    """

    flavour_id: Identifier
    vnf_state: VnfOperationalState
    scale_status: tuple[ScaleInfo, ...] = ()
    max_scale_levels: tuple[ScaleInfo, ...] = ()
    ext_cp_info: tuple[VnfExtCpInfo, ...] = ()
    ext_virtual_link_info: tuple[ExtVirtualLinkInfo, ...] = ()
    ext_managed_virtual_link_info: tuple[ExtManagedVirtualLinkInfo, ...] = ()
    monitoring_parameters: tuple[MonitoringParameter, ...] = ()
    localization_language: str | None = None
    vnfc_resource_info: tuple[VnfcResourceInfo, ...] = ()
    vnf_virtual_link_resource_info: tuple[VnfVirtualLinkResourceInfo, ...] = ()
    virtual_storage_resource_info: tuple[VirtualStorageResourceInfo, ...] = ()
    vnfc_info: tuple[VnfcInfo, ...] = ()
    #: extension: data of the infra driver
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)


class VnfInstanceLinks(SolType):
    """SOL003 5.5.2.2, inner type. A task is linked while it is allowed."""

    self_: Link = msgspec.field(name="self")
    indicators: Link | None = None
    instantiate: Link | None = None
    terminate: Link | None = None
    scale: Link | None = None
    scale_to_level: Link | None = None
    change_flavour: Link | None = None
    heal: Link | None = None
    operate: Link | None = None
    change_ext_conn: Link | None = None
    change_vnf_pkg: Link | None = None
    create_snapshot: Link | None = None
    revert_to_snapshot: Link | None = None


class VnfInstance(SolType):
    """SOL003 5.5.2.2. The API adds the links to its responses."""

    id: Identifier
    vnf_instance_name: str | None = None
    vnf_instance_description: str | None = None
    vnfd_id: Identifier
    vnf_provider: str
    vnf_product_name: str
    vnf_software_version: str
    vnfd_version: str
    vnf_configurable_properties: KeyValuePairs = msgspec.field(
        default_factory=dict
    )
    vim_connection_info: dict[Identifier, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    instantiation_state: InstantiationState
    instantiated_vnf_info: InstantiatedVnfInfo | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    extensions: KeyValuePairs = msgspec.field(default_factory=dict)
    #: extension: the project that it belongs to
    project_id: str = ""
    links: VnfInstanceLinks | None = msgspec.field(default=None, name="_links")
