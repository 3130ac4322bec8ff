"""/vnflcm/v1/subscriptions (SOL003 v2.6.1, 5.4.18 and 5.4.19)."""

from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, openapi_parameters, query
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.api.v1 import requests, resources
from tacker_cnf.services.subscriptions import (
    COMPARABLE,
    LifecycleSubscriptionService,
)
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.v1.subscription import (
    LccnSubscriptionRequestV1,
    LccnSubscriptionV1,
)

_LIST_DEFINITION: Final = query.ListDefinition(
    LccnSubscriptionV1,
    frozenset(),
    COMPARABLE,
    has_selectors=False,
    always_read=frozenset({"verbosity"}),
)


class SubscriptionsV1:
    """The subscriptions to lifecycle changes in version 1; notifications have
    the version by which the subscription was created.
    """

    def __init__(self, subscriptions: LifecycleSubscriptionService) -> None:
        self._subscriptions = subscriptions

    @http.endpoint(
        201,
        rule="subscriptions:create",
        response=LccnSubscriptionV1,
        other_statuses=(303,),
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(
            errors.DuplicateRequest,
            errors.IdempotencyKeyReused,
            errors.QuotaExceeded,
        ),
    )
    def post(self, body: LccnSubscriptionRequestV1) -> Any:
        """Subscribe; a duplicate request is redirected to the subscription."""
        try:
            subscription, is_new = self._subscriptions.subscribe(
                http.caller(),
                requests.subscribe(body),
                http.base_url(),
                Api.LCM_V1,
                preconditions_from_request(),
            )
        except errors.IdempotencyKeyReused:
            raise
        except errors.Unprocessable as error:  # the test of the callback
            raise errors.BadRequest(str(error)) from None
        http.set_location(resources.subscription_path(subscription.id))
        if not is_new:
            return http.empty_response(303)
        return resources.subscription(subscription, http.base_url())

    @http.endpoint(
        200,
        rule="subscriptions:index",
        response=list[LccnSubscriptionV1],
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
                (position, resources.subscription(value, base))
                for position, value in found
            )

    @http.endpoint(200, rule="subscriptions:show")
    def get(self, subscription_id: str) -> LccnSubscriptionV1:
        """Read a subscription."""
        subscription = self._subscriptions.get(http.caller(), subscription_id)
        return resources.subscription(subscription, http.base_url())

    @http.endpoint(
        200, rule="subscriptions:create", error_types=(errors.Conflict,)
    )
    def post_again(
        self, subscription_id: str, body: LccnSubscriptionRequestV1
    ) -> LccnSubscriptionV1:
        """Return the subscription that an equal request created.

        An extension of SOL003 for clients that repeat a redirected POST.
        """
        subscription = self._subscriptions.get_equal(
            http.caller(), subscription_id, requests.subscribe(body)
        )
        return resources.subscription(subscription, http.base_url())

    @http.endpoint(204, rule="subscriptions:delete")
    def delete(self, subscription_id: str) -> None:
        """Delete a subscription."""
        self._subscriptions.delete(http.caller(), subscription_id)
