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
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.vims import connection

Connections = Mapping[str, VimConnectionInfo]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """The VIMs as they were named, how to reach them now, and by what."""

    vim_connections: Connections
    reached_by: Connections
    driver: InfraDriver


class Sites:
    """Finds the sites of operations."""

    def __init__(self, store: Store, drivers: Registry) -> None:
        self._store = store
        self._drivers = drivers

    def find(self, session: orm.Session, named: Connections) -> Site:
        """Find a site; of a VNF that is on no VIM, one whose driver refuses.

        :raises InvalidVimConnection: one is not known any more, or they are
            of several kinds
        """
        if not all(vim.vim_type for vim in named.values()):
            named = connection.name(session, named)
        return Site(
            vim_connections=named,
            reached_by=connection.complete(session, named),
            driver=self._drivers.of(named) if named else NoopDriver(),
        )

    def check_kind(self, kind: str) -> None:
        """See that VIMs of a kind can be used.

        :param kind: as /v1.0/vims calls it
        :raises InvalidVimConnection: there is no driver for it
        """
        self._drivers.of_type(connection.vim_type(kind))

    @transaction
    def settle(self, instance_id: str, named: Connections) -> Site:
        """Find a site that the NFVO has named, and see that its VIMs stay.

        :raises InvalidVimConnection: no VIM is named, or one that nobody
            knows, or they are of several kinds
        :raises Conflict: one was just deleted
        """
        try:
            with self._store.writer() as session:
                known = connection.name(session, named)
                self._drivers.of(known)
                used = [c.vim_id for c in known.values() if c.vim_id]
                vims.use(session, instance_id, used)
                return self.find(session, known)
        except ReferenceError:
            raise errors.Conflict("The VIM was just deleted.") from None
