"""Subscriptions to changes of VNF packages (SOL003 10.5.2.3, 10.5.2.4)."""

import enum

import msgspec

from tacker_cnf.sol.authentication import SubscriptionAuthentication
from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.subscription import VnfProductsFromProvider
from tacker_cnf.sol.uri import HttpUri, check_address
from tacker_cnf.sol.vnf_package import OperationalState, UsageState


class PackageNotificationType(enum.StrEnum):
    """SOL003 10.5.2.5 and 10.5.2.6: the attribute notificationType."""

    ONBOARDING = "VnfPackageOnboardingNotification"
    CHANGE = "VnfPackageChangeNotification"


class PkgmNotificationsFilter(SolType):
    """SOL003 10.5.3.4. Each attribute that is present must match."""

    notification_types: tuple[PackageNotificationType, ...] = ()
    vnf_products_from_providers: tuple[VnfProductsFromProvider, ...] = ()
    vnfd_id: tuple[Identifier, ...] = ()
    vnf_pkg_id: tuple[Identifier, ...] = ()
    operational_state: tuple[OperationalState, ...] = ()
    usage_state: tuple[UsageState, ...] = ()
    vnfm_info: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        of_changes = self.operational_state or self.usage_state
        types = self.notification_types
        if (
            of_changes
            and types
            and PackageNotificationType.CHANGE not in types
        ):
            raise ValueError(
                "operationalState and usageState require notificationTypes "
                f"{PackageNotificationType.CHANGE}"
            )


class PkgmSubscriptionRequest(SolType):
    """SOL003 10.5.2.3."""

    filter: PkgmNotificationsFilter | None = None
    callback_uri: HttpUri
    authentication: SubscriptionAuthentication | None = None

    def __post_init__(self) -> None:
        check_address("callbackUri", self.callback_uri)


class PkgmSubscriptionLinks(SolType):
    """SOL003 10.5.2.4, inner type."""

    self_: Link = msgspec.field(name="self")


class PkgmSubscription(SolType):
    """SOL003 10.5.2.4, without credentials."""

    id: Identifier
    filter: PkgmNotificationsFilter | None = None
    callback_uri: str
    #: extension: the project that it belongs to
    project_id: str = ""
    links: PkgmSubscriptionLinks | None = msgspec.field(
        default=None, name="_links"
    )
