"""Registered VIMs as SOL003 VimConnectionInfo, and references to them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from tacker_cnf import errors
from tacker_cnf.db import models, vims
from tacker_cnf.db.session import Session
from tacker_cnf.db.vims import ProvidedVimRecord
from tacker_cnf.drivers import vim_connection
from tacker_cnf.drivers.base import RegisteredVim
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import vim_policy
from tacker_cnf.sol import uri
from tacker_cnf.sol.common import VimConnectionInfo

Connections = Mapping[str, VimConnectionInfo]


class NamedVims(NamedTuple):
    """The VIMs of an operation."""

    #: as they are stored with it
    connections: Connections
    #: with the policies of registered VIMs, which may be all that a driver
    #: needs to plan
    planned: Connections
    #: the IDs of the registered ones
    registered: frozenset[str]


class VimConnections:
    """Resolves VIM connections, by the layouts that the drivers define."""

    def __init__(self, drivers: DriverRegistry) -> None:
        self._drivers = drivers

    def vim_type(self, kind: str) -> str:
        """Convert a type of /v1.0/vims to a SOL003 vimType.

        A type without a driver is its own vimType: such a VIM can be read,
        and operations on it fail.
        """
        try:
            return self._drivers.for_type(kind).vim_type
        except errors.InvalidVimConnection:
            return kind

    def of_vim(self, vim: models.Vim) -> VimConnectionInfo:
        """Convert a registered VIM to SOL003 4.4.1.6."""
        registered = RegisteredVim(
            id=vim.id,
            type=vim.type,
            auth_url=vim.auth_url,
            auth_cred=vim.auth_cred,
            vim_project=vim.vim_project,
            extra=vim.extra,
        )
        try:
            driver = self._drivers.for_type(vim.type)
        except errors.InvalidVimConnection:
            return vim_connection.of_any_vim(registered)
        if vim.type == driver.vim_type:  # its data has the names of SOL003
            return vim_connection.of_any_vim(registered)
        return driver.connection_of(registered)

    def check(self, vim: models.Vim) -> None:
        """Check that a registered VIM answers and accepts its credentials.

        :raises Exception: it does not; of any driver
        """
        connection = self.of_vim(vim)
        driver = self._drivers.for_connections({"": connection})
        driver.check_connection(connection)

    def provided(
        self, records: Iterable[ProvidedVimRecord]
    ) -> dict[str, VimConnectionInfo]:
        """Return the VIMs that a VNF instance provides, by their names."""
        return {
            vim.name: VimConnectionInfo(
                vim_id=vim.vim_id, vim_type=self.vim_type(vim.type)
            )
            for vim in records
        }

    def name(
        self, session: Session, requested: Connections, project_id: str
    ) -> NamedVims:
        """Resolve the vimConnectionInfo of a request, each entry with its
        type.

        For a registered VIM only its id and the request's own attributes are
        stored: its credentials may be renewed while VNFs run on it. Without
        any entry the default VIM is used, under the key "default".

        :param project_id: the project of the VNF instance
        :raises InvalidVimConnection: an entry has neither the id of a
            registered VIM that the project may use, nor a vimType and
            endpoint; or it has a policy
        """
        found = {
            key: self._named(session, key, requested[key], project_id)
            for key in requested
        }
        if not requested:
            default = vims.default(session, project_id)
            if default:
                found = {"default": (self._reference(default), default)}
        return NamedVims(
            {key: named for key, (named, _) in found.items()},
            {
                key: self._with_policy(named, self._sent_to(named, vim))
                for key, (named, vim) in found.items()
            },
            frozenset(vim.id for _, vim in found.values() if vim),
        )

    def complete(
        self, session: Session, connections: Connections
    ) -> dict[str, VimConnectionInfo]:
        """Add the current address and credentials of registered VIMs, which
        `name` has accepted for the project of the VNF instance.

        Registered credentials are sent to the registered address alone: a
        request with an endpoint of its own has to have its own credentials,
        and one without cannot change how TLS is verified, not even by a
        ssl_ca_cert in accessInfo.
        """
        return {
            key: self._with_registered(session, connections[key])
            for key in connections
        }

    @staticmethod
    def _with_policy(
        connection: VimConnectionInfo, registered: VimConnectionInfo | None
    ) -> VimConnectionInfo:
        policy = vim_policy.select(registered.extra) if registered else {}
        extra = {**vim_policy.without(connection.extra), **policy}
        return msgspec.structs.replace(connection, extra=extra)

    def _reference(self, vim: models.Vim) -> VimConnectionInfo:
        return VimConnectionInfo(
            vim_id=vim.id, vim_type=self.vim_type(vim.type)
        )

    def _named(
        self,
        session: Session,
        key: str,
        requested: VimConnectionInfo,
        project_id: str,
    ) -> tuple[VimConnectionInfo, models.Vim | None]:
        """Return an entry with its type, and the registered VIM that it
        names.
        """
        if vim_policy.POLICY_KEY in requested.extra:
            raise errors.InvalidVimConnection(
                f"vimConnectionInfo.{key}.extra.{vim_policy.POLICY_KEY}: the "
                "policy of a VIM is set where it is registered (/v1.0/vims), "
                "or by the options of its driver. Remove the attribute."
            )
        _check_urls(key, requested)
        found = None
        if requested.vim_id:
            found = vims.find_usable(session, requested.vim_id, project_id)
        if found:
            kind = requested.vim_type or self.vim_type(found.type)
            return msgspec.structs.replace(requested, vim_type=kind), found
        if (
            requested.vim_type is None
            or "endpoint" not in requested.interface_info
        ):
            unknown = f"no VIM {requested.vim_id} is registered; "
            raise errors.InvalidVimConnection(
                f"vimConnectionInfo.{key}: "
                f"{unknown if requested.vim_id else ''}"
                "set the vimId of a registered VIM, or vimType, "
                "interfaceInfo.endpoint and accessInfo."
            )
        return requested, None

    def _with_registered(
        self, session: Session, connection: VimConnectionInfo
    ) -> VimConnectionInfo:
        registered = self._sent_to(connection, _find(session, connection))
        connection = self._with_policy(connection, registered)
        if registered is None:
            return connection
        own = dict(connection.access_info)
        own.pop(vim_connection.CA, None)
        return msgspec.structs.replace(
            connection,
            interface_info=registered.interface_info,
            access_info={**registered.access_info, **own},
            extra={**registered.extra, **connection.extra},
        )

    def _sent_to(
        self, connection: VimConnectionInfo, found: models.Vim | None
    ) -> VimConnectionInfo | None:
        """Return the registered VIM that a connection uses; None: it has an
        address of its own.
        """
        if not found or "endpoint" in connection.interface_info:
            return None
        return self.of_vim(found)


def _check_urls(key: str, requested: VimConnectionInfo) -> None:
    """Check that no URL in an interfaceInfo has a user or a password.

    :raises InvalidVimConnection: one has
    """
    for name, value in requested.interface_info.items():
        try:
            uri.check_no_user(
                f"vimConnectionInfo.{key}.interfaceInfo.{name}", value
            )
        except ValueError as error:
            raise errors.InvalidVimConnection(f"{error}.") from None


def _find(
    session: Session, connection: VimConnectionInfo
) -> models.Vim | None:
    """Return the registered VIM of a connection, if it names one."""
    if not connection.vim_id:
        return None
    return vims.find_one(session, connection.vim_id)
