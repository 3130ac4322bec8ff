"""Requests with an Idempotency-Key."""

from collections.abc import Callable

from tacker_cnf import errors
from tacker_cnf.context import RequestContext
from tacker_cnf.db import idempotency
from tacker_cnf.db.session import Store
from tacker_cnf.preconditions import Preconditions


def find_previous(
    store: Store, context: RequestContext, preconditions: Preconditions
) -> str | None:
    """Return the id of the resource that an earlier request with the same key
    created; None: there was no such request.

    :raises IdempotencyKeyReused: the earlier request was a different one
    """
    key = preconditions.key
    return store.read(context, idempotency.find, key) if key else None


def run_once(
    store: Store,
    context: RequestContext,
    preconditions: Preconditions,
    action: Callable[[], str],
) -> str:
    """Run the action of a request, unless an earlier request had the same
    key; return the id of the resource that was created now or then.

    :param action: records the preconditions in the transaction that creates
        the resource (`db.idempotency.record`), and returns the id of the
        resource
    :raises IdempotencyKeyReused: the earlier request was a different one
    """
    resource_id = find_previous(store, context, preconditions)
    if resource_id is not None:
        return resource_id
    try:
        return action()
    except errors.VnfmError:
        # a concurrent request with the same key may be the cause
        resource_id = find_previous(store, context, preconditions)
        if resource_id is None:
            raise
        return resource_id
