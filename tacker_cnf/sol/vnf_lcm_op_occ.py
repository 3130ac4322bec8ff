"""Lifecycle operations and their changes (SOL003 5.5.2.13)."""

import enum
from typing import Any

import msgspec

from tacker_cnf.sol.base import (
    DateTime,
    Identifier,
    KeyValuePairs,
    SolType,
    utc_seconds,
)
from tacker_cnf.sol.common import Link, ResourceHandle
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.timeline import TimelineStep
from tacker_cnf.sol.virtual_link import ExtVirtualLinkInfo


class LcmOperationType(enum.StrEnum):
    """SOL003 5.5.4.7."""

    INSTANTIATE = "INSTANTIATE"
    SCALE = "SCALE"
    SCALE_TO_LEVEL = "SCALE_TO_LEVEL"
    CHANGE_FLAVOUR = "CHANGE_FLAVOUR"
    TERMINATE = "TERMINATE"
    HEAL = "HEAL"
    OPERATE = "OPERATE"
    CHANGE_EXT_CONN = "CHANGE_EXT_CONN"
    MODIFY_INFO = "MODIFY_INFO"
    CREATE_SNAPSHOT = "CREATE_SNAPSHOT"
    REVERT_TO_SNAPSHOT = "REVERT_TO_SNAPSHOT"
    CHANGE_VNFPKG = "CHANGE_VNFPKG"


class LcmOperationStateType(enum.StrEnum):
    """SOL003 5.5.4.5."""

    STARTING = "STARTING"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    FAILED_TEMP = "FAILED_TEMP"
    FAILED = "FAILED"
    ROLLING_BACK = "ROLLING_BACK"
    ROLLED_BACK = "ROLLED_BACK"


class CancelModeType(enum.StrEnum):
    """SOL003 5.5.4.6."""

    GRACEFUL = "GRACEFUL"
    FORCEFUL = "FORCEFUL"


class CancelMode(SolType):
    """SOL003 5.5.2.14. The request to cancel an operation."""

    cancel_mode: CancelModeType


class ChangeType(enum.StrEnum):
    """SOL003 5.5.3.13 and 5.5.3.15, inner type."""

    ADDED = "ADDED"
    REMOVED = "REMOVED"
    MODIFIED = "MODIFIED"
    TEMPORARY = "TEMPORARY"


class VirtualLinkChangeType(enum.StrEnum):
    """SOL003 5.5.3.14, inner type."""

    ADDED = "ADDED"
    REMOVED = "REMOVED"
    MODIFIED = "MODIFIED"
    TEMPORARY = "TEMPORARY"
    LINK_PORT_ADDED = "LINK_PORT_ADDED"
    LINK_PORT_REMOVED = "LINK_PORT_REMOVED"


class ExtLinkPortChangeType(enum.StrEnum):
    """SOL003 5.5.3.14a, inner type."""

    ADDED = "ADDED"
    REMOVED = "REMOVED"


class AffectedVnfc(SolType):
    """SOL003 5.5.3.13."""

    id: Identifier
    vdu_id: Identifier
    vnfd_id: Identifier | None = None
    change_type: ChangeType
    compute_resource: ResourceHandle
    resource_definition_id: Identifier | None = None
    zone_id: Identifier | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    affected_vnfc_cp_ids: tuple[Identifier, ...] = ()
    added_storage_resource_ids: tuple[Identifier, ...] = ()
    removed_storage_resource_ids: tuple[Identifier, ...] = ()


class AffectedVirtualLink(SolType):
    """SOL003 5.5.3.14."""

    id: Identifier
    vnf_virtual_link_desc_id: Identifier
    vnfd_id: Identifier | None = None
    change_type: VirtualLinkChangeType
    network_resource: ResourceHandle
    vnf_link_port_ids: tuple[Identifier, ...] = ()
    resource_definition_id: Identifier | None = None
    zone_id: Identifier | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)


class AffectedExtLinkPort(SolType):
    """SOL003 5.5.3.14a."""

    id: Identifier
    change_type: ExtLinkPortChangeType
    ext_cp_instance_id: Identifier
    resource_handle: ResourceHandle
    resource_definition_id: Identifier | None = None


class AffectedVirtualStorage(SolType):
    """SOL003 5.5.3.15."""

    id: Identifier
    virtual_storage_desc_id: Identifier
    vnfd_id: Identifier | None = None
    change_type: ChangeType
    storage_resource: ResourceHandle
    resource_definition_id: Identifier | None = None
    zone_id: Identifier | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)


class ResourceChanges(SolType):
    """SOL003 5.5.2.13, inner type."""

    affected_vnfcs: tuple[AffectedVnfc, ...] = ()
    affected_virtual_links: tuple[AffectedVirtualLink, ...] = ()
    affected_ext_link_ports: tuple[AffectedExtLinkPort, ...] = ()
    affected_virtual_storages: tuple[AffectedVirtualStorage, ...] = ()


class ModificationsTriggeredByVnfPkgChange(SolType):
    """SOL003 5.5.3.21."""

    vnf_configurable_properties: KeyValuePairs = msgspec.field(
        default_factory=dict
    )
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    extensions: KeyValuePairs = msgspec.field(default_factory=dict)
    vnfd_id: Identifier | None = None
    vnf_provider: str | None = None
    vnf_product_name: str | None = None
    vnf_software_version: str | None = None
    vnfd_version: str | None = None


class VnfLcmOpOccLinks(SolType):
    """SOL003 5.5.2.13, inner type. A task is linked while it is allowed."""

    self_: Link = msgspec.field(name="self")
    vnf_instance: Link
    grant: Link | None = None
    cancel: Link | None = None
    retry: Link | None = None
    rollback: Link | None = None
    fail: Link | None = None
    vnf_snapshot: Link | None = None


class VnfLcmOpOcc(SolType):
    """SOL003 5.5.2.13. The API adds the links to its responses.

    operationParams is the JSON of the request that started the operation.
    """

    id: Identifier
    operation_state: LcmOperationStateType
    state_entered_time: DateTime
    start_time: DateTime
    vnf_instance_id: Identifier
    grant_id: Identifier | None = None
    operation: LcmOperationType
    is_automatic_invocation: bool
    operation_params: dict[str, Any] | None = None
    is_cancel_pending: bool
    cancel_mode: CancelModeType | None = None
    error: ProblemDetails | None = None
    resource_changes: ResourceChanges | None = None
    changed_info: VnfInfoModifications | None = None
    changed_ext_connectivity: tuple[ExtVirtualLinkInfo, ...] = ()
    modifications_triggered_by_vnf_pkg_change: (
        ModificationsTriggeredByVnfPkgChange | None
    ) = None
    vnf_snapshot_info_id: Identifier | None = None
    #: extension: the step that runs or failed, and its progress
    progress: str | None = None
    #: extension: its steps so far, with what they change
    timeline: tuple[TimelineStep, ...] = ()
    #: extension: the output of its management scripts
    script_log: str | None = None
    #: extension: the project of its VNF instance
    project_id: str = ""
    #: extension: the user that started it
    user_id: str | None = None
    #: extension: the request that started it, or retried or rolled it back
    #: last; log lines and requests to the VIM have the same ID
    request_id: str | None = None
    links: VnfLcmOpOccLinks | None = msgspec.field(default=None, name="_links")

    def __post_init__(self) -> None:
        for name in ("state_entered_time", "start_time"):
            moment = utc_seconds(getattr(self, name))
            msgspec.structs.force_setattr(self, name, moment)
        if self.is_cancel_pending == (self.cancel_mode is None):
            raise ValueError(
                "cancelMode and isCancelPending require each other"
            )
