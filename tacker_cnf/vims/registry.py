"""Registered VIMs: make, read, change, forget."""

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
    """What a VIM is registered with, in the words of the CLI."""

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
    """What of a VIM may be changed; None: as it was."""

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
    def add(self, asked: NewVim, tenant_id: str | None) -> models.Vim:
        """Register a VIM.

        :raises Conflict: another VIM has this name
        """
        vim = models.Vim(
            id=str(uuid.uuid4()),
            name=asked.name,
            tenant_id=tenant_id or asked.tenant_id,
            type=asked.type,
            description=asked.description,
            auth_url=asked.auth_url,
            auth_cred=asked.auth_cred,
            vim_project=asked.vim_project,
            extra=asked.extra,
            is_default=asked.is_default or None,
            created_at=datetime.datetime.now(datetime.UTC),
        )
        try:
            with self._store.writer() as session:
                if asked.is_default:
                    vims.demote_default(session)
                vims.add(session, vim)
        except DuplicateEntry:
            raise errors.Conflict(
                f"Another VIM is named {asked.name!r}."
            ) from None
        return vim

    @transaction
    def get(self, vim_id: str) -> models.Vim:
        """Read a VIM.

        :raises NotFound: there is none of this id
        """
        with self._store.reader() as session:
            return vims.get(session, vim_id)

    @transaction
    def find(self, **only: str) -> Sequence[models.Vim]:
        """List the VIMs; of one ``vim_id`` or ``name`` only, if given."""
        with self._store.reader() as session:
            return vims.find(session, **only)

    @transaction
    def change(self, vim_id: str, asked: VimChange) -> models.Vim:
        """Change a VIM.

        :raises NotFound: there is none of this id
        :raises Conflict: another VIM has this name
        """
        try:
            with self._store.writer() as session:
                vim = vims.get(session, vim_id)
                if asked.is_default:
                    vims.demote_default(session)
                apply(vim, asked)
                vim.updated_at = datetime.datetime.now(datetime.UTC)
        except DuplicateEntry:
            raise errors.Conflict(
                f"Another VIM is named {asked.name!r}."
            ) from None
        return vim

    @transaction
    def delete(self, vim_id: str) -> None:
        """Forget a VIM.

        :raises NotFound: there is none of this id
        :raises Conflict: a VNF instance lives on it
        """
        try:
            with self._store.writer() as session:
                vims.delete(session, vims.get(session, vim_id))
        except ReferenceError:
            raise errors.Conflict(
                f"VNF instances live on VIM {vim_id}, such as "
                f"{self._user(vim_id)}."
            ) from None

    @transaction
    def _user(self, vim_id: str) -> str:
        with self._store.reader() as session:
            return vims.user(session, vim_id) or "one just deleted"


def apply(vim: models.Vim, asked: VimChange) -> None:
    """Put a change into a VIM.

    :raises BadRequest: another address, without credentials for it
    """
    moved = asked.auth_url not in {None, vim.auth_url}
    if moved and asked.auth_cred is None:
        raise errors.BadRequest(
            "auth_url: what is registered goes to no other address; give "
            "auth_cred, too."
        )
    for name in VimChange.__struct_fields__:
        value = getattr(asked, name)
        if value is None:
            continue
        if name == "auth_cred" and not moved:
            value = {**vim.auth_cred, **value}
        if name == "is_default":
            value = value or None
        setattr(vim, name, value)
