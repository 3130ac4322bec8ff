"""Where an operation works: its VIMs, how to reach them, and their driver."""

from collections.abc import Mapping

import msgspec
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import vims
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.drivers.base import InfraDriver
from tacker_cnf.drivers.noop import NoopDriver
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.vims import connection_info

Connections = Mapping[str, VimConnectionInfo]


class ResolvedVims(msgspec.Struct, frozen=True, kw_only=True):
    """The VIMs as they were named, how to reach them now, and by what."""

    vim_connections: Connections
    resolved_connections: Connections
    driver: InfraDriver


class VimResolver:
    """Finds the sites of operations."""

    def __init__(self, store: Store, drivers: DriverRegistry) -> None:
        self._store = store
        self._drivers = drivers

    def resolve(
        self, session: orm.Session, requested: Connections
    ) -> ResolvedVims:
        """Find a site; of a VNF that is on no VIM, one whose driver refuses.

        :raises InvalidVimConnection: one is not known any more, or they are
            of several kinds
        """
        if not all(vim.vim_type for vim in requested.values()):
            requested = connection_info.name(session, requested)
        return ResolvedVims(
            vim_connections=requested,
            resolved_connections=connection_info.complete(session, requested),
            driver=self._drivers.for_connections(requested)
            if requested
            else NoopDriver(),
        )

    def check_vim_type(self, vim_type: str) -> None:
        """See that VIMs of a kind can be used.

        :param kind: as /v1.0/vims calls it
        :raises InvalidVimConnection: there is no driver for it
        """
        self._drivers.for_type(connection_info.vim_type(vim_type))

    @transaction
    def resolve_granted(
        self, instance_id: str, requested: Connections
    ) -> ResolvedVims:
        """Find a site that the NFVO has named, and see that its VIMs stay.

        :raises InvalidVimConnection: no VIM is named, or one that nobody
            knows, or they are of several kinds
        :raises Conflict: one was just deleted
        """
        try:
            with self._store.writer() as session:
                connections = connection_info.name(session, requested)
                self._drivers.for_connections(connections)
                used = [c.vim_id for c in connections.values() if c.vim_id]
                vims.record_use(session, instance_id, used)
                return self.resolve(session, connections)
        except ReferenceError:
            raise errors.Conflict("The VIM was just deleted.") from None
