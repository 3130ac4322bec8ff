"""Notifications in version 1 (SOL003 v2.6.1, 5.5.2.17).

Those about identifiers have the same types in both versions.
"""

from tacker_cnf.sol.base import Identifier
from tacker_cnf.sol.notification import Notification, NotificationStatus
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.v1.resources import ExtVirtualLinkInfoV1
from tacker_cnf.sol.v1.vnf_lcm_op_occ import (
    AffectedVirtualLinkV1,
    AffectedVirtualStorageV1,
    AffectedVnfcV1,
    VnfInfoModificationsV1,
)
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    LcmOperationType,
)


class VnfLcmOperationOccurrenceNotificationV1(Notification):
    """SOL003 v2.6.1, 5.5.2.17."""

    notification_status: NotificationStatus
    operation_state: LcmOperationStateType
    operation: LcmOperationType
    is_automatic_invocation: bool
    vnf_lcm_op_occ_id: Identifier
    affected_vnfcs: tuple[AffectedVnfcV1, ...] = ()
    affected_virtual_links: tuple[AffectedVirtualLinkV1, ...] = ()
    affected_virtual_storages: tuple[AffectedVirtualStorageV1, ...] = ()
    changed_info: VnfInfoModificationsV1 | None = None
    changed_ext_connectivity: tuple[ExtVirtualLinkInfoV1, ...] = ()
    error: ProblemDetails | None = None
