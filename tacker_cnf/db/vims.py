"""Registered VIMs, and the VNF instances that use or provide them."""

import datetime
import uuid
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import sqlalchemy as sa
from oslo_log import log
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.context import Owner
from tacker_cnf.db import models, quotas, scope
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import DuplicateEntry
from tacker_cnf.lcm import vim_policy
from tacker_cnf.lcm.script_output import ProvidedVim

LOG = log.getLogger(__name__)
Row = models.Vim
Provider = models.VimProvider
_BY_ID: Final = sa.select(Row).where(Row.id == sa.bindparam("vim_id"))
_USABLE: Final = _BY_ID.where(scope.usable_by(Row, sa.bindparam("project_id")))
_COUNT_CHANGE: Final = (
    sa.update(models.VnfInstance)
    .where(models.VnfInstance.id == sa.bindparam("instance_id"))
    .values(generation=models.VnfInstance.generation + 1)
)
#: columns that are updated when a VNF provides a VIM again
UPDATED_FIELDS: Final = ("auth_url", "auth_cred", "extra")


class ProvidedVimRecord(NamedTuple):
    """A VIM that a VNF instance provides."""

    vnf_instance_id: str
    vim_id: str
    name: str
    #: as in /v1.0/vims
    type: str


def add(session: orm.Session, vim: Row) -> None:
    session.add(vim)


def get(session: orm.Session, vim_id: str) -> Row:
    """Return one VIM.

    :raises NotFound: the VIM does not exist
    :raises Forbidden: the policy does not allow the client this VIM
    """
    vim = session.get(Row, vim_id)
    if vim is None:
        raise errors.NotFound(f"There is no VIM {vim_id}.")
    scope.authorize(session, scope.owner_of(vim))
    return vim


def find(
    session: orm.Session, *, vim_id: str | None = None, name: str | None = None
) -> Sequence[Row]:
    """List the VIMs, oldest first; only with an ID or a name, if set."""
    query = sa.select(Row).order_by(Row.created_at, Row.id)
    if vim_id is not None:
        query = query.where(Row.id == vim_id)
    if name is not None:
        query = query.where(Row.name == name)
    return session.scalars(query).all()


def find_one(session: orm.Session, vim_id: str) -> Row | None:
    """Return a VIM; None: there is none."""
    return session.scalars(_BY_ID, {"vim_id": vim_id}).one_or_none()


def find_usable(
    session: orm.Session, vim_id: str, project_id: str
) -> Row | None:
    """Return a VIM that a project may use; None: there is none."""
    return session.scalars(
        _USABLE, {"vim_id": vim_id, "project_id": project_id}
    ).one_or_none()


def default(session: orm.Session, project_id: str) -> Row | None:
    """Return the VIM for requests of a project without a VIM; None: there is
    none.
    """
    return session.scalars(
        sa.select(Row).where(
            Row.project_id == project_id, Row.is_default.is_(True)
        )
    ).one_or_none()


def demote_default(session: orm.Session, project_id: str) -> None:
    """Unset the default VIM of a project."""
    session.execute(
        sa.update(Row)
        .where(Row.project_id == project_id, Row.is_default.is_(True))
        .values(is_default=None)
    )


def get_user_instance_id(session: orm.Session, vim_id: str) -> str | None:
    """Return the ID of one VNF instance on a VIM that the client may see;
    None: there is none.
    """
    table, instance = models.VimUse, models.VnfInstance
    return session.scalar(
        sa.select(table.vnf_instance_id)
        .join(instance, instance.id == table.vnf_instance_id)
        .where(table.vim_id == vim_id)
        .order_by(table.vnf_instance_id)
        .limit(1)
    )


def delete(session: orm.Session, vim: Row) -> None:
    """Delete a VIM, also for the VNF instance that provides it.

    :raises ReferenceError: a VNF instance uses it (at flush)
    """
    count_change(session, vim.id)
    session.delete(vim)


def count_change(session: orm.Session, vim_id: str) -> None:
    """Count a change of the VNF instance that provides a VIM, since it shows
    the ID and the name of the VIM: its entity tag changes.
    """
    instance_id = session.scalar(
        sa.select(Provider.vnf_instance_id).where(Provider.vim_id == vim_id)
    )
    # by its key: MariaDB locks all rows that it looks at
    if instance_id is not None:
        session.connection().execute(
            _COUNT_CHANGE, {"instance_id": instance_id}
        )


def record_use(
    session: orm.Session, instance_id: str, vim_ids: Collection[str]
) -> AbstractSet[str]:
    """Record that an instance uses registered VIMs from now on, those of them
    that its project may use; return these.

    :raises ReferenceError: a VIM was just deleted
    """
    if not vim_ids:
        return frozenset()
    use, instance = models.VimUse, models.VnfInstance
    project_id = (
        sa.select(instance.project_id)
        .where(instance.id == instance_id)
        .scalar_subquery()
    )
    recorded = sa.exists().where(
        use.vnf_instance_id == instance_id, use.vim_id == Row.id
    )
    usable = scope.rows(
        session,
        sa.select(Row.id, recorded.label("is_recorded")).where(
            Row.id.in_(vim_ids), scope.usable_by(Row, project_id)
        ),
    ).all()
    session.add_all(
        use(vnf_instance_id=instance_id, vim_id=vim_id)
        for vim_id, is_recorded in usable
        if not is_recorded
    )
    session.flush()
    return {vim_id for vim_id, _ in usable}


def list_provided(
    session: orm.Session, instance_id: str | None = None
) -> Sequence[ProvidedVimRecord]:
    """List the VIMs that one or all VNF instances provide, oldest first."""
    query = (
        sa.select(Provider.vnf_instance_id, Row.id, Row.name, Row.type)
        .join(Row, Row.id == Provider.vim_id)
        .order_by(Row.created_at, Row.id)
    )
    if instance_id is not None:
        query = query.where(Provider.vnf_instance_id == instance_id)
    return [ProvidedVimRecord(*row) for row in scope.rows(session, query)]


def update_provided(
    session: orm.Session,
    instance_id: str,
    changes: Mapping[str, ProvidedVim | None],
    now: datetime.datetime,
) -> None:
    """Register, update or delete the VIMs that a VNF instance provides.

    :param changes: name -> VIM; None: no longer provided, without effect for
        a VIM that the instance does not provide
    :raises ScriptFailed: another VIM of the project of the instance has the
        name, the type of a VIM has changed, or the project may have no more
        VIMs; the caller has locked its quotas
    """
    if not changes:
        return
    instance = models.VnfInstance
    owner = scope.owner_of(
        scope.rows(
            session,
            sa.select(instance.project_id, instance.user_id).where(
                instance.id == instance_id
            ),
        ).one()
    )
    for name in sorted(changes):
        existing, provider = _lock_by_name(session, name, owner.project_id)
        vim = changes[name]
        if vim is None:
            if existing and provider == instance_id:
                _delete_unless_used(session, existing)
        elif existing is None:
            _register(session, instance_id, owner, name, vim, now)
        elif provider == instance_id:
            _update_connection(existing, vim, now)
        else:
            other = (
                f"VNF instance {provider}" if provider else "no VNF instance"
            )
            reason = f"VIM {existing.id} of this name is provided by {other}"
            raise _name_conflict(instance_id, name, reason)


def _lock_by_name(
    session: orm.Session, name: str, project_id: str
) -> tuple[Row | None, str | None]:
    """Lock the VIM of a name of a project; return it and the ID of the VNF
    instance that provides it.
    """
    vim = session.scalars(
        sa.select(Row)
        .where(Row.project_id == project_id, Row.name == name)
        .with_for_update()
    ).one_or_none()
    if vim is None:
        return None, None
    provider = session.scalar(
        sa.select(Provider.vnf_instance_id)
        .where(Provider.vim_id == vim.id)
        .with_for_update(read=True)
    )
    return vim, provider


def _name_conflict(
    instance_id: str, name: str, reason: str
) -> errors.ScriptFailed:
    return errors.ScriptFailed(
        f"A management script of VNF instance {instance_id} names VIM "
        f"{name!r} as its own, but {reason}. Rename or delete that VIM, and "
        "retry."
    )


def _register(
    session: orm.Session,
    instance_id: str,
    owner: Owner,
    name: str,
    vim: ProvidedVim,
    now: datetime.datetime,
) -> None:
    try:
        quotas.reserve(session, owner.project_id, Resource.VIMS)
    except errors.QuotaExceeded as error:
        raise errors.ScriptFailed(
            f"A management script of VNF instance {instance_id} registers "
            f"VIM {name!r}. {error}"
        ) from None
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
            project_id=owner.project_id,
            user_id=owner.user_id,
        )
    )
    try:
        session.flush()
    except DuplicateEntry:
        reason = "another VIM of this name was registered just now"
        raise _name_conflict(instance_id, name, reason) from None
    session.add(Provider(vim_id=vim_id, vnf_instance_id=instance_id))
    count_change(session, vim_id)


def _update_connection(
    existing: Row, vim: ProvidedVim, now: datetime.datetime
) -> None:
    """Update the connection of a VIM; the VNF instances on it, and its policy,
    stay.

    :raises ScriptFailed: the type has changed
    """
    if vim.type != existing.type:
        raise errors.ScriptFailed(
            f"A management script says that VIM {existing.name!r}, which was "
            f"registered as {existing.type}, is {vim.type}. Give it another name."
        )
    new = {name: getattr(vim, name) for name in UPDATED_FIELDS}
    new["extra"] = vim_policy.changed(existing.extra, vim.extra)
    if new != {name: getattr(existing, name) for name in UPDATED_FIELDS}:
        for name, value in new.items():
            setattr(existing, name, value)
        existing.updated_at = now


def _delete_unless_used(session: orm.Session, vim: Row) -> bool:
    """Delete a VIM unless VNF instances use it; return whether it was
    deleted.
    """
    table = models.VimUse
    user_id = session.scalar(
        sa.select(table.vnf_instance_id)
        .where(table.vim_id == vim.id)
        .order_by(table.vnf_instance_id)
        .limit(1)
        .with_for_update(read=True)
    )
    if user_id is None:
        delete(session, vim)
        session.flush()
        return True
    LOG.warning(
        "Provided VIM in use, not deleted: vim=%s name=%s used_by=%s",
        vim.id,
        vim.name,
        user_id,
    )
    return False


def delete_provided(session: orm.Session, instance_id: str) -> None:
    """Delete the VIMs that a VNF instance provides; those that other
    instances use stay without a provider.
    """
    for provided_vim in list_provided(session, instance_id):
        vim = session.scalars(
            sa.select(Row)
            .where(Row.id == provided_vim.vim_id)
            .with_for_update()
        ).one_or_none()
        if vim and not _delete_unless_used(session, vim):
            session.execute(
                sa.delete(Provider).where(Provider.vim_id == vim.id)
            )
