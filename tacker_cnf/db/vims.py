"""Registered VIMs as rows, which VNF instances live on them, and which
provide them.
"""

import datetime
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from oslo_log import log
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models
from tacker_cnf.db.session import DuplicateEntry
from tacker_cnf.lcm.scripted import ProvidedVim

LOG = log.getLogger(__name__)
Row = models.Vim
Provider = models.VimProvider
#: what is written anew of a VIM that is provided still
RENEWED: Final = ("auth_url", "auth_cred", "extra")


class Provided(NamedTuple):
    """A VIM that a VNF instance provides."""

    vnf_instance_id: str
    vim_id: str
    name: str
    #: as /v1.0/vims calls it
    type: str


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


def provided(
    session: orm.Session, instance_id: str | None = None
) -> Sequence[Provided]:
    """List the VIMs that VNF instances provide; or one of them, if given."""
    query = (
        sa.select(Provider.vnf_instance_id, Row.id, Row.name, Row.type)
        .join(Row, Row.id == Provider.vim_id)
        .order_by(Row.created_at, Row.id)
    )
    if instance_id is not None:
        query = query.where(Provider.vnf_instance_id == instance_id)
    return [Provided(*row) for row in session.execute(query)]


def provide(
    session: orm.Session,
    instance_id: str,
    said: Mapping[str, ProvidedVim | None],
    now: datetime.datetime,
) -> None:
    """Keep which VIMs a VNF instance provides from now on, by name, or no
    longer does; one that it never did is none of its business then.

    :raises ScriptFailed: it is to provide a VIM of a name that another one
        has, or one of another type
    """
    for name in sorted(said):
        there, provider = _named(session, name)
        vim = said[name]
        if vim is None:
            if there and provider == instance_id:
                _forget(session, there)
        elif there is None:
            _register(session, instance_id, name, vim, now)
        elif provider == instance_id:
            _renew(there, vim, now)
        else:
            whose = (
                f"VNF instance {provider}" if provider else "no VNF instance"
            )
            why = f"VIM {there.id} of this name is provided by {whose}"
            raise _taken(instance_id, name, why)


def _named(session: orm.Session, name: str) -> tuple[Row | None, str | None]:
    """Find the VIM of a name, which nobody can change or use meanwhile, and
    who provides it.
    """
    vim = session.scalars(
        sa.select(Row).where(Row.name == name).with_for_update()
    ).one_or_none()
    if vim is None:
        return None, None
    provider = session.scalar(
        sa.select(Provider.vnf_instance_id)
        .where(Provider.vim_id == vim.id)
        .with_for_update(read=True)
    )
    return vim, provider


def _taken(instance_id: str, name: str, why: str) -> errors.ScriptFailed:
    return errors.ScriptFailed(
        f"A management script of VNF instance {instance_id} names VIM "
        f"{name!r} as its own, but {why}. Rename or delete that one, and retry."
    )


def _register(
    session: orm.Session,
    instance_id: str,
    name: str,
    vim: ProvidedVim,
    now: datetime.datetime,
) -> None:
    vim_id = str(uuid.uuid4())
    session.add(
        Row(
            id=vim_id,
            name=name,
            type=vim.type,
            description=f"Provided by VNF instance {instance_id}",
            auth_url=vim.auth_url,
            auth_cred=vim.auth_cred,
            vim_project={},
            extra=vim.extra,
            created_at=now,
        )
    )
    try:
        session.flush()
    except DuplicateEntry:
        why = "another VIM of this name was registered just now"
        raise _taken(instance_id, name, why) from None
    session.add(Provider(vim_id=vim_id, vnf_instance_id=instance_id))
    session.flush()


def _renew(there: Row, vim: ProvidedVim, now: datetime.datetime) -> None:
    """Write down how a VIM is reached now; who lives on it goes on.

    :raises ScriptFailed: it is of another type by now
    """
    if vim.type != there.type:
        raise errors.ScriptFailed(
            f"A management script says that VIM {there.name!r}, which was "
            f"registered as {there.type}, is {vim.type}. Give it another name."
        )
    new = {name: getattr(vim, name) for name in RENEWED}
    if new != {name: getattr(there, name) for name in RENEWED}:
        for name, value in new.items():
            setattr(there, name, value)
        there.updated_at = now


def _forget(session: orm.Session, vim: Row) -> bool:
    """Forget a VIM, unless VNF instances live on it; tell whether it has
    gone.
    """
    table = models.VimUse
    living = session.scalar(
        sa.select(table.vnf_instance_id)
        .where(table.vim_id == vim.id)
        .order_by(table.vnf_instance_id)
        .limit(1)
        .with_for_update(read=True)
    )
    if living is None:
        session.delete(vim)
        session.flush()
        return True
    LOG.warning(
        "VIM %s (%s) was to go with the VNF that provides it, and stays: VNF "
        "instances live on it, such as %s",
        vim.name,
        vim.id,
        living,
    )
    return False


def withdraw(session: orm.Session, instance_id: str) -> None:
    """Forget the VIMs that a VNF instance provided; those on which others
    live stay, and are nobody's.
    """
    for known in provided(session, instance_id):
        vim = session.scalars(
            sa.select(Row).where(Row.id == known.vim_id).with_for_update()
        ).one_or_none()
        if vim and not _forget(session, vim):
            session.execute(
                sa.delete(Provider).where(Provider.vim_id == vim.id)
            )
