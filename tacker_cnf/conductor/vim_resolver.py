"""Resolves the VIM connections of an operation, and finds its driver."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.db import vims
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Session,
    Store,
    transaction,
)
from tacker_cnf.drivers.base import InfraDriver
from tacker_cnf.drivers.noop import NoopDriver
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.services.vim_connections import VimConnections
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance

Connections = Mapping[str, VimConnectionInfo]


class ResolvedVims(msgspec.Struct, frozen=True, kw_only=True):
    """The VIMs of an operation, by their keys in vimConnectionInfo."""

    #: as requested or granted, perhaps with a vimId only
    vim_connections: Connections
    #: with endpoints and credentials
    resolved_connections: Connections
    driver: InfraDriver[Any, Any]


class VimResolver:
    """Resolves the VIM connections of operations."""

    def __init__(self, store: Store, drivers: DriverRegistry) -> None:
        self._store = store
        self._drivers = drivers
        self._vim_connections = VimConnections(drivers)

    def resolve(
        self, session: Session, requested: Connections, project_id: str
    ) -> ResolvedVims:
        """Resolve VIM connections; without any, use the no-op driver.

        :param project_id: the project of the VNF instance
        :raises InvalidVimConnection: a VIM is not registered any more, or
            the VIMs are of several types
        """
        if not all(vim.vim_type for vim in requested.values()):
            requested = self._vim_connections.name(
                session, requested, project_id
            ).connections
        return ResolvedVims(
            vim_connections=requested,
            resolved_connections=self._vim_connections.complete(
                session, requested
            ),
            driver=self._drivers.for_connections(requested)
            if requested
            else NoopDriver(),
        )

    def check_vim_type(self, vim_type: str) -> None:
        """Check that there is a driver for a type of VIM.

        :param vim_type: as in /v1.0/vims
        :raises InvalidVimConnection: there is no driver
        """
        self._drivers.for_type(vim_type)

    @transaction
    def resolve_granted(
        self, instance: VnfInstance, requested: Connections
    ) -> ResolvedVims:
        """Resolve the VIM connections of a grant, and record their use.

        :raises InvalidVimConnection: there is no VIM, a VIM is not
            registered, or the VIMs are of several types
        :raises Conflict: a VIM has just been deleted
        """
        try:
            with self._store.writer() as session:
                named = self._vim_connections.name(
                    session, requested, instance.project_id
                )
                self._drivers.for_connections(named.connections)
                vims.record_use(session, instance.id, named.registered)
                return self.resolve(
                    session, named.connections, instance.project_id
                )
        except ReferenceError:
            raise errors.Conflict(
                "vimConnections: the VIM has just been deleted."
            ) from None
