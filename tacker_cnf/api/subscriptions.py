"""/vnflcm/v2/subscriptions (SOL003 5.4.18 and 5.4.19)."""

from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, links, openapi_parameters, query
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.services.subscriptions import (
    COMPARABLE,
    LifecycleSubscriptionService,
)
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
)

_LIST_DEFINITION: Final = query.ListDefinition(
    LccnSubscription, frozenset(), COMPARABLE, has_selectors=False
)


class Subscriptions:
    """The subscriptions to lifecycle changes."""

    def __init__(self, subscriptions: LifecycleSubscriptionService) -> None:
        self._subscriptions = subscriptions

    @http.endpoint(
        201,
        rule="subscriptions:create",
        response=LccnSubscription,
        other_statuses=(303,),
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(
            errors.DuplicateRequest,
            errors.Unprocessable,
            errors.QuotaExceeded,
        ),
    )
    def post(self, body: LccnSubscriptionRequest) -> Any:
        """Subscribe; a duplicate request is redirected to the subscription."""
        subscription, is_new = self._subscriptions.subscribe(
            http.caller(),
            body,
            http.base_url(),
            Api.LCM_V2,
            preconditions_from_request(),
        )
        http.set_location(links.subscription(subscription.id))
        if not is_new:
            return http.empty_response(303)
        return links.with_subscription_links(subscription, http.base_url())

    @http.endpoint(
        200,
        rule="subscriptions:index",
        response=list[LccnSubscription],
        parameters=(openapi_parameters.FILTER, openapi_parameters.MARKER),
        response_headers=(openapi_parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List subscriptions."""
        list_query = query.from_request(_LIST_DEFINITION)
        base = http.base_url()
        with self._subscriptions.find(
            http.caller(), list_query.db_query
        ) as found:
            return list_query.build_page(
                (position, links.with_subscription_links(value, base))
                for position, value in found
            )

    @http.endpoint(200, rule="subscriptions:show")
    def get(self, subscription_id: str) -> LccnSubscription:
        """Read a subscription."""
        subscription = self._subscriptions.get(http.caller(), subscription_id)
        return links.with_subscription_links(subscription, http.base_url())

    @http.endpoint(
        200, rule="subscriptions:create", error_types=(errors.Conflict,)
    )
    def post_again(
        self, subscription_id: str, body: LccnSubscriptionRequest
    ) -> LccnSubscription:
        """Return the subscription that an equal request created.

        An extension of SOL003 for clients that repeat a redirected POST.
        """
        subscription = self._subscriptions.get_equal(
            http.caller(), subscription_id, body
        )
        return links.with_subscription_links(subscription, http.base_url())

    @http.endpoint(204, rule="subscriptions:delete")
    def delete(self, subscription_id: str) -> None:
        """Delete a subscription."""
        self._subscriptions.delete(http.caller(), subscription_id)
