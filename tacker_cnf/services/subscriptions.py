"""Subscriptions to lifecycle changes, or to VNF packages."""

import contextlib
import datetime
import uuid
from collections.abc import Iterator
from typing import Final, Generic

from tacker_cnf.context import RequestContext
from tacker_cnf.db import idempotency, quotas, subscriptions
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import Session, Store
from tacker_cnf.db.subscription_types import (
    LIFECYCLE,
    PACKAGES,
    R,
    S,
    SubscriptionType,
)
from tacker_cnf.db.subscriptions import Contact
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.notification.webhook_client import CallbackTester
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.services.idempotency import find_previous, run_once
from tacker_cnf.services.slots import Slots
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.package_subscription import (
    PkgmSubscription,
    PkgmSubscriptionRequest,
)
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
)

#: attributes that the database can compare
COMPARABLE: Final = LIFECYCLE.comparable
COMPARABLE_OF_PACKAGES: Final = PACKAGES.comparable


class SubscriptionService(Generic[S, R]):
    """Creates, reads and deletes subscriptions of one type."""

    def __init__(
        self,
        kind: SubscriptionType[S, R],
        store: Store,
        tester: CallbackTester,
        peer_slots: Slots,
    ) -> None:
        self._kind = kind
        self._store = store
        self._tester = tester
        self._peer_slots = peer_slots

    def subscribe(
        self,
        context: RequestContext,
        request: R,
        api_base: str,
        api: Api,
        preconditions: Preconditions,
    ) -> tuple[S, bool]:
        """Return a new subscription, or that of an earlier equal request; and
        whether it is new.

        :param api_base: base URL by which the subscriber reaches this API
        :param api: of the request, and of the notifications
        :raises Unprocessable: the callback URI failed the test
        :raises Unavailable: too many requests wait for peers
        :raises QuotaExceeded: the project may have no more subscriptions
        :raises DuplicateRequest: another request with this key is in progress
        """
        duplicate = self._store.read(
            context,
            subscriptions.find_duplicate,
            request,
            context.owner.project_id,
            api,
            self._kind,
        )
        if duplicate and not find_previous(
            self._store, context, preconditions
        ):
            return duplicate, False

        def subscribe() -> str:
            self._store.read(
                context,
                quotas.check_remaining,
                context.owner.project_id,
                Resource.SUBSCRIPTIONS,
            )
            with self._peer_slot(context.owner.project_id):
                self._tester.check(
                    request.callback_uri, request.authentication, api
                )
            contact = self._new_contact(context, request, api_base, api)
            self._store.write(context, _add, contact, preconditions)
            return contact.subscription.id

        subscription_id = run_once(
            self._store, context, preconditions, subscribe
        )
        return self.get(context, subscription_id), True

    def _peer_slot(
        self, project_id: str
    ) -> contextlib.AbstractContextManager[None]:
        if not self._tester.is_on:
            return contextlib.nullcontext()
        return self._peer_slots.take(project_id)

    def get(self, context: RequestContext, subscription_id: str) -> S:
        """Return one subscription.

        :raises NotFound: the subscription does not exist
        """
        return self._store.read(
            context, subscriptions.get, subscription_id, self._kind
        )

    def get_equal(
        self, context: RequestContext, subscription_id: str, request: R
    ) -> S:
        """Return one subscription, which an equal request created.

        :raises NotFound: the subscription does not exist
        :raises Conflict: another request created it
        """
        return self._store.read(
            context,
            subscriptions.get_equal,
            subscription_id,
            request,
            self._kind,
        )

    @contextlib.contextmanager
    def find(
        self, context: RequestContext, query: ListQuery
    ) -> Iterator[Iterator[tuple[Position, S]]]:
        """List subscriptions, oldest first, with their positions."""
        with self._store.reader(context) as session:
            yield subscriptions.find(session, query, self._kind)

    def delete(self, context: RequestContext, subscription_id: str) -> None:
        """Delete a subscription and its pending deliveries.

        :raises NotFound: the subscription does not exist
        """
        self._store.write(
            context, subscriptions.delete, subscription_id, self._kind
        )

    def _new_contact(
        self, context: RequestContext, request: R, api_base: str, api: Api
    ) -> Contact:
        return Contact(
            subscription=self._kind.create(
                request, str(uuid.uuid4()), context.owner.project_id
            ),
            authentication=request.authentication,
            api_base=api_base,
            api=api,
            user_id=context.user_id,
            all_projects=context.all_projects,
        )


LifecycleSubscriptionService = SubscriptionService[
    LccnSubscription, LccnSubscriptionRequest
]
PackageSubscriptionService = SubscriptionService[
    PkgmSubscription, PkgmSubscriptionRequest
]


def _add(
    session: Session, contact: Contact, preconditions: Preconditions
) -> None:
    subscription = contact.subscription
    quotas.reserve(session, subscription.project_id, Resource.SUBSCRIPTIONS)
    idempotency.record(session, preconditions, subscription.id)
    subscriptions.add(session, contact, datetime.datetime.now(datetime.UTC))
