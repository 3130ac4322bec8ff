"""Operation occurrences: times, changes, cancellation."""

import datetime as dt
from typing import Any

import msgspec

from tacker_cnf.sol.base import encode
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelMode,
    CancelModeType,
    LcmOperationStateType,
    LcmOperationType,
    ResourceChanges,
    VnfLcmOpOcc,
    VnfLcmOpOccLinks,
)
from tests.unit.sol import base
from tests.unit.sol.test_vnf_instance import VM_INFO

RESOURCE_CHANGES = {
    "affectedVnfcs": [
        {
            "id": "vdu1-7c86d6b8f8-w5m2x",
            "vduId": "VDU1",
            "vnfdId": "vnfd1",
            "changeType": "REMOVED",
            "computeResource": {"resourceId": "vdu1-7c86d6b8f8-w5m2x"},
            "resourceDefinitionId": "def1",
            "zoneId": "nova",
            "metadata": {"a": 1},
            "affectedVnfcCpIds": ["cp1"],
            "addedStorageResourceIds": ["sto2"],
            "removedStorageResourceIds": ["sto1"],
        },
        {
            "id": "vdu1-7c86d6b8f8-zx8kq",
            "vduId": "VDU1",
            "changeType": "ADDED",
            "computeResource": {"resourceId": "vdu1-7c86d6b8f8-zx8kq"},
        },
    ],
    "affectedVirtualLinks": [
        {
            "id": "vl1",
            "vnfVirtualLinkDescId": "internalVL1",
            "vnfdId": "vnfd1",
            "changeType": "LINK_PORT_ADDED",
            "networkResource": {"resourceId": "net-1"},
            "vnfLinkPortIds": ["lp1"],
            "resourceDefinitionId": "def2",
            "zoneId": "nova",
            "metadata": {"a": 1},
        }
    ],
    "affectedExtLinkPorts": [
        {
            "id": "req-1",
            "changeType": "ADDED",
            "extCpInstanceId": "extcp1",
            "resourceHandle": {"resourceId": "port-1"},
            "resourceDefinitionId": "def3",
        }
    ],
    "affectedVirtualStorages": [
        {
            "id": "sto1",
            "virtualStorageDescId": "VirtualStorage",
            "vnfdId": "vnfd1",
            "changeType": "TEMPORARY",
            "storageResource": {"resourceId": "volume-1"},
            "resourceDefinitionId": "def4",
            "zoneId": "nova",
            "metadata": {"a": 1},
        }
    ],
}
SMALLEST: dict[str, Any] = {
    "id": "6a9c6ce8-9c1b-4b4e-8d6f-8a2b1f6c0a11",
    "operationState": "STARTING",
    "stateEnteredTime": "2026-11-20T09:41:02Z",
    "startTime": "2026-11-20T09:41:02Z",
    "vnfInstanceId": "7a1b2a4e-1d61-4f0f-9e0e-5fa1f7e0b5ff",
    "operation": "HEAL",
    "isAutomaticInvocation": False,
    "isCancelPending": False,
}
WHOLE: dict[str, Any] = {
    **SMALLEST,
    "operationState": "PROCESSING",
    "grantId": "c3b5e4a0-0f57-4a5e-a0d9-6d6a3c9f6f10",
    "operationParams": {"vnfcInstanceId": ["VDU1-x"], "cause": "stuck"},
    "isCancelPending": True,
    "cancelMode": "GRACEFUL",
    "error": {
        "status": 422,
        "detail": "ImagePullBackOff",
        "title": "Unprocessable Entity",
    },
    "resourceChanges": RESOURCE_CHANGES,
    "changedInfo": {"vnfInstanceName": "new", "metadata": {"a": 1}},
    "changedExtConnectivity": VM_INFO["extVirtualLinkInfo"],
    "modificationsTriggeredByVnfPkgChange": {
        "vnfConfigurableProperties": {"a": 1},
        "metadata": {"a": 1},
        "extensions": {"a": 1},
        "vnfdId": "vnfd2",
        "vnfProvider": "Company",
        "vnfProductName": "Sample VNF",
        "vnfSoftwareVersion": "1.1",
        "vnfdVersion": "1.1",
    },
    "vnfSnapshotInfoId": "snap1",
    "_links": {
        "self": {"href": "https://vnfm/vnf_lcm_op_occs/1"},
        "vnfInstance": {"href": "https://vnfm/vnf_instances/1"},
    },
}


def an_op_occ(**overrides: Any) -> VnfLcmOpOcc:
    now = dt.datetime(2026, 11, 20, 9, 41, 2, tzinfo=dt.UTC)
    given: dict[str, Any] = {
        "id": SMALLEST["id"],
        "operation_state": LcmOperationStateType.STARTING,
        "state_entered_time": now,
        "start_time": now,
        "vnf_instance_id": SMALLEST["vnfInstanceId"],
        "operation": LcmOperationType.HEAL,
        "is_automatic_invocation": False,
        "is_cancel_pending": False,
    }
    return VnfLcmOpOcc(**{**given, **overrides})


class TestRoundTrips(base.TestCase):
    def test_required_flags_are_always_encoded(self) -> None:
        self.assertEqual(an_op_occ(), self.assert_same(VnfLcmOpOcc, SMALLEST))

    def test_a_complete_occurrence(self) -> None:
        op_occ = self.assert_same(VnfLcmOpOcc, WHOLE)
        self.assertEqual(422, op_occ.error and op_occ.error.status)

    def test_every_operation_and_state(self) -> None:
        operations = (
            "INSTANTIATE SCALE SCALE_TO_LEVEL CHANGE_FLAVOUR TERMINATE HEAL"
            " OPERATE CHANGE_EXT_CONN MODIFY_INFO CREATE_SNAPSHOT"
            " REVERT_TO_SNAPSHOT CHANGE_VNFPKG"
        )
        states = (
            "STARTING PROCESSING COMPLETED FAILED_TEMP FAILED ROLLING_BACK"
            " ROLLED_BACK"
        )
        self.assertEqual(operations.split(), list(LcmOperationType))
        self.assertEqual(states.split(), list(LcmOperationStateType))

    def test_every_task_has_a_link(self) -> None:
        tasks = "self vnfInstance grant cancel retry rollback fail vnfSnapshot"
        body = {
            task: {"href": "https://vnfm/" + task} for task in tasks.split()
        }
        self.assert_same(VnfLcmOpOccLinks, body)

    def test_the_cancel_request(self) -> None:
        mode = self.assert_same(CancelMode, {"cancelMode": "FORCEFUL"})
        self.assertIs(CancelModeType.FORCEFUL, mode.cancel_mode)

    def test_no_changes_are_an_empty_object(self) -> None:
        self.assertEqual(b"{}", encode(ResourceChanges()))


class TestTimes(base.TestCase):
    def test_times_are_in_utc_and_whole_seconds(self) -> None:
        tokyo = dt.timezone(dt.timedelta(hours=9))
        moment = dt.datetime(2026, 11, 20, 18, 41, 2, 123456, tzinfo=tokyo)
        op_occ = an_op_occ(start_time=moment, state_entered_time=moment)
        self.assertEqual(an_op_occ(), op_occ)
        self.assertIn(b'"startTime":"2026-11-20T09:41:02Z"', encode(op_occ))

    def test_replaced_times_are_converted(self) -> None:
        later = dt.datetime(2026, 11, 20, 9, 42, 0, 5, tzinfo=dt.UTC)
        op_occ = msgspec.structs.replace(an_op_occ(), state_entered_time=later)
        self.assertIn(
            b'"stateEnteredTime":"2026-11-20T09:42:00Z"', encode(op_occ)
        )

    def test_an_offset_is_converted(self) -> None:
        self.assertEqual(
            an_op_occ(),
            msgspec.convert(
                {**SMALLEST, "startTime": "2026-11-20T10:41:02+01:00"},
                VnfLcmOpOcc,
            ),
        )

    def test_a_time_without_a_zone_is_rejected(self) -> None:
        naive = dt.datetime(2026, 11, 20, 9, 41, 2)  # noqa: DTZ001
        self.assertRaises(ValueError, an_op_occ, start_time=naive)
        self.assert_rejected(
            VnfLcmOpOcc,
            {**SMALLEST, "startTime": "2026-11-20T09:41:02"},
            "Expected `datetime` with a timezone component - at `$.startTime`",
        )


class TestRules(base.TestCase):
    def test_cancel_mode_requires_a_pending_cancellation(self) -> None:
        sentence = "cancelMode and isCancelPending require each other"
        for extra in ({"isCancelPending": True}, {"cancelMode": "GRACEFUL"}):
            with self.subTest(str(extra)):
                self.assert_rejected(
                    VnfLcmOpOcc, {**SMALLEST, **extra}, sentence
                )

    def test_an_invalid_change_has_its_path(self) -> None:
        changes = {
            "affectedExtLinkPorts": [
                {
                    "id": "p1",
                    "changeType": "MODIFIED",
                    "extCpInstanceId": "cp1",
                    "resourceHandle": {"resourceId": "r1"},
                }
            ]
        }
        self.assert_rejected(
            VnfLcmOpOcc,
            {**SMALLEST, "resourceChanges": changes},
            "Invalid enum value 'MODIFIED'"
            " - at `$.resourceChanges.affectedExtLinkPorts[0].changeType`",
        )
