"""Idempotency keys, and the resources that their requests created.

A key is stored in the same transaction as the resource.
"""

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models, scope
from tacker_cnf.db.session import DuplicateEntry, epoch
from tacker_cnf.preconditions import IdempotencyKey, Preconditions

Row = models.IdempotencyKey


def record(
    session: orm.Session, preconditions: Preconditions, resource_id: str
) -> None:
    """Record the resource of a request, so that a repetition has no effect.

    :param resource_id: ID of the resource that it creates or acts on
    :raises DuplicateRequest: another request with this key is in progress
    """
    key = preconditions.key
    if key is None:
        return
    try:
        session.execute(
            sa.insert(Row).values(
                id=key.id,
                fingerprint=key.fingerprint,
                made=resource_id,
                kept_at=epoch(),
            )
        )
    except DuplicateEntry:
        raise errors.DuplicateRequest from None


def find(session: orm.Session, key: IdempotencyKey) -> str | None:
    """Return the ID of the resource of an earlier request with this key.

    :raises IdempotencyKeyReused: the earlier request was a different one
    """
    found = scope.rows(
        session, sa.select(Row.fingerprint, Row.made).where(Row.id == key.id)
    ).one_or_none()
    if found is None:
        return None
    fingerprint, made = found
    if fingerprint != key.fingerprint:
        raise errors.IdempotencyKeyReused
    return str(made)


def delete_expired(session: orm.Session, lifetime: float) -> None:
    """Delete the keys that are older than `lifetime` seconds."""
    session.connection().execute(
        sa.delete(Row).where(Row.kept_at < epoch() - lifetime)
    )
