"""/vnfpkgm/v1/subscriptions, also under v2 (SOL003 10.4.7 and 10.4.8)."""

import msgspec

from tacker_cnf.api import query, subscription_handlers
from tacker_cnf.api.subscription_handlers import SubscriptionHandlers
from tacker_cnf.services.subscriptions import COMPARABLE_OF_PACKAGES
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.package_subscription import (
    PkgmSubscription,
    PkgmSubscriptionLinks,
    PkgmSubscriptionRequest,
)


class PackageSubscriptions(
    SubscriptionHandlers[PkgmSubscription, PkgmSubscriptionRequest]
):
    """The subscriptions to changes of VNF packages."""

    post, get_all, get, post_again, delete = subscription_handlers.declare(
        "package_subscriptions",
        PkgmSubscriptionRequest,
        PkgmSubscription,
        query.ListDefinition(
            PkgmSubscription,
            frozenset(),
            COMPARABLE_OF_PACKAGES,
            has_selectors=False,
        ),
    )

    def show(
        self, subscription: PkgmSubscription, url: str
    ) -> PkgmSubscription:
        """Add the link of a subscription to packages (SOL003 10.5.2.4)."""
        links = PkgmSubscriptionLinks(self_=Link(href=url))
        return msgspec.structs.replace(subscription, links=links)
