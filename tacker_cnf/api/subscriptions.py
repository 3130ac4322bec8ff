"""/vnflcm/v2/subscriptions (SOL003 5.4.18 and 5.4.19)."""

import msgspec

from tacker_cnf.api import query, subscription_handlers
from tacker_cnf.api.subscription_handlers import SubscriptionHandlers
from tacker_cnf.services.subscriptions import COMPARABLE
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionLinks,
    LccnSubscriptionRequest,
)


class Subscriptions(
    SubscriptionHandlers[LccnSubscription, LccnSubscriptionRequest]
):
    """The subscriptions to lifecycle changes."""

    post, get_all, get, post_again, delete = subscription_handlers.declare(
        "subscriptions",
        LccnSubscriptionRequest,
        LccnSubscription,
        query.ListDefinition(
            LccnSubscription, frozenset(), COMPARABLE, has_selectors=False
        ),
    )

    def show(
        self, subscription: LccnSubscription, url: str
    ) -> LccnSubscription:
        """Add the link of a subscription (SOL003 5.5.2.16)."""
        links = LccnSubscriptionLinks(self_=Link(href=url))
        return msgspec.structs.replace(subscription, links=links)
