"""Build the content of notifications (SOL003 5.5.2.17 to 5.5.2.19, 10.5.2.5
and 10.5.2.6).
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf.lcm.announcement import Announcement, PackageEvent
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.notification import (
    LccnLinks,
    Notification,
    NotificationStatus,
    VnfIdentifierCreationNotification,
    VnfIdentifierDeletionNotification,
    VnfLcmOperationOccurrenceNotification,
)
from tacker_cnf.sol.package_notification import (
    PackageChangeType,
    PackageNotification,
    PkgmLinks,
    VnfPackageChangeNotification,
    VnfPackageOnboardingNotification,
)
from tacker_cnf.sol.subscription import (
    LcmOpOccNotificationVerbosityType,
    NotificationType,
)
from tacker_cnf.sol.v1 import conversion
from tacker_cnf.sol.v1.notification import (
    VnfLcmOperationOccurrenceNotificationV1,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.sol.vnf_lcm_op_occ import ResourceChanges, VnfLcmOpOcc

#: states whose notifications contain the error
FAILED: Final = frozenset({S.FAILED_TEMP, S.FAILED, S.ROLLED_BACK})
#: states whose notifications contain the changes
FINAL_STATES: Final = FAILED | {S.COMPLETED}

_NONE: Final = ResourceChanges()
_IDENTIFIERS: Final[Mapping[NotificationType | None, type[Notification]]] = {
    NotificationType.CREATION: VnfIdentifierCreationNotification,
    NotificationType.DELETION: VnfIdentifierDeletionNotification,
}


class Recipient(msgspec.Struct, frozen=True, kw_only=True):
    """The subscriber of a notification."""

    subscription_id: str
    verbosity: LcmOpOccNotificationVerbosityType
    #: the address of this API as the subscriber uses it
    api_base: str
    #: by which it subscribed
    api: Api = Api.LCM_V2


def build_notification(
    announcement: Announcement, recipient: Recipient
) -> Notification | PackageNotification:
    """Build the notification of an event for one subscriber."""
    if announcement.package:
        return _of_package(announcement, announcement.package, recipient)
    base = recipient.api_base + recipient.api.root
    op_occ = announcement.op_occ
    common: dict[str, Any] = {
        "id": announcement.id,
        "notification_type": announcement.type,
        "subscription_id": recipient.subscription_id,
        "time_stamp": announcement.time_stamp,
        "vnf_instance_id": announcement.subject.id,
        "links": LccnLinks(
            vnf_instance=Link(
                href=f"{base}/vnf_instances/{announcement.subject.id}"
            ),
            subscription=Link(
                href=f"{base}/subscriptions/{recipient.subscription_id}"
            ),
            vnf_lcm_op_occ=Link(href=f"{base}/vnf_lcm_op_occs/{op_occ.id}")
            if op_occ
            else None,
        ),
    }
    if op_occ is None:
        return _IDENTIFIERS[announcement.type](**common)
    common |= {
        "notification_status": _status(op_occ),
        "operation_state": op_occ.operation_state,
        "operation": op_occ.operation,
        "is_automatic_invocation": op_occ.is_automatic_invocation,
        "vnf_lcm_op_occ_id": op_occ.id,
        "error": op_occ.error if op_occ.operation_state in FAILED else None,
    }
    if recipient.api is Api.LCM_V1:
        return VnfLcmOperationOccurrenceNotificationV1(
            **common, **_changes_v1(op_occ)
        )
    return VnfLcmOperationOccurrenceNotification(
        **common,
        verbosity=recipient.verbosity,
        **_changes(op_occ, recipient.verbosity),
    )


def _of_package(
    announcement: Announcement, event: PackageEvent, recipient: Recipient
) -> PackageNotification:
    base = recipient.api_base + recipient.api.root
    subject = announcement.subject
    common: dict[str, Any] = {
        "id": announcement.id,
        "notification_type": event.type,
        "subscription_id": recipient.subscription_id,
        "time_stamp": announcement.time_stamp,
        "vnf_pkg_id": subject.id,
        "vnfd_id": subject.vnfd_id,
        "links": PkgmLinks(
            vnf_package=Link(href=f"{base}/vnf_packages/{subject.id}"),
            subscription=Link(
                href=f"{base}/subscriptions/{recipient.subscription_id}"
            ),
        ),
    }
    if event.change is None:
        return VnfPackageOnboardingNotification(**common)
    has_new_state = event.change is PackageChangeType.OP_STATE_CHANGE
    return VnfPackageChangeNotification(
        **common,
        change_type=event.change,
        operational_state=event.operational_state if has_new_state else None,
    )


def _status(op_occ: VnfLcmOpOcc) -> NotificationStatus:
    """Return START or RESULT; a modification starts with PROCESSING."""
    starts = {S.STARTING}
    if op_occ.operation == Op.MODIFY_INFO:
        starts.add(S.PROCESSING)
    if op_occ.operation_state in starts:
        return NotificationStatus.START
    return NotificationStatus.RESULT


def _changes(
    op_occ: VnfLcmOpOcc, verbosity: LcmOpOccNotificationVerbosityType
) -> dict[str, Any]:
    if (
        verbosity != LcmOpOccNotificationVerbosityType.FULL
        or op_occ.operation_state not in FINAL_STATES
    ):
        return {}
    resources = op_occ.resource_changes or _NONE
    values = {
        name: getattr(resources, name)
        for name in ResourceChanges.__struct_fields__
    }
    return values | {
        name: getattr(op_occ, name)
        for name in (
            "changed_info",
            "changed_ext_connectivity",
            "modifications_triggered_by_vnf_pkg_change",
            "timeline",
        )
    }


def _changes_v1(op_occ: VnfLcmOpOcc) -> dict[str, Any]:
    if op_occ.operation_state not in FINAL_STATES:
        return {}
    resources = conversion.resource_changes(
        op_occ.resource_changes or _NONE, op_occ.vnf_instance_id
    )
    return msgspec.structs.asdict(resources) | {
        "changed_info": op_occ.changed_info
        and conversion.changed_info(op_occ.changed_info),
        "changed_ext_connectivity": conversion.external_links(
            op_occ.changed_ext_connectivity
        ),
    }
