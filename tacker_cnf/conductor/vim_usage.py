"""Lists the VIMs that VNF instances use."""

import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.services.vim_connections import VimConnections
from tacker_cnf.sol.common import VimConnectionInfo

#: instances that are read at once
BATCH_SIZE: Final = 500


class InstanceVims(NamedTuple):
    """The VIMs of one instance."""

    generation: int
    #: digests of the VIM connections, as the instance has them
    connection_digests: tuple[str, ...]
    #: the namespace or project on the VIM
    tenant: str | None


@dataclasses.dataclass(frozen=True)
class UsedVim:
    """A VIM connection, and the VNF instances on it."""

    connection: VimConnectionInfo
    #: instance ID -> its namespace or project on the VIM
    tenants: Mapping[str, str | None]

    def list_instances(self, tenant: str | None) -> AbstractSet[str]:
        """Return the instances of a tenant; None: of all tenants."""
        return {
            instance_id
            for instance_id, instance_tenant in self.tenants.items()
            if tenant in {None, instance_tenant}
        }


class VimUsage:
    """A cache of the VIM connections of all instantiated instances.

    An instance is read again when it has changed. Equal connections of
    several instances are stored once.
    """

    def __init__(self, store: Store, vim_connections: VimConnections) -> None:
        self._store = store
        self._vim_connections = vim_connections
        self._instances: dict[str, InstanceVims] = {}
        self._connections: dict[str, VimConnectionInfo] = {}

    def refresh(
        self, changed: Collection[str] | None = None
    ) -> Mapping[str, UsedVim]:
        """Return the VIMs in use by a key that is the same on all conductors.

        The key covers endpoint and credentials: a VIM with renewed
        credentials has another key.

        :param changed: the instances that may have changed; None: all
        """
        self._reload(self._list_changed() if changed is None else changed)
        tenants: dict[str, dict[str, str | None]] = {}
        resolved = {}
        for digest, vim_connection in self._resolve().items():
            key = vim_key(vim_connection)
            resolved[digest] = key, vim_connection
            tenants[key] = {}
        for instance_id, instance_vims in self._instances.items():
            for digest in instance_vims.connection_digests:
                key, _ = resolved[digest]
                tenants[key][instance_id] = instance_vims.tenant
        return {
            key: UsedVim(vim_connection, tenants[key])
            for key, vim_connection in resolved.values()
        }

    def _list_changed(self) -> Collection[str]:
        """List the instances that are new, have changed, or were deleted."""
        running = dict(self._running())
        deleted = self._instances.keys() - running
        return deleted | {
            instance_id
            for instance_id, generation in running.items()
            if instance_id not in self._instances
            or self._instances[instance_id].generation != generation
        }

    def _reload(self, instance_ids: Collection[str]) -> None:
        """Read instances again, and forget those that no longer run."""
        for instance_id in instance_ids:
            self._instances.pop(instance_id, None)
        ids = list(instance_ids)
        for begin in range(0, len(ids), BATCH_SIZE):
            self._read(ids[begin : begin + BATCH_SIZE])
        used = {
            d
            for instance_vims in self._instances.values()
            for d in instance_vims.connection_digests
        }
        self._connections = {
            d: c for d, c in self._connections.items() if d in used
        }

    def _running(self) -> Iterator[tuple[str, int]]:
        after = ""
        while True:
            found = self._running_after(after)
            yield from found
            if len(found) < BATCH_SIZE:
                return
            after, _ = found[-1]

    @transaction
    def _running_after(self, after: str) -> list[tuple[str, int]]:
        with self._store.reader() as session:
            return list(
                instances.list_instantiated(session, after, BATCH_SIZE)
            )

    @transaction
    def _read(self, instance_ids: Sequence[str]) -> None:
        with self._store.reader() as session:
            for found in instances.list_vim_connections(session, instance_ids):
                connections_by_key = {
                    vim_key(c): c for c in found.connections.values()
                }
                self._connections.update(connections_by_key)
                self._instances[found.instance_id] = InstanceVims(
                    found.generation, tuple(connections_by_key), found.tenant
                )

    @transaction
    def _resolve(self) -> Mapping[str, VimConnectionInfo]:
        with self._store.reader() as session:
            return self._vim_connections.complete(session, self._connections)


def vim_key(vim_connection: VimConnectionInfo) -> str:
    """Return a digest of a VIM connection, which reveals no credentials."""
    kind = (
        vim_connection.vim_type,
        vim_connection.vim_id if not vim_connection.interface_info else None,
    )
    identity = (
        kind,
        vim_connection.interface_info,
        vim_connection.access_info,
    )
    return hashlib.sha256(
        msgspec.json.encode(identity, order="deterministic")
    ).hexdigest()
