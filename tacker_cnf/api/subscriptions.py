"""/vnflcm/v2/subscriptions (SOL003 5.4.18 and 5.4.19)."""

import datetime
import uuid
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, links, parameters, policies, query
from tacker_cnf.api.once import Once
from tacker_cnf.db import idempotency, subscriptions
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.db.subscriptions import Contact
from tacker_cnf.notification.delivery import Tester
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
)
from tacker_cnf.terms import Terms

_LISTED: Final = query.Listed(
    LccnSubscription,
    frozenset(),
    subscriptions.COLUMNS,
    has_selectors=False,
)


class Subscriptions:
    """Who is told of lifecycle changes."""

    def __init__(self, store: Store, tester: Tester) -> None:
        self._store = store
        self._once = Once(store)
        self._tester = tester

    @http.endpoint(
        201,
        rule=policies.SUBSCRIPTION_WRITE,
        answers=LccnSubscription,
        also=(303,),
        takes=(parameters.IDEMPOTENCY_KEY,),
        tells=(parameters.LOCATION,),
        refuses=(errors.Repeated, errors.Unprocessable),
    )
    def post(self, body: LccnSubscriptionRequest) -> Any:
        """Subscribe. Who asks for the same again is led to what there is."""
        known = self._same(body)
        if known and self._once.before() is None:
            http.set_location(links.subscription(known.id))
            return http.bare(303)
        made = self._once(lambda terms: self._subscribe(body, terms))
        http.set_location(links.subscription(made))
        return self._read(made)

    def _subscribe(self, body: LccnSubscriptionRequest, terms: Terms) -> str:
        self._tester.check(body.callback_uri, body.authentication)
        return self._keep(body, terms).id

    def _same(self, body: LccnSubscriptionRequest) -> LccnSubscription | None:
        with self._store.reader() as session:
            return subscriptions.same(session, body)

    @transaction
    def _keep(
        self, body: LccnSubscriptionRequest, terms: Terms
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
            idempotency.keep(session, terms, subscription.id)
            subscriptions.add(session, contact, now)
        return subscription

    @http.endpoint(
        200,
        rule=policies.SUBSCRIPTION_READ,
        answers=list[LccnSubscription],
        takes=(parameters.FILTER, parameters.MARKER),
        tells=(parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List subscriptions."""
        asked = query.of_request(_LISTED)
        base = http.base_url()
        with self._store.reader() as session:
            return asked.answer(
                (position, links.with_subscription_links(value, base))
                for position, value in subscriptions.find(
                    session, asked.wanted
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
        """End a subscription."""
        self._delete(subscription_id)

    @transaction
    def _delete(self, subscription_id: str) -> None:
        with self._store.writer() as session:
            subscriptions.delete(session, subscription_id)
