"""Notifications to subscribers (SOL003 5.5.2.17 to 5.5.2.19)."""

import enum

import msgspec

from tacker_cnf.sol.base import DateTime, Identifier, SolType, utc_seconds
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.subscription import (
    LcmOpOccNotificationVerbosityType,
    NotificationType,
)
from tacker_cnf.sol.timeline import TimelineStep
from tacker_cnf.sol.virtual_link import ExtVirtualLinkInfo
from tacker_cnf.sol.vnf_lcm_op_occ import (
    AffectedExtLinkPort,
    AffectedVirtualLink,
    AffectedVirtualStorage,
    AffectedVnfc,
    LcmOperationStateType,
    LcmOperationType,
    ModificationsTriggeredByVnfPkgChange,
)


class NotificationStatus(enum.StrEnum):
    """SOL003 5.5.2.17, inner type."""

    START = "START"
    RESULT = "RESULT"


class LccnLinks(SolType):
    """SOL003 5.5.3.27."""

    vnf_instance: Link
    subscription: Link
    vnf_lcm_op_occ: Link | None = None


class Notification(SolType):
    """SOL003 5.5.2.17 to 5.5.2.19, common attributes. All deliveries of a
    notification, to all subscribers, have the same id.
    """

    id: Identifier
    notification_type: NotificationType
    subscription_id: Identifier
    time_stamp: DateTime
    vnf_instance_id: Identifier
    links: LccnLinks = msgspec.field(name="_links")

    def __post_init__(self) -> None:
        moment = utc_seconds(self.time_stamp)
        msgspec.structs.force_setattr(self, "time_stamp", moment)


class VnfIdentifierCreationNotification(Notification):
    """SOL003 5.5.2.18."""


class VnfIdentifierDeletionNotification(Notification):
    """SOL003 5.5.2.19."""


class VnfLcmOperationOccurrenceNotification(Notification):
    """SOL003 5.5.2.17."""

    notification_status: NotificationStatus
    operation_state: LcmOperationStateType
    operation: LcmOperationType
    is_automatic_invocation: bool
    verbosity: LcmOpOccNotificationVerbosityType
    vnf_lcm_op_occ_id: Identifier
    affected_vnfcs: tuple[AffectedVnfc, ...] = ()
    affected_virtual_links: tuple[AffectedVirtualLink, ...] = ()
    affected_ext_link_ports: tuple[AffectedExtLinkPort, ...] = ()
    affected_virtual_storages: tuple[AffectedVirtualStorage, ...] = ()
    changed_info: VnfInfoModifications | None = None
    changed_ext_connectivity: tuple[ExtVirtualLinkInfo, ...] = ()
    modifications_triggered_by_vnf_pkg_change: (
        ModificationsTriggeredByVnfPkgChange | None
    ) = None
    error: ProblemDetails | None = None
    #: extension: the steps of the operation, if it has ended
    timeline: tuple[TimelineStep, ...] = ()
