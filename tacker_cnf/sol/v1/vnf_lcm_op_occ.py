"""Lifecycle operations in version 1 (SOL003 v2.6.1, 5.5.2.13)."""

from typing import Any

import msgspec

from tacker_cnf.sol.base import DateTime, Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.v1.resources import (
    ExtVirtualLinkInfoV1,
    ResourceHandleV1,
    VimConnectionInfoV1,
)
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    ChangeType,
    LcmOperationStateType,
    LcmOperationType,
    VirtualLinkChangeType,
)


class AffectedVnfcV1(SolType):
    """SOL003 v2.6.1, 5.5.3.13."""

    #: a UUID of this service; version 2 has the id of the resource
    id: Identifier
    vdu_id: Identifier
    change_type: ChangeType
    compute_resource: ResourceHandleV1
    affected_vnfc_cp_ids: tuple[Identifier, ...]
    added_storage_resource_ids: tuple[Identifier, ...]
    removed_storage_resource_ids: tuple[Identifier, ...] = ()


class AffectedVirtualLinkV1(SolType):
    """SOL003 v2.6.1, 5.5.3.14."""

    id: Identifier
    vnf_virtual_link_desc_id: Identifier
    change_type: VirtualLinkChangeType
    network_resource: ResourceHandleV1


class AffectedVirtualStorageV1(SolType):
    """SOL003 v2.6.1, 5.5.3.15."""

    id: Identifier
    virtual_storage_desc_id: Identifier
    change_type: ChangeType
    storage_resource: ResourceHandleV1


class ResourceChangesV1(SolType):
    """SOL003 v2.6.1, 5.5.2.13, inner type."""

    affected_vnfcs: tuple[AffectedVnfcV1, ...] = ()
    affected_virtual_links: tuple[AffectedVirtualLinkV1, ...] = ()
    affected_virtual_storages: tuple[AffectedVirtualStorageV1, ...] = ()


class VnfInfoModificationsV1(SolType):
    """SOL003 v2.6.1, 5.5.2.12a. The changed attributes."""

    vnf_instance_name: str | None = None
    vnf_instance_description: str | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    vim_connection_info: tuple[VimConnectionInfoV1, ...] = ()
    #: the package of the new VNFD; notifications do not have it
    vnf_pkg_id: Identifier | None = None
    vnfd_id: Identifier | None = None
    vnf_provider: str | None = None
    vnf_product_name: str | None = None
    vnf_software_version: str | None = None
    vnfd_version: str | None = None


class VnfLcmOpOccLinksV1(SolType):
    """SOL003 v2.6.1, 5.5.2.13, inner type. A task is linked while it is
    allowed.
    """

    self_: Link = msgspec.field(name="self")
    vnf_instance: Link
    cancel: Link | None = None
    retry: Link | None = None
    rollback: Link | None = None
    fail: Link | None = None


class VnfLcmOpOccV1(SolType):
    """SOL003 v2.6.1, 5.5.2.13.

    operationParams is the request that started the operation, in the form of
    version 1.
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
    resource_changes: ResourceChangesV1 | None = None
    changed_info: VnfInfoModificationsV1 | None = None
    changed_ext_connectivity: tuple[ExtVirtualLinkInfoV1, ...] = ()
    links: VnfLcmOpOccLinksV1 = msgspec.field(name="_links")
