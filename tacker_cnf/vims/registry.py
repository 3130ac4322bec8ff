"""Creates, reads, updates and deletes registered VIMs."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.db import models, vims
from tacker_cnf.db.session import (
    DuplicateEntry,
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.sol.base import Name


class NewVim(msgspec.Struct, kw_only=True, frozen=True):
    """A request to register a VIM, with the attributes of the CLI.

    ``auth_cred`` and ``vim_project`` have the keys that
    :mod:`tacker_cnf.vims.connection_info` reads.
    """

    name: Name
    type: Name
    auth_url: str
    auth_cred: dict[str, Any]
    vim_project: dict[str, Any] = {}
    description: str = ""
    is_default: bool = False
    extra: dict[str, Any] = {}
    tenant_id: str | None = None


class VimChange(msgspec.Struct, kw_only=True, frozen=True):
    """A request to update a VIM; None leaves an attribute unchanged."""

    name: Name | None = None
    description: str | None = None
    auth_url: str | None = None
    auth_cred: dict[str, Any] | None = None
    vim_project: dict[str, Any] | None = None
    is_default: bool | None = None
    extra: dict[str, Any] | None = None


class Vims:
    """The registered VIMs of this installation."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @transaction
    def add(self, requested: NewVim, tenant_id: str | None) -> models.Vim:
        """Register a VIM.

        :raises Conflict: another VIM has this name
        """
        vim = models.Vim(
            id=str(uuid.uuid4()),
            name=requested.name,
            tenant_id=tenant_id or requested.tenant_id,
            type=requested.type,
            description=requested.description,
            auth_url=requested.auth_url,
            auth_cred=requested.auth_cred,
            vim_project=requested.vim_project,
            extra=requested.extra,
            is_default=requested.is_default or None,
            created_at=datetime.datetime.now(datetime.UTC),
        )
        try:
            with self._store.writer() as session:
                if requested.is_default:
                    vims.demote_default(session)
                vims.add(session, vim)
        except DuplicateEntry:
            raise errors.Conflict(
                f"Another VIM is named {requested.name!r}."
            ) from None
        return vim

    @transaction
    def get(self, vim_id: str) -> models.Vim:
        """Return a VIM.

        :raises NotFound: no VIM has this id
        """
        with self._store.reader() as session:
            return vims.get(session, vim_id)

    @transaction
    def find(self, **filters: str) -> Sequence[models.Vim]:
        """List the VIMs, filtered by ``vim_id`` or ``name``."""
        with self._store.reader() as session:
            return vims.find(session, **filters)

    @transaction
    def change(self, vim_id: str, requested: VimChange) -> models.Vim:
        """Update a VIM.

        :raises NotFound: no VIM has this id
        :raises Conflict: another VIM has this name
        """
        try:
            with self._store.writer() as session:
                vim = vims.get(session, vim_id)
                if requested.is_default:
                    vims.demote_default(session)
                apply(vim, requested)
                vim.updated_at = datetime.datetime.now(datetime.UTC)
        except DuplicateEntry:
            raise errors.Conflict(
                f"Another VIM is named {requested.name!r}."
            ) from None
        return vim

    @transaction
    def delete(self, vim_id: str) -> None:
        """Delete a VIM.

        :raises NotFound: no VIM has this id
        :raises Conflict: a VNF instance uses it
        """
        try:
            with self._store.writer() as session:
                vims.delete(session, vims.get(session, vim_id))
        except ReferenceError:
            raise errors.Conflict(
                f"VIM {vim_id} is in use by VNF instances such as "
                f"{self._instance_using(vim_id)}; terminate and delete them "
                "first."
            ) from None

    @transaction
    def _instance_using(self, vim_id: str) -> str:
        with self._store.reader() as session:
            return (
                vims.get_user_instance_id(session, vim_id)
                or "one just deleted"
            )


def apply(vim: models.Vim, requested: VimChange) -> None:
    """Apply an update to a VIM.

    :raises BadRequest: auth_url changes without auth_cred
    """
    address_changed = requested.auth_url not in {None, vim.auth_url}
    if address_changed and requested.auth_cred is None:
        raise errors.BadRequest(
            "auth_url: registered credentials are not sent to another "
            "address; set auth_cred, too."
        )
    for name in VimChange.__struct_fields__:
        value = getattr(requested, name)
        if value is None:
            continue
        if name == "auth_cred" and not address_changed:
            value = {**vim.auth_cred, **value}
        if name == "is_default":
            value = value or None
        setattr(vim, name, value)
