"""The handlers of subscriptions, which are the same in each API."""

import abc
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tacker_cnf import errors
from tacker_cnf.api import http, openapi_parameters, query
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.api.routing import Handler
from tacker_cnf.services.subscriptions import SubscriptionService
from tacker_cnf.sol.package_subscription import (
    PkgmSubscription,
    PkgmSubscriptionRequest,
)
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
)

S = TypeVar("S", bound=LccnSubscription | PkgmSubscription)
R = TypeVar("R", bound=LccnSubscriptionRequest | PkgmSubscriptionRequest)


class SubscriptionHandlers(abc.ABC, Generic[S, R]):
    """Subscriptions of one type, as an API shows them."""

    def __init__(self, subscriptions: SubscriptionService[S, R]) -> None:
        self.subscriptions = subscriptions

    @abc.abstractmethod
    def show(self, subscription: S, url: str) -> Any:
        """Return a subscription as the API shows it.

        :param url: of the subscription
        """

    def to_request(self, body: Any) -> R:
        """Return the request in a body."""
        request: R = body
        return request

    def subscribe(self, body: Any) -> tuple[S, bool]:
        """Return a new subscription, or that of an equal request; and whether
        it is new.
        """
        return self.subscriptions.subscribe(
            http.caller(),
            self.to_request(body),
            http.base_url(),
            http.served_api(),
            preconditions_from_request(),
        )

    def builder(self) -> Callable[[S], Any]:
        """Return a function that builds the response of a subscription."""
        base = http.base_url()
        return lambda found: self.show(found, base + path_of(found.id))


def path_of(subscription_id: str) -> str:
    """Return the path of a subscription in the API of the request."""
    return f"{http.served_api().root}/subscriptions/{subscription_id}"


def declare(
    rule: str,
    request: type,
    resource: Any,
    definition: query.ListDefinition,
    invalid: type[errors.VnfmError] = errors.Unprocessable,
) -> tuple[Handler, Handler, Handler, Handler, Handler]:
    """Return the handlers ``post``, ``get_all``, ``get``, ``post_again`` and
    ``delete`` of a class.

    :param rule: the start of the names of the policies
    :param request: type of the body
    :param resource: type of the response
    :param invalid: error of a subscription that cannot be created
    """

    @http.endpoint(
        201,
        rule=f"{rule}:create",
        body=request,
        response=resource,
        other_statuses=(303,),
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(errors.DuplicateRequest, invalid, errors.QuotaExceeded),
    )
    def post(self: SubscriptionHandlers[S, R], body: Any) -> Any:
        """Subscribe; a duplicate request is redirected to the subscription."""
        subscription, is_new = self.subscribe(body)
        http.set_location(path_of(subscription.id))
        if not is_new:
            return http.empty_response(303)
        return self.builder()(subscription)

    @http.endpoint(
        200,
        rule=f"{rule}:index",
        response=list[resource],
        parameters=(openapi_parameters.FILTER, openapi_parameters.MARKER),
        response_headers=(openapi_parameters.LINK,),
    )
    def get_all(self: SubscriptionHandlers[S, R]) -> Any:
        """List subscriptions."""
        list_query = query.from_request(definition)
        build = self.builder()
        with self.subscriptions.find(
            http.caller(), list_query.db_query
        ) as found:
            return list_query.build_page(
                (position, build(subscription))
                for position, subscription in found
            )

    @http.endpoint(200, rule=f"{rule}:show", response=resource)
    def get(self: SubscriptionHandlers[S, R], subscription_id: str) -> Any:
        """Read a subscription."""
        return self.builder()(
            self.subscriptions.get(http.caller(), subscription_id)
        )

    @http.endpoint(
        200,
        rule=f"{rule}:create",
        body=request,
        response=resource,
        error_types=(errors.Conflict,),
    )
    def post_again(
        self: SubscriptionHandlers[S, R], subscription_id: str, body: Any
    ) -> Any:
        """Return the subscription that an equal request created.

        An extension of SOL003 for clients that repeat a redirected POST.
        """
        return self.builder()(
            self.subscriptions.get_equal(
                http.caller(), subscription_id, self.to_request(body)
            )
        )

    @http.endpoint(204, rule=f"{rule}:delete")
    def delete(self: SubscriptionHandlers[S, R], subscription_id: str) -> None:
        """Delete a subscription."""
        self.subscriptions.delete(http.caller(), subscription_id)

    return post, get_all, get, post_again, delete
