"""What requests with an Idempotency-Key have made.

A key is kept in the transaction of what its request makes, so that there is
always both or neither.
"""

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models
from tacker_cnf.db.session import DuplicateEntry, epoch
from tacker_cnf.preconditions import IdempotencyKey, Preconditions

Row = models.IdempotencyKey


def record(
    session: orm.Session, preconditions: Preconditions, made: str
) -> None:
    """Keep what a request makes, so that its repetition makes nothing.

    :param made: the id of what it makes, or of what it acts on
    :raises DuplicateRequest: another request with this key was first just now
    """
    key = preconditions.key
    if key is None:
        return
    try:
        session.execute(
            sa.insert(Row).values(
                id=key.id,
                fingerprint=key.fingerprint,
                made=made,
                kept_at=epoch(),
            )
        )
    except DuplicateEntry:
        raise errors.DuplicateRequest from None


def find(session: orm.Session, key: IdempotencyKey) -> str | None:
    """Tell what an earlier request with this key made.

    :raises IdempotencyKeyReused: that was another request
    """
    found = session.execute(
        sa.select(Row.fingerprint, Row.made).where(Row.id == key.id)
    ).one_or_none()
    if found is None:
        return None
    fingerprint, made = found
    if fingerprint != key.fingerprint:
        raise errors.IdempotencyKeyReused
    return str(made)


def delete_expired(session: orm.Session, lifetime: float) -> None:
    """Forget what was kept longer ago than so many seconds."""
    session.connection().execute(
        sa.delete(Row).where(Row.kept_at < epoch() - lifetime)
    )
