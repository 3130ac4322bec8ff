"""/vnflcm/v2/subscriptions (SOL003 5.4.18 and 5.4.19)."""

import datetime
import uuid
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, links, openapi_parameters, policies, query
from tacker_cnf.api.conditional_requests import IdempotentRequest
from tacker_cnf.db import idempotency, subscriptions
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.db.subscriptions import Contact
from tacker_cnf.notification.webhook_client import CallbackTester
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
)

_LIST_DEFINITION: Final = query.ListDefinition(
    LccnSubscription,
    frozenset(),
    subscriptions.COLUMNS,
    has_selectors=False,
)


class Subscriptions:
    """The subscriptions to lifecycle changes."""

    def __init__(self, store: Store, tester: CallbackTester) -> None:
        self._store = store
        self._idempotent_request = IdempotentRequest(store)
        self._tester = tester

    @http.endpoint(
        201,
        rule=policies.SUBSCRIPTION_WRITE,
        response=LccnSubscription,
        other_statuses=(303,),
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(errors.DuplicateRequest, errors.Unprocessable),
    )
    def post(self, body: LccnSubscriptionRequest) -> Any:
        """Subscribe; a duplicate request is redirected to the subscription."""
        duplicate = self._find_duplicate(body)
        if duplicate and self._idempotent_request.find_previous() is None:
            http.set_location(links.subscription(duplicate.id))
            return http.empty_response(303)
        subscription_id = self._idempotent_request(
            lambda preconditions: self._subscribe(body, preconditions)
        )
        http.set_location(links.subscription(subscription_id))
        return self._read(subscription_id)

    def _subscribe(
        self, body: LccnSubscriptionRequest, preconditions: Preconditions
    ) -> str:
        self._tester.check(body.callback_uri, body.authentication)
        return self._insert(body, preconditions).id

    def _find_duplicate(
        self, body: LccnSubscriptionRequest
    ) -> LccnSubscription | None:
        with self._store.reader() as session:
            return subscriptions.find_duplicate(session, body)

    @transaction
    def _insert(
        self, body: LccnSubscriptionRequest, preconditions: Preconditions
    ) -> LccnSubscription:
        subscription = LccnSubscription(
            id=str(uuid.uuid4()),
            filter=body.filter,
            callback_uri=body.callback_uri,
            verbosity=body.verbosity,
        )
        contact = Contact(
            subscription=subscription,
            authentication=body.authentication,
            api_base=http.base_url(),
        )
        with self._store.writer() as session:
            now = datetime.datetime.now(datetime.UTC)
            idempotency.record(session, preconditions, subscription.id)
            subscriptions.add(session, contact, now)
        return subscription

    @http.endpoint(
        200,
        rule=policies.SUBSCRIPTION_READ,
        response=list[LccnSubscription],
        parameters=(openapi_parameters.FILTER, openapi_parameters.MARKER),
        response_headers=(openapi_parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List subscriptions."""
        list_query = query.from_request(_LIST_DEFINITION)
        base = http.base_url()
        with self._store.reader() as session:
            return list_query.build_page(
                (position, links.with_subscription_links(value, base))
                for position, value in subscriptions.find(
                    session, list_query.db_query
                )
            )

    @http.endpoint(200, rule=policies.SUBSCRIPTION_READ)
    def get(self, subscription_id: str) -> LccnSubscription:
        """Read a subscription."""
        return self._read(subscription_id)

    def _read(self, subscription_id: str) -> LccnSubscription:
        with self._store.reader() as session:
            subscription = subscriptions.get(session, subscription_id)
        return links.with_subscription_links(subscription, http.base_url())

    @http.endpoint(204, rule=policies.SUBSCRIPTION_WRITE)
    def delete(self, subscription_id: str) -> None:
        """Delete a subscription."""
        self._delete(subscription_id)

    @transaction
    def _delete(self, subscription_id: str) -> None:
        with self._store.writer() as session:
            subscriptions.delete(session, subscription_id)
