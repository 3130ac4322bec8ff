"""/vnfpkgm/v1/subscriptions, also under v2 (SOL003 10.4.7 and 10.4.8)."""

from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, links, openapi_parameters, query
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.services.subscriptions import (
    COMPARABLE_OF_PACKAGES,
    PackageSubscriptionService,
)
from tacker_cnf.sol.package_subscription import (
    PkgmSubscription,
    PkgmSubscriptionRequest,
)

_LIST_DEFINITION: Final = query.ListDefinition(
    PkgmSubscription, frozenset(), COMPARABLE_OF_PACKAGES, has_selectors=False
)


class PackageSubscriptions:
    """The subscriptions to changes of VNF packages."""

    def __init__(self, subscriptions: PackageSubscriptionService) -> None:
        self._subscriptions = subscriptions

    @http.endpoint(
        201,
        rule="package_subscriptions:create",
        response=PkgmSubscription,
        other_statuses=(303,),
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(
            errors.DuplicateRequest,
            errors.Unprocessable,
            errors.QuotaExceeded,
        ),
    )
    def post(self, body: PkgmSubscriptionRequest) -> Any:
        """Subscribe; a duplicate request is redirected to the subscription."""
        subscription, is_new = self._subscriptions.subscribe(
            http.caller(),
            body,
            http.base_url(),
            http.served_api(),
            preconditions_from_request(),
        )
        http.set_location(
            links.package_subscription(http.served_api(), subscription.id)
        )
        if not is_new:
            return http.empty_response(303)
        return links.with_package_subscription_links(
            http.served_api(), subscription, http.base_url()
        )

    @http.endpoint(
        200,
        rule="package_subscriptions:index",
        response=list[PkgmSubscription],
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
                (
                    position,
                    links.with_package_subscription_links(
                        http.served_api(), value, base
                    ),
                )
                for position, value in found
            )

    @http.endpoint(200, rule="package_subscriptions:show")
    def get(self, subscription_id: str) -> PkgmSubscription:
        """Read a subscription."""
        subscription = self._subscriptions.get(http.caller(), subscription_id)
        return links.with_package_subscription_links(
            http.served_api(), subscription, http.base_url()
        )

    @http.endpoint(
        200,
        rule="package_subscriptions:create",
        error_types=(errors.Conflict,),
    )
    def post_again(
        self, subscription_id: str, body: PkgmSubscriptionRequest
    ) -> PkgmSubscription:
        """Return the subscription that an equal request created.

        An extension of SOL003 for clients that repeat a redirected POST.
        """
        subscription = self._subscriptions.get_equal(
            http.caller(), subscription_id, body
        )
        return links.with_package_subscription_links(
            http.served_api(), subscription, http.base_url()
        )

    @http.endpoint(204, rule="package_subscriptions:delete")
    def delete(self, subscription_id: str) -> None:
        """Delete a subscription."""
        self._subscriptions.delete(http.caller(), subscription_id)
