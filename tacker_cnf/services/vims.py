"""Registered VIMs: create, read, update, delete."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.db import models, quotas, sharing, vims
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import (
    DuplicateEntry,
    ReferenceError,  # noqa: A004
    Session,
    Store,
)
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import vim_policy
from tacker_cnf.lcm.redaction import redact_vim_attribute
from tacker_cnf.lcm.shown_names import is_credential
from tacker_cnf.services.slots import Slots
from tacker_cnf.services.vim_connections import VimConnections
from tacker_cnf.sol import uri
from tacker_cnf.sol.base import Name, ProjectId

#: keys of auth_cred by which the certificate of a VIM is verified
VERIFICATION_KEYS: Final = ("cert_verify", "ssl_ca_cert")


class NewVim(msgspec.Struct, kw_only=True, frozen=True):
    """A request to register a VIM, with the attributes of the CLI.

    ``auth_cred`` and ``vim_project`` have the keys that
    the driver of the type reads (``connection_of``).
    """

    name: Name
    type: Name
    auth_url: str
    auth_cred: dict[str, Any]
    vim_project: dict[str, Any] = {}
    description: str = ""
    is_default: bool = False
    extra: dict[str, Any] = {}
    #: ignored: a VIM belongs to the project of the client
    tenant_id: str | None = None

    def __post_init__(self) -> None:
        uri.check_no_user("auth_url", self.auth_url)


class VimChange(msgspec.Struct, kw_only=True, frozen=True):
    """A request to update a VIM; None leaves an attribute unchanged."""

    name: Name | None = None
    description: str | None = None
    auth_url: str | None = None
    auth_cred: dict[str, Any] | None = None
    vim_project: dict[str, Any] | None = None
    is_default: bool | None = None
    extra: dict[str, Any] | None = None
    #: whether all projects may read and use it
    is_public: bool | None = None
    #: the other projects that may read and use it
    shared_with: list[ProjectId] | None = None

    def __post_init__(self) -> None:
        uri.check_no_user("auth_url", self.auth_url or "")

    @property
    def shares(self) -> bool:
        """Whether it changes which projects may use the VIM."""
        return self.is_public is not None or self.shared_with is not None


class Vim(msgspec.Struct, frozen=True, kw_only=True):
    """A registered VIM, without its secrets."""

    id: str
    name: str
    tenant_id: str | None
    type: str
    description: str
    auth_url: str
    auth_cred: dict[str, Any]
    vim_project: dict[str, Any]
    placement_attr: dict[str, Any]
    is_default: bool
    status: str
    extra: dict[str, Any]
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    is_public: bool = False
    #: shown to its project, by a request for this VIM
    shared_with: list[str] = []


class VimService:
    """Creates, reads, updates and deletes registered VIMs.

    A VIM has to be reachable to be registered.
    """

    def __init__(
        self, store: Store, drivers: DriverRegistry, peer_slots: Slots
    ) -> None:
        self._store = store
        self._drivers = drivers
        self._peer_slots = peer_slots
        self._vim_connections = VimConnections(drivers)

    def add(self, context: RequestContext, requested: NewVim) -> Vim:
        """Register a VIM.

        :raises InvalidVimConnection: its policy is not valid
        :raises Conflict: another VIM has this name
        :raises QuotaExceeded: the project may have no more VIMs
        :raises VnfmError: the VIM is unreachable, or rejects the credentials
        """
        owner = context.owner
        vim = _new_row(requested, requested.name, owner)
        self._check_policy(vim, requested.extra)
        self._store.read(
            context, quotas.check_remaining, owner.project_id, Resource.VIMS
        )
        self._check_reachable(vim)
        try:
            added = self._store.write(context, _add, requested, owner)
        except DuplicateEntry:
            raise _name_conflict(requested.name) from None
        return _value(added, context)

    def types(self) -> list[str]:
        """Return the types of VIMs that can be registered."""
        return self._drivers.list_types()

    def get(self, context: RequestContext, vim_id: str) -> Vim:
        """Return a VIM.

        :raises NotFound: no VIM has this id
        """
        return self._store.read(context, _get, vim_id, context)

    def find(
        self,
        context: RequestContext,
        *,
        vim_id: str | None = None,
        name: str | None = None,
    ) -> list[Vim]:
        """List the VIMs; only with an id or a name, if set."""
        found = self._store.read(context, vims.find, vim_id=vim_id, name=name)
        return [_value(vim, context) for vim in found]

    def change(
        self, context: RequestContext, vim_id: str, requested: VimChange
    ) -> Vim:
        """Update a VIM.

        :raises NotFound: no VIM has this id
        :raises BadRequest: the registered credentials would be sent to
            another address, or with another verification of its certificate
        :raises Conflict: another VIM has this name
        :raises VnfmError: the VIM is unreachable, or rejects the credentials
        """
        vim = self._store.read(context, vims.get, vim_id)
        if requested.extra is not None:
            self._check_policy(vim, requested.extra)
        if requested.auth_url is not None or requested.auth_cred is not None:
            _apply(vim, requested)  # a copy of the row
            self._check_reachable(vim)
        try:
            return self._store.write(
                context, _change, vim_id, requested, context
            )
        except DuplicateEntry:
            raise _name_conflict(requested.name) from None

    def delete(self, context: RequestContext, vim_id: str) -> None:
        """Delete a VIM.

        :raises NotFound: no VIM has this id
        :raises Conflict: a VNF instance uses it
        """
        try:
            self._store.write(context, _delete, vim_id)
        except ReferenceError:
            user_id = self._store.read(
                context, vims.get_user_instance_id, vim_id
            )
            raise errors.Conflict(
                f"VIM {vim_id} is in use by VNF instances such as "
                f"{user_id or 'one just deleted'}; terminate and delete them "
                "first."
            ) from None

    def _check_policy(self, vim: models.Vim, extra: dict[str, Any]) -> None:
        """Check the policy in a request.

        :raises BadRequest: it is not valid, or its name is misspelt
        """
        vim_policy.check_name(extra)
        policy = extra.get(vim_policy.POLICY_KEY)
        if policy is None:
            return
        driver = self._drivers.for_type(vim.type, attribute="type")
        driver.check_policy(policy)

    def _check_reachable(self, vim: models.Vim) -> None:
        vim_connection = self._vim_connections.of_vim(vim)
        driver = self._drivers.for_type(
            vim_connection.vim_type or "", attribute="type"
        )
        with self._peer_slots.take(vim.project_id):
            driver.check_connection(vim_connection)


def _name_conflict(name: str | None) -> errors.Conflict:
    return errors.Conflict(f"Another VIM of the project is named {name!r}.")


def _add(session: Session, requested: NewVim, owner: Owner) -> models.Vim:
    quotas.reserve(session, owner.project_id, Resource.VIMS)
    vim = _new_row(requested, str(uuid.uuid4()), owner)
    if requested.is_default:
        vims.demote_default(session, owner.project_id)
    vims.add(session, vim)
    return vim


def _new_row(requested: NewVim, vim_id: str, owner: Owner) -> models.Vim:
    return models.Vim(
        id=vim_id,
        name=requested.name,
        type=requested.type,
        description=requested.description,
        auth_url=requested.auth_url,
        auth_cred=requested.auth_cred,
        vim_project=requested.vim_project,
        extra=vim_policy.changed({}, requested.extra),
        is_default=requested.is_default or None,
        created_at=datetime.datetime.now(datetime.UTC),
        project_id=owner.project_id,
        user_id=owner.user_id,
    )


def _get(session: Session, vim_id: str, client: RequestContext) -> Vim:
    vim = vims.get(session, vim_id)
    if vim.project_id != client.project_id:
        return _value(vim, client)
    return _value(vim, client, sharing.list_projects(session, vim))


def _change(
    session: Session, vim_id: str, requested: VimChange, client: RequestContext
) -> Vim:
    vim = vims.get(session, vim_id)
    if requested.is_default:
        vims.demote_default(session, vim.project_id)
    name = vim.name
    _apply(vim, requested)
    if vim.name != name:
        vims.count_change(session, vim_id)
    if requested.shares:
        sharing.share(
            session,
            vim,
            is_public=requested.is_public,
            projects=requested.shared_with,
        )
    vim.updated_at = datetime.datetime.now(datetime.UTC)
    return _get(session, vim_id, client)


def _delete(session: Session, vim_id: str) -> None:
    vims.delete(session, vims.get(session, vim_id))


def _apply(vim: models.Vim, requested: VimChange) -> None:
    """Apply an update to a VIM.

    :raises BadRequest: the registered credentials would be sent to another
        address, or with another verification of its certificate
    """
    own = requested.auth_cred or {}
    changes_receiver = requested.auth_url not in {None, vim.auth_url} or any(
        name in own and own[name] != vim.auth_cred.get(name)
        for name in VERIFICATION_KEYS
    )
    if changes_receiver and not any(map(is_credential, own)):
        raise errors.BadRequest(
            f"auth_url, {', '.join(VERIFICATION_KEYS)}: registered "
            "credentials are neither sent to another address nor with another "
            "verification of its certificate; set the complete auth_cred, "
            "with its password, token or key."
        )
    for name in VimChange.__struct_fields__:
        value = getattr(requested, name)
        if value is None or name in {"is_public", "shared_with"}:
            continue
        if name == "auth_cred" and not changes_receiver:
            value = {**vim.auth_cred, **value}
        if name == "extra":
            value = vim_policy.changed(vim.extra, value)
        if name == "is_default":
            value = value or None
        setattr(vim, name, value)


def _value(
    vim: models.Vim, client: RequestContext, shared_with: Sequence[str] = ()
) -> Vim:
    extra = vim.extra
    if vim.project_id != client.project_id and not client.all_projects:
        extra = vim_policy.without(extra)
    return Vim(
        id=vim.id,
        name=vim.name,
        tenant_id=vim.project_id,
        type=vim.type,
        description=vim.description,
        auth_url=vim.auth_url,
        auth_cred=redact_vim_attribute(vim.auth_cred, "accessInfo"),
        vim_project=redact_vim_attribute(vim.vim_project, "vimProject"),
        placement_attr={},
        is_default=bool(vim.is_default),
        status="REACHABLE",
        extra=redact_vim_attribute(extra, "extra"),
        created_at=vim.created_at,
        updated_at=vim.updated_at,
        is_public=vim.is_public,
        shared_with=list(shared_with),
    )
