"""The content of notifications."""

import itertools
from typing import Any

import msgspec
import testtools

from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement, PackageEvent
from tacker_cnf.lcm.shown_names import DEFAULT
from tacker_cnf.notification import payload
from tacker_cnf.notification.payload import Recipient
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.common import ResourceHandle, VimConnectionInfo
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.package_notification import PackageChangeType
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.subscription import (
    LcmOpOccNotificationVerbosityType as Verbosity,
)
from tacker_cnf.sol.subscription import NotificationType
from tacker_cnf.sol.v1.conversion import vnfc_id
from tacker_cnf.sol.vnf_lcm_op_occ import (
    AffectedVnfc,
    ChangeType,
    ResourceChanges,
    VnfLcmOpOcc,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.sol.vnf_package import OperationalState, UsageState
from tests.factories import NOW, an_instance, an_op_occ

VNFC = AffectedVnfc(
    id="v",
    vdu_id="web",
    change_type=ChangeType.ADDED,
    compute_resource=ResourceHandle(resource_id="web-1"),
)
ENDED = {S.COMPLETED, S.FAILED_TEMP, S.FAILED, S.ROLLED_BACK}


def render_notification(
    op_occ: VnfLcmOpOcc | None = None,
    kind: NotificationType = NotificationType.OP_OCC,
    verbosity: Verbosity = Verbosity.FULL,
    version: Api = Api.LCM_V2,
) -> dict[str, Any]:
    event = Announcement(
        id="an-event",
        type=kind,
        time_stamp=NOW,
        subject=announcement.subject(an_instance()),
        op_occ=op_occ and announcement.redact_op_occ(op_occ, DEFAULT),
    )
    recipient = Recipient(
        subscription_id="s",
        verbosity=verbosity,
        api_base="http://vnfm",
        api=version,
    )
    notification: dict[str, Any] = msgspec.to_builtins(
        payload.build_notification(event, recipient)
    )
    return notification


def in_state(state: S, op: Op = Op.SCALE) -> VnfLcmOpOcc:
    """Build an operation with an error and a resource change."""
    return an_op_occ(
        op,
        operation_state=state,
        operation_params={"additionalParams": {"password": "pw"}},
        error=ProblemDetails(
            status=422,
            detail="no room",
            user_script_err_handling_data={"token": "t", "kept": 1},
        ),
        resource_changes=ResourceChanges(affected_vnfcs=(VNFC,)),
    )


class TestContent(testtools.TestCase):
    def test_start_and_result(self) -> None:
        starts = {(op, S.STARTING) for op in Op} | {
            (Op.MODIFY_INFO, S.PROCESSING)
        }
        for op, state in itertools.product(Op, S):
            expected = "START" if (op, state) in starts else "RESULT"
            got = render_notification(in_state(state, op))[
                "notificationStatus"
            ]
            self.assertEqual(expected, got, f"{op} {state}")

    def test_changes_are_sent_in_full_in_final_states(self) -> None:
        for state, verbosity in itertools.product(S, Verbosity):
            expected = state in ENDED and verbosity == Verbosity.FULL
            notification = render_notification(
                in_state(state), verbosity=verbosity
            )
            self.assertEqual(expected, "affectedVnfcs" in notification, state)
            self.assertEqual(verbosity, notification["verbosity"])

    def test_version_1(self) -> None:
        for state in S:
            notification = render_notification(
                in_state(state), version=Api.LCM_V1
            )
            self.assertNotIn("verbosity", notification)
            for link in notification["_links"].values():
                self.assertIn("http://vnfm/vnflcm/v1/", link["href"])
            self.assertEqual(
                state in ENDED, "affectedVnfcs" in notification, state
            )
            for vnfc in notification.get("affectedVnfcs", ()):
                self.assertEqual(vnfc_id("an-instance", "v"), vnfc["id"])

    def test_changes_of_an_instance_in_version_1(self) -> None:
        vim = VimConnectionInfo(vim_id="v", vim_type="k")
        changes = VnfInfoModifications(vim_connection_info={"a": vim})
        op_occ = msgspec.structs.replace(
            in_state(S.COMPLETED), changed_info=changes
        )
        notification = render_notification(op_occ, version=Api.LCM_V1)
        (changed,) = notification["changedInfo"]["vimConnectionInfo"]
        self.assertEqual(("a", "v"), (changed["id"], changed["vimId"]))

    def test_identifiers_in_version_1(self) -> None:
        for kind in (NotificationType.CREATION, NotificationType.DELETION):
            notification = render_notification(kind=kind, version=Api.LCM_V1)
            self.assertEqual(
                "http://vnfm/vnflcm/v1/subscriptions/s",
                notification["_links"]["subscription"]["href"],
            )

    def test_an_error_is_sent_with_failed_states(self) -> None:
        failed = {S.FAILED_TEMP, S.FAILED, S.ROLLED_BACK}
        for state, verbosity in itertools.product(S, Verbosity):
            notification = render_notification(
                in_state(state), verbosity=verbosity
            )
            self.assertEqual(state in failed, "error" in notification, state)

    def test_notifications_contain_no_secrets(self) -> None:
        notification = render_notification(in_state(S.FAILED))
        self.assertEqual(
            {"token": "***", "kept": "***"},
            notification["error"]["userScriptErrHandlingData"],
        )
        self.assertNotIn("operationParams", notification)

    def test_all_attributes_of_an_operation_notification(self) -> None:
        base = "http://vnfm/vnflcm/v2"
        self.assertEqual(
            {
                "id": "an-event",
                "notificationType": "VnfLcmOperationOccurrenceNotification",
                "subscriptionId": "s",
                "timeStamp": "2026-11-20T12:00:00Z",
                "notificationStatus": "START",
                "operationState": "STARTING",
                "vnfInstanceId": "an-instance",
                "operation": "SCALE",
                "isAutomaticInvocation": False,
                "verbosity": "FULL",
                "vnfLcmOpOccId": "an-op-occ",
                "_links": {
                    "vnfInstance": {
                        "href": f"{base}/vnf_instances/an-instance"
                    },
                    "subscription": {"href": f"{base}/subscriptions/s"},
                    "vnfLcmOpOcc": {
                        "href": f"{base}/vnf_lcm_op_occs/an-op-occ"
                    },
                },
            },
            render_notification(in_state(S.STARTING)),
        )

    def test_all_attributes_of_an_identifier_notification(self) -> None:
        for kind in (NotificationType.CREATION, NotificationType.DELETION):
            notification = render_notification(kind=kind)
            self.assertEqual(kind, notification["notificationType"])
            self.assertEqual(
                {
                    "id",
                    "notificationType",
                    "subscriptionId",
                    "timeStamp",
                    "vnfInstanceId",
                    "_links",
                },
                set(notification),
            )
            self.assertNotIn("vnfLcmOpOcc", notification["_links"])


class TestPackages(testtools.TestCase):
    def render(self, change: PackageChangeType | None) -> dict[str, Any]:
        event = Announcement(
            id="an-event",
            time_stamp=NOW,
            subject=announcement.subject(an_instance(id="a-package")),
            package=PackageEvent(
                change=change,
                operational_state=OperationalState.DISABLED,
                usage_state=UsageState.NOT_IN_USE,
                shared_with=("a-project",),
            ),
        )
        recipient = Recipient(
            subscription_id="s",
            verbosity=Verbosity.FULL,
            api_base="http://vnfm",
            api=Api.PACKAGES_V1,
        )
        # as it is read from the outbox
        stored = msgspec.json.decode(
            msgspec.json.encode(event), type=Announcement
        )
        notification: dict[str, Any] = msgspec.to_builtins(
            payload.build_notification(stored, recipient)
        )
        return notification

    def test_all_attributes(self) -> None:
        base = "http://vnfm/vnfpkgm/v1"
        common = {
            "id": "an-event",
            "subscriptionId": "s",
            "timeStamp": "2026-11-20T12:00:00Z",
            "vnfPkgId": "a-package",
            "vnfdId": "a-vnfd",
            "_links": {
                "vnfPackage": {"href": f"{base}/vnf_packages/a-package"},
                "subscription": {"href": f"{base}/subscriptions/s"},
            },
        }
        changed = common | {"notificationType": "VnfPackageChangeNotification"}
        for change, expected in (
            (
                None,
                common
                | {"notificationType": "VnfPackageOnboardingNotification"},
            ),
            (
                PackageChangeType.OP_STATE_CHANGE,
                changed
                | {
                    "changeType": "OP_STATE_CHANGE",
                    "operationalState": "DISABLED",
                },
            ),
            (
                PackageChangeType.PKG_DELETE,
                changed | {"changeType": "PKG_DELETE"},
            ),
        ):
            self.assertEqual(expected, self.render(change))
