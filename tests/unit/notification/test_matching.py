"""Who is told what, by tables."""

from typing import Any

import msgspec
import testtools

from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement
from tacker_cnf.notification import subscription_filter
from tacker_cnf.sol.subscription import (
    LifecycleChangeNotificationsFilter,
    NotificationType,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tests.factories import NOW, an_instance, an_op_occ

OP_OCC = "VnfLcmOperationOccurrenceNotification"
CREATION = "VnfIdentifierCreationNotification"


def provided(
    provider: str = "a vendor", *products: dict[str, Any]
) -> dict[str, Any]:
    given: dict[str, Any] = {"vnfProvider": provider}
    if products:
        given["vnfProducts"] = products
    return {"vnfProductsFromProviders": [given]}


def product(
    name: str = "a product", software: str = "", *vnfds: str
) -> dict[str, Any]:
    given: dict[str, Any] = {"vnfProductName": name}
    if software:
        version: dict[str, Any] = {"vnfSoftwareVersion": software}
        given["versions"] = [
            version | ({"vnfdVersions": vnfds} if vnfds else {})
        ]
    return given


def happened(
    kind: NotificationType = NotificationType.OP_OCC,
    name: str | None = "mine",
) -> Announcement:
    op_occ = an_op_occ(Op.SCALE, operation_state=S.COMPLETED)
    return Announcement(
        id="n",
        type=kind,
        time_stamp=NOW,
        subject=announcement.subject(an_instance(vnf_instance_name=name)),
        op_occ=op_occ if kind == NotificationType.OP_OCC else None,
    )


def read(given: dict[str, Any]) -> LifecycleChangeNotificationsFilter:
    return msgspec.convert(given, LifecycleChangeNotificationsFilter)


class TestOperations(testtools.TestCase):
    TABLE: tuple[tuple[dict[str, Any], bool, bool], ...] = (
        # filter, told of a SCALE that is COMPLETED, told of a creation
        ({}, True, True),
        ({"notificationTypes": [OP_OCC]}, True, False),
        ({"notificationTypes": [CREATION]}, False, True),
        ({"notificationTypes": [CREATION, OP_OCC]}, True, True),
        ({"operationTypes": ["SCALE"]}, True, True),
        ({"operationTypes": ["HEAL", "SCALE"]}, True, True),
        ({"operationTypes": ["HEAL"]}, False, True),
        ({"operationStates": ["COMPLETED"]}, True, True),
        ({"operationStates": ["FAILED"]}, False, True),
        (
            {"operationTypes": ["SCALE"], "operationStates": ["FAILED"]},
            False,
            True,
        ),
        (
            {"operationTypes": ["HEAL"], "operationStates": ["COMPLETED"]},
            False,
            True,
        ),
    )

    def test_each(self) -> None:
        for given, of_scale, of_creation in self.TABLE:
            filter_ = read(given)
            for kind, wanted in (
                (NotificationType.OP_OCC, of_scale),
                (NotificationType.CREATION, of_creation),
            ):
                got = subscription_filter.matches(filter_, happened(kind))
                self.assertEqual(wanted, got, f"{kind} {given}")

    def test_no_filter_is_everything(self) -> None:
        for kind in NotificationType:
            self.assertTrue(subscription_filter.matches(None, happened(kind)))


class TestInstances(testtools.TestCase):
    TABLE: tuple[tuple[dict[str, Any], bool], ...] = (
        ({}, True),
        ({"vnfdIds": ["a-vnfd"]}, True),
        ({"vnfdIds": ["other", "a-vnfd"]}, True),
        ({"vnfdIds": ["other"]}, False),
        ({"vnfInstanceIds": ["an-instance"]}, True),
        ({"vnfInstanceIds": ["other"]}, False),
        ({"vnfInstanceNames": ["mine"]}, True),
        ({"vnfInstanceNames": ["other"]}, False),
        ({"vnfdIds": ["a-vnfd"], "vnfInstanceNames": ["other"]}, False),
        ({"vnfdIds": ["other"], "vnfInstanceNames": ["mine"]}, False),
        (
            {"vnfInstanceIds": ["an-instance"], "vnfInstanceNames": ["mine"]},
            True,
        ),
        (provided(), True),
        (provided("other"), False),
        (provided("a vendor", product()), True),
        (provided("a vendor", product("other")), False),
        (provided("a vendor", product("other"), product()), True),
        (provided("other", product()), False),
        (provided("a vendor", product("a product", "1.0")), True),
        (provided("a vendor", product("a product", "9")), False),
        (provided("a vendor", product("a product", "1.0", "2.0")), True),
        (provided("a vendor", product("a product", "1.0", "9")), False),
        (provided("a vendor", product("a product", "9", "2.0")), False),
        (provided() | {"vnfInstanceIds": ["other"]}, False),
    )

    def test_each(self) -> None:
        for given, wanted in self.TABLE:
            filter_ = read({"vnfInstanceSubscriptionFilter": given})
            for kind in NotificationType:
                got = subscription_filter.matches(filter_, happened(kind))
                self.assertEqual(wanted, got, f"{kind} {given}")

    def test_an_instance_without_a_name_is_of_no_name(self) -> None:
        nameless = happened(name=None)
        for names, wanted in ((["mine"], False), ([""], False), ([], True)):
            given = {"vnfInstanceNames": names}
            filter_ = read({"vnfInstanceSubscriptionFilter": given})
            self.assertEqual(
                wanted, subscription_filter.matches(filter_, nameless)
            )
