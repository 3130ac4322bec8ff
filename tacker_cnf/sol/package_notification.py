"""Notifications of VNF packages (SOL003 10.5.2.5 and 10.5.2.6)."""

import enum

import msgspec

from tacker_cnf.sol.base import DateTime, Identifier, SolType, utc_seconds
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.package_subscription import PackageNotificationType
from tacker_cnf.sol.vnf_package import OperationalState


class PackageChangeType(enum.StrEnum):
    """SOL003 10.5.4.5."""

    OP_STATE_CHANGE = "OP_STATE_CHANGE"
    PKG_DELETE = "PKG_DELETE"


class PkgmLinks(SolType):
    """SOL003 10.5.3.5."""

    vnf_package: Link
    subscription: Link


class PackageNotification(SolType):
    """SOL003 10.5.2.5 and 10.5.2.6, common attributes. All deliveries of a
    notification, to all subscribers, have the same id.
    """

    id: Identifier
    notification_type: PackageNotificationType
    subscription_id: Identifier
    time_stamp: DateTime
    vnf_pkg_id: Identifier
    vnfd_id: Identifier
    links: PkgmLinks = msgspec.field(name="_links")

    def __post_init__(self) -> None:
        moment = utc_seconds(self.time_stamp)
        msgspec.structs.force_setattr(self, "time_stamp", moment)


class VnfPackageOnboardingNotification(PackageNotification):
    """SOL003 10.5.2.5."""


class VnfPackageChangeNotification(PackageNotification):
    """SOL003 10.5.2.6."""

    change_type: PackageChangeType
    #: present if it has changed
    operational_state: OperationalState | None = None
