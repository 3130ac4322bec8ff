"""Subscriptions to lifecycle changes (SOL003 5.5.2.15, 5.5.2.16)."""

import enum

import msgspec

from tacker_cnf.sol.authentication import SubscriptionAuthentication
from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.uri import HttpUri, check_address
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    LcmOperationType,
)


class NotificationType(enum.StrEnum):
    """SOL003 5.5.2.17 to 5.5.2.19: the attribute notificationType."""

    OP_OCC = "VnfLcmOperationOccurrenceNotification"
    CREATION = "VnfIdentifierCreationNotification"
    DELETION = "VnfIdentifierDeletionNotification"


class LcmOpOccNotificationVerbosityType(enum.StrEnum):
    """SOL003 5.5.4.9."""

    FULL = "FULL"
    SHORT = "SHORT"


class Version(SolType):
    """SOL003 4.4.1.5, inner type."""

    vnf_software_version: str
    vnfd_versions: tuple[str, ...] = ()


class VnfProduct(SolType):
    """SOL003 4.4.1.5, inner type."""

    vnf_product_name: str
    versions: tuple[Version, ...] = ()


class VnfProductsFromProvider(SolType):
    """SOL003 4.4.1.5, inner type."""

    vnf_provider: str
    vnf_products: tuple[VnfProduct, ...] = ()


class VnfInstanceSubscriptionFilter(SolType):
    """SOL003 4.4.1.5. A filter of VNF instances: all attributes must match."""

    vnfd_ids: tuple[Identifier, ...] = ()
    vnf_products_from_providers: tuple[VnfProductsFromProvider, ...] = ()
    vnf_instance_ids: tuple[Identifier, ...] = ()
    vnf_instance_names: tuple[str, ...] = ()


class LifecycleChangeNotificationsFilter(SolType):
    """SOL003 5.5.3.12. Each attribute that is present must match."""

    vnf_instance_subscription_filter: VnfInstanceSubscriptionFilter | None = (
        None
    )
    notification_types: tuple[NotificationType, ...] = ()
    operation_types: tuple[LcmOperationType, ...] = ()
    operation_states: tuple[LcmOperationStateType, ...] = ()

    def __post_init__(self) -> None:
        of_operations = self.operation_types or self.operation_states
        types = self.notification_types
        if of_operations and types and NotificationType.OP_OCC not in types:
            raise ValueError(
                "operationTypes and operationStates require notificationTypes "
                f"{NotificationType.OP_OCC}"
            )


class LccnSubscriptionRequest(SolType):
    """SOL003 5.5.2.15."""

    filter: LifecycleChangeNotificationsFilter | None = None
    callback_uri: HttpUri
    authentication: SubscriptionAuthentication | None = None
    #: encoded even when default: omit_defaults ignores factories
    verbosity: LcmOpOccNotificationVerbosityType = msgspec.field(
        default_factory=lambda: LcmOpOccNotificationVerbosityType.FULL
    )

    def __post_init__(self) -> None:
        check_address("callbackUri", self.callback_uri)


class LccnSubscriptionLinks(SolType):
    """SOL003 5.5.2.16, inner type."""

    self_: Link = msgspec.field(name="self")


class LccnSubscription(SolType):
    """SOL003 5.5.2.16, without credentials."""

    id: Identifier
    filter: LifecycleChangeNotificationsFilter | None = None
    callback_uri: str
    verbosity: LcmOpOccNotificationVerbosityType
    #: extension: the project that it belongs to
    project_id: str = ""
    links: LccnSubscriptionLinks | None = msgspec.field(
        default=None, name="_links"
    )
