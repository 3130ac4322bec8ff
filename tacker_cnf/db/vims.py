"""Registered VIMs as rows, and which VNF instances live on them."""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models

Row = models.Vim


def add(session: orm.Session, vim: Row) -> None:
    session.add(vim)


def get(session: orm.Session, vim_id: str) -> Row:
    """Read one VIM.

    :raises NotFound: there is none of this id
    """
    vim = session.get(Row, vim_id)
    if vim is None:
        raise errors.NotFound(f"There is no VIM {vim_id}.")
    return vim


def find(
    session: orm.Session, *, vim_id: str | None = None, name: str | None = None
) -> Sequence[Row]:
    """List the VIMs, the oldest first; of one id or name only, if given."""
    query = sa.select(Row).order_by(Row.created_at, Row.id)
    if vim_id is not None:
        query = query.where(Row.id == vim_id)
    if name is not None:
        query = query.where(Row.name == name)
    return session.scalars(query).all()


def default(session: orm.Session) -> Row | None:
    """Find the VIM that is used when a request names none."""
    return session.scalars(
        sa.select(Row).where(Row.is_default.is_(True))
    ).one_or_none()


def demote_default(session: orm.Session) -> None:
    """Let no VIM be the default one."""
    session.execute(
        sa.update(Row).where(Row.is_default.is_(True)).values(is_default=None)
    )


def user(session: orm.Session, vim_id: str) -> str | None:
    """Tell one VNF instance that lives on a VIM."""
    table = models.VimUse
    return session.scalar(
        sa.select(table.vnf_instance_id)
        .where(table.vim_id == vim_id)
        .order_by(table.vnf_instance_id)
        .limit(1)
    )


def delete(session: orm.Session, vim: Row) -> None:
    """Forget a VIM.

    :raises ReferenceError: a VNF instance lives on it (at flush)
    """
    session.delete(vim)


def use(
    session: orm.Session, instance_id: str, vim_ids: Iterable[str]
) -> None:
    """Note on which of the registered VIMs an instance may live from now on,
    beside those that are noted already.

    :raises ReferenceError: one of them was just deleted
    """
    table = models.VimUse
    noted = sa.select(table.vim_id).where(table.vnf_instance_id == instance_id)
    fresh = session.scalars(
        sa.select(Row.id).where(Row.id.in_(vim_ids), Row.id.not_in(noted))
    )
    session.add_all(
        table(vnf_instance_id=instance_id, vim_id=vim_id) for vim_id in fresh
    )
    session.flush()
