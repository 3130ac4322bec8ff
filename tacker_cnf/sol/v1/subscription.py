"""Subscriptions in version 1 (SOL003 v2.6.1, 5.5.2.15 and 5.5.2.16)."""

import msgspec

from tacker_cnf.sol.authentication import SubscriptionAuthentication
from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.subscription import (
    LccnSubscriptionLinks,
    LifecycleChangeNotificationsFilter,
)
from tacker_cnf.sol.uri import HttpUri, check_address


class LccnSubscriptionRequestV1(SolType):
    """SOL003 v2.6.1, 5.5.2.15."""

    filter: LifecycleChangeNotificationsFilter | None = None
    callback_uri: HttpUri
    authentication: SubscriptionAuthentication | None = None

    def __post_init__(self) -> None:
        check_address("callbackUri", self.callback_uri)


class LccnSubscriptionV1(SolType):
    """SOL003 v2.6.1, 5.5.2.16, without credentials."""

    id: Identifier
    filter: LifecycleChangeNotificationsFilter | None = None
    callback_uri: str
    links: LccnSubscriptionLinks = msgspec.field(name="_links")
