"""Which VIMs there are to be watched: those on which VNF instances live."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.vims import connection

#: instances that are read at once
BATCH: Final = 500


class Home(NamedTuple):
    """Where one instance lives."""

    generation: int
    #: digests of the VIM connections, as the instance names them
    named: tuple[str, ...]
    #: the tenant of the VIM
    tenant: str | None


@dataclasses.dataclass(frozen=True)
class Place:
    """A VIM, reached in one way, and the VNF instances that live there."""

    connection: VimConnectionInfo
    #: instance -> its tenant of the VIM
    tenants: Mapping[str, str | None]

    def of_tenant(self, tenant: str | None) -> AbstractSet[str]:
        """Tell the instances of a tenant, or, by None, all of them."""
        return {
            instance_id
            for instance_id, lives_in in self.tenants.items()
            if tenant in {None, lives_in}
        }


class Placement:
    """Keeps track of where the instances live.

    An instance is read again when it has changed. Its connections are kept
    once for all instances that name the same.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._homes: dict[str, Home] = {}
        self._named: dict[str, VimConnectionInfo] = {}

    def look(self) -> Mapping[str, Place]:
        """Tell the places in use now, by a key that two conductors agree on.

        Whatever it takes to reach a VIM is in the key: the same VIM, reached
        with renewed credentials, is another place.
        """
        self._follow()
        tenants: dict[str, dict[str, str | None]] = {}
        reached = {}
        for digest, known in self._completed().items():
            key = key_of(known)
            reached[digest] = key, known
            tenants[key] = {}
        for instance_id, home in self._homes.items():
            for digest in home.named:
                key, _ = reached[digest]
                tenants[key][instance_id] = home.tenant
        return {
            key: Place(known, tenants[key]) for key, known in reached.values()
        }

    def _follow(self) -> None:
        """Read the instances that are new or have changed."""
        there = dict(self._running())
        self._homes = {i: h for i, h in self._homes.items() if i in there}
        changed = [
            instance_id
            for instance_id, generation in there.items()
            if instance_id not in self._homes
            or self._homes[instance_id].generation != generation
        ]
        for begin in range(0, len(changed), BATCH):
            self._read(changed[begin : begin + BATCH])
        used = {d for home in self._homes.values() for d in home.named}
        self._named = {d: c for d, c in self._named.items() if d in used}

    def _running(self) -> Iterator[tuple[str, int]]:
        after = ""
        while True:
            found = self._running_after(after)
            yield from found
            if len(found) < BATCH:
                return
            after, _ = found[-1]

    @transaction
    def _running_after(self, after: str) -> list[tuple[str, int]]:
        with self._store.reader() as session:
            return list(instances.running(session, after, BATCH))

    @transaction
    def _read(self, instance_ids: list[str]) -> None:
        with self._store.reader() as session:
            for found in instances.whereabouts(session, instance_ids):
                instance_id, generation, connections, info = found
                named = {key_of(c): c for c in connections.values()}
                self._named.update(named)
                tenant = info.metadata.get("tenant")
                self._homes[instance_id] = Home(
                    generation, tuple(named), tenant and str(tenant)
                )

    @transaction
    def _completed(self) -> Mapping[str, VimConnectionInfo]:
        with self._store.reader() as session:
            return connection.complete(session, self._named)


def key_of(known: VimConnectionInfo) -> str:
    """Tell two ways to reach a VIM apart, without telling their secrets."""
    kind = known.vim_type, known.vim_id if not known.interface_info else None
    way = (kind, known.interface_info, known.access_info)
    return hashlib.sha256(
        msgspec.json.encode(way, order="deterministic")
    ).hexdigest()
