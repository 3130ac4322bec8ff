"""/vnflcm/v1/subscriptions (SOL003 v2.6.1, 5.4.18 and 5.4.19)."""

from tacker_cnf import errors
from tacker_cnf.api import query, subscription_handlers
from tacker_cnf.api.subscription_handlers import SubscriptionHandlers
from tacker_cnf.api.v1 import requests, resources
from tacker_cnf.services.subscriptions import COMPARABLE
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
)
from tacker_cnf.sol.v1.subscription import (
    LccnSubscriptionRequestV1,
    LccnSubscriptionV1,
)


class SubscriptionsV1(
    SubscriptionHandlers[LccnSubscription, LccnSubscriptionRequest]
):
    """The subscriptions to lifecycle changes in version 1; notifications have
    the version by which the subscription was created.
    """

    post, get_all, get, post_again, delete = subscription_handlers.declare(
        "subscriptions",
        LccnSubscriptionRequestV1,
        LccnSubscriptionV1,
        query.ListDefinition(
            LccnSubscriptionV1,
            frozenset(),
            COMPARABLE,
            has_selectors=False,
            always_read=frozenset({"verbosity"}),
        ),
        errors.IdempotencyKeyReused,
    )

    def to_request(
        self, body: LccnSubscriptionRequestV1
    ) -> LccnSubscriptionRequest:
        """Convert a request to version 2."""
        return requests.subscribe(body)

    def subscribe(
        self, body: LccnSubscriptionRequestV1
    ) -> tuple[LccnSubscription, bool]:
        """Subscribe; a callback that fails its test is a bad request."""
        try:
            return super().subscribe(body)
        except errors.IdempotencyKeyReused:
            raise
        except errors.Unprocessable as error:  # the test of the callback
            raise errors.BadRequest(str(error)) from None

    def show(
        self, subscription: LccnSubscription, url: str
    ) -> LccnSubscriptionV1:
        """Convert a subscription to version 1."""
        return resources.subscription(subscription, url)
