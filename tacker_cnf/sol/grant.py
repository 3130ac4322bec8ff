"""Grants and the requests for them (SOL003 9.5)."""

import enum
from typing import Annotated

import msgspec

from tacker_cnf.sol.base import Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import (
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    Link,
    ResourceHandle,
    VimConnectionInfo,
)


class GrantedLcmOperationType(enum.StrEnum):
    """SOL003 9.5.4.3. Modifying information needs no grant."""

    INSTANTIATE = "INSTANTIATE"
    SCALE = "SCALE"
    SCALE_TO_LEVEL = "SCALE_TO_LEVEL"
    CHANGE_FLAVOUR = "CHANGE_FLAVOUR"
    TERMINATE = "TERMINATE"
    HEAL = "HEAL"
    OPERATE = "OPERATE"
    CHANGE_EXT_CONN = "CHANGE_EXT_CONN"
    CHANGE_VNFPKG = "CHANGE_VNFPKG"
    CREATE_SNAPSHOT = "CREATE_SNAPSHOT"
    REVERT_TO_SNAPSHOT = "REVERT_TO_SNAPSHOT"


class ResourceDefinitionType(enum.StrEnum):
    """SOL003 9.5.3.2, inner type."""

    COMPUTE = "COMPUTE"
    VL = "VL"
    STORAGE = "STORAGE"
    LINKPORT = "LINKPORT"


class AffinityOrAntiAffinity(enum.StrEnum):
    """SOL003 9.5.3.6, inner type."""

    AFFINITY = "AFFINITY"
    ANTI_AFFINITY = "ANTI_AFFINITY"


class PlacementScope(enum.StrEnum):
    """SOL003 9.5.3.6, inner type."""

    NFVI_POP = "NFVI_POP"
    ZONE = "ZONE"
    ZONE_GROUP = "ZONE_GROUP"
    NFVI_NODE = "NFVI_NODE"


class ConstraintResourceIdType(enum.StrEnum):
    """SOL003 9.5.3.8, inner type."""

    RES_MGMT = "RES_MGMT"
    GRANT = "GRANT"


class SnapshotResourceDefinition(SolType):
    """SOL003 9.5.3.11."""

    vnf_snapshot_id: Identifier
    vnfc_snapshot_id: Identifier | None = None
    storage_snapshot_id: Identifier | None = None
    snapshot_resource: ResourceHandle | None = None


class ResourceDefinition(SolType):
    """SOL003 9.5.3.2. The definition of an existing resource has a handle."""

    id: Identifier
    type: ResourceDefinitionType
    vdu_id: Identifier | None = None
    vnfd_id: Identifier | None = None
    resource_template_id: Identifier
    resource: ResourceHandle | None = None
    snapshot_res_def: SnapshotResourceDefinition | None = None


class ConstraintResourceRef(SolType):
    """SOL003 9.5.3.8."""

    id_type: ConstraintResourceIdType
    resource_id: Identifier
    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None

    def __post_init__(self) -> None:
        is_res_mgmt = self.id_type is ConstraintResourceIdType.RES_MGMT
        if not is_res_mgmt and (
            self.vim_connection_id or self.resource_provider_id
        ):
            raise ValueError(
                "vimConnectionId and resourceProviderId require idType"
                " RES_MGMT"
            )


class PlacementConstraint(SolType):
    """SOL003 9.5.3.6."""

    affinity_or_anti_affinity: AffinityOrAntiAffinity
    scope: PlacementScope
    resource: tuple[ConstraintResourceRef, ...]
    fallback_best_effort: bool | None = None


class VimConstraint(SolType):
    """SOL003 9.5.3.7. The resources have to be in the same VIM."""

    same_resource_group: bool | None = None
    resource: tuple[ConstraintResourceRef, ...]


class GrantRequestLinks(SolType):
    """SOL003 9.5.2.2, inner type."""

    vnf_lcm_op_occ: Link
    vnf_instance: Link


class GrantRequest(SolType):
    """SOL003 9.5.2.2."""

    vnf_instance_id: Identifier
    vnf_lcm_op_occ_id: Identifier
    vnfd_id: Identifier
    dst_vnfd_id: Identifier | None = None
    flavour_id: Identifier | None = None
    operation: GrantedLcmOperationType
    is_automatic_invocation: bool
    instantiation_level_id: Identifier | None = None
    add_resources: tuple[ResourceDefinition, ...] = ()
    temp_resources: tuple[ResourceDefinition, ...] = ()
    remove_resources: tuple[ResourceDefinition, ...] = ()
    update_resources: tuple[ResourceDefinition, ...] = ()
    placement_constraints: tuple[PlacementConstraint, ...] = ()
    vim_constraints: tuple[VimConstraint, ...] = ()
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)
    links: GrantRequestLinks = msgspec.field(name="_links")


class GrantInfo(SolType):
    """SOL003 9.5.3.3. The grant of one ResourceDefinition."""

    resource_definition_id: Identifier
    reservation_id: Identifier | None = None
    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    zone_id: Identifier | None = None
    resource_group_id: Identifier | None = None


class ZoneInfo(SolType):
    """SOL003 9.5.3.4."""

    id: Identifier
    zone_id: Identifier
    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None


class ZoneGroupInfo(SolType):
    """SOL003 9.5.3.5."""

    zone_id: Annotated[tuple[Identifier, ...], msgspec.Meta(min_length=1)]


class VimComputeResourceFlavour(SolType):
    """SOL003 9.5.3.9."""

    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    vnfd_virtual_compute_desc_id: Identifier
    vim_flavour_id: Identifier


class VimSoftwareImage(SolType):
    """SOL003 9.5.3.10."""

    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    vnfd_software_image_id: Identifier
    vim_software_image_id: Identifier


class VimSnapshotResource(SolType):
    """SOL003 9.5.3.12."""

    vim_connection_id: Identifier | None = None
    resource_provider_id: Identifier | None = None
    vnf_snapshot_id: Identifier
    vnfc_snapshot_id: Identifier
    storage_snapshot_id: Identifier | None = None
    vim_snapshot_resource_id: Identifier


class VimAssets(SolType):
    """SOL003 9.5.2.3, inner type."""

    compute_resource_flavours: tuple[VimComputeResourceFlavour, ...] = ()
    software_images: tuple[VimSoftwareImage, ...] = ()
    snapshot_resources: tuple[VimSnapshotResource, ...] = ()


class GrantLinks(SolType):
    """SOL003 9.5.2.3, inner type."""

    self_: Link = msgspec.field(name="self")
    vnf_lcm_op_occ: Link
    vnf_instance: Link


class Grant(SolType):
    """SOL003 9.5.2.3."""

    id: Identifier
    vnf_instance_id: Identifier
    vnf_lcm_op_occ_id: Identifier
    vim_connection_info: dict[Identifier, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    zones: tuple[ZoneInfo, ...] = ()
    zone_groups: tuple[ZoneGroupInfo, ...] = ()
    add_resources: tuple[GrantInfo, ...] = ()
    temp_resources: tuple[GrantInfo, ...] = ()
    remove_resources: tuple[GrantInfo, ...] = ()
    update_resources: tuple[GrantInfo, ...] = ()
    vim_assets: VimAssets | None = None
    ext_virtual_links: tuple[ExtVirtualLinkData, ...] = ()
    ext_managed_virtual_links: tuple[ExtManagedVirtualLinkData, ...] = ()
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)
    links: GrantLinks = msgspec.field(name="_links")
