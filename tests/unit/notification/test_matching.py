"""Matching of events with subscription filters."""

from typing import Any

import msgspec
import testtools

from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement, PackageEvent
from tacker_cnf.notification import subscription_filter
from tacker_cnf.sol.package_notification import PackageChangeType
from tacker_cnf.sol.package_subscription import PkgmNotificationsFilter
from tacker_cnf.sol.subscription import (
    LifecycleChangeNotificationsFilter,
    NotificationType,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.sol.vnf_package import OperationalState, UsageState
from tests.factories import NOW, an_instance, an_op_occ

OP_OCC = "VnfLcmOperationOccurrenceNotification"
CREATION = "VnfIdentifierCreationNotification"
ONBOARDING = "VnfPackageOnboardingNotification"
CHANGE = "VnfPackageChangeNotification"


def provider_filter(
    provider: str = "a vendor", *products: dict[str, Any]
) -> dict[str, Any]:
    filter_dict: dict[str, Any] = {"vnfProvider": provider}
    if products:
        filter_dict["vnfProducts"] = products
    return {"vnfProductsFromProviders": [filter_dict]}


def product(
    name: str = "a product", software: str = "", *vnfds: str
) -> dict[str, Any]:
    filter_dict: dict[str, Any] = {"vnfProductName": name}
    if software:
        version: dict[str, Any] = {"vnfSoftwareVersion": software}
        filter_dict["versions"] = [
            version | ({"vnfdVersions": vnfds} if vnfds else {})
        ]
    return filter_dict


def an_event(
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


def parse_filter(
    filter_dict: dict[str, Any],
) -> LifecycleChangeNotificationsFilter:
    return msgspec.convert(filter_dict, LifecycleChangeNotificationsFilter)


class TestOperations(testtools.TestCase):
    TABLE: tuple[tuple[dict[str, Any], bool, bool], ...] = (
        # filter, matches a SCALE in COMPLETED, matches a creation
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

    def test_each_filter(self) -> None:
        for filter_dict, of_scale, of_creation in self.TABLE:
            filter_ = parse_filter(filter_dict)
            for kind, expected in (
                (NotificationType.OP_OCC, of_scale),
                (NotificationType.CREATION, of_creation),
            ):
                found = subscription_filter.matches(filter_, an_event(kind))
                self.assertEqual(expected, found, f"{kind} {filter_dict}")

    def test_no_filter_matches_everything(self) -> None:
        for kind in NotificationType:
            self.assertTrue(subscription_filter.matches(None, an_event(kind)))


class TestPackages(testtools.TestCase):
    TABLE: tuple[tuple[dict[str, Any], bool, bool], ...] = (
        # filter, matches an onboarding, matches that it was disabled
        ({}, True, True),
        ({"notificationTypes": [ONBOARDING]}, True, False),
        ({"notificationTypes": [CHANGE]}, False, True),
        ({"notificationTypes": [ONBOARDING, CHANGE]}, True, True),
        ({"vnfdId": ["a-vnfd"]}, True, True),
        ({"vnfdId": ["other"]}, False, False),
        ({"vnfPkgId": ["other", "a-package"]}, True, True),
        ({"vnfPkgId": ["other"]}, False, False),
        ({"vnfdId": ["a-vnfd"], "vnfPkgId": ["other"]}, False, False),
        ({"operationalState": ["ENABLED"]}, True, False),
        ({"operationalState": ["DISABLED"]}, False, True),
        ({"usageState": ["NOT_IN_USE"]}, True, False),
        ({"usageState": ["IN_USE", "NOT_IN_USE"]}, True, True),
        (provider_filter("a vendor", product("a product", "1.0")), True, True),
        (provider_filter("other"), False, False),
        ({"vnfmInfo": ["a-vnfm"]}, False, False),
    )

    def test_each_filter(self) -> None:
        enabled = PackageEvent(
            operational_state=OperationalState.ENABLED,
            usage_state=UsageState.NOT_IN_USE,
        )
        disabled = PackageEvent(
            change=PackageChangeType.OP_STATE_CHANGE,
            operational_state=OperationalState.DISABLED,
            usage_state=UsageState.IN_USE,
        )
        subject = announcement.subject(an_instance(id="a-package"))
        for filter_dict, *matched in self.TABLE:
            filter_ = msgspec.convert(filter_dict, PkgmNotificationsFilter)
            for event, expected in zip(
                (enabled, disabled), matched, strict=True
            ):
                found = subscription_filter.matches_package(
                    filter_, subject, event
                )
                self.assertEqual(expected, found, f"{event} {filter_dict}")

    def test_no_filter_matches_everything(self) -> None:
        event = PackageEvent(
            operational_state=OperationalState.ENABLED,
            usage_state=UsageState.IN_USE,
        )
        subject = announcement.subject(an_instance())
        self.assertTrue(
            subscription_filter.matches_package(None, subject, event)
        )


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
        (provider_filter(), True),
        (provider_filter("other"), False),
        (provider_filter("a vendor", product()), True),
        (provider_filter("a vendor", product("other")), False),
        (provider_filter("a vendor", product("other"), product()), True),
        (provider_filter("other", product()), False),
        (provider_filter("a vendor", product("a product", "1.0")), True),
        (provider_filter("a vendor", product("a product", "9")), False),
        (
            provider_filter("a vendor", product("a product", "1.0", "2.0")),
            True,
        ),
        (provider_filter("a vendor", product("a product", "1.0", "9")), False),
        (provider_filter("a vendor", product("a product", "9", "2.0")), False),
        (provider_filter() | {"vnfInstanceIds": ["other"]}, False),
    )

    def test_each_filter(self) -> None:
        for filter_dict, expected in self.TABLE:
            filter_ = parse_filter(
                {"vnfInstanceSubscriptionFilter": filter_dict}
            )
            for kind in NotificationType:
                found = subscription_filter.matches(filter_, an_event(kind))
                self.assertEqual(expected, found, f"{kind} {filter_dict}")

    def test_an_instance_without_a_name_matches_no_name(self) -> None:
        nameless = an_event(name=None)
        for names, expected in ((["mine"], False), ([""], False), ([], True)):
            filter_dict = {"vnfInstanceNames": names}
            filter_ = parse_filter(
                {"vnfInstanceSubscriptionFilter": filter_dict}
            )
            self.assertEqual(
                expected, subscription_filter.matches(filter_, nameless)
            )
