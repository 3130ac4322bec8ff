"""The object store: versions, history and indexes.

It belongs to one thread. An object is encoded to JSON once a version, for all
readers and watches.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from kubernetes_sandbox import errors
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import (
    Obj,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
)

_ENCODER = msgspec.json.Encoder()
#: The first resourceVersion.
_FIRST_VERSION = 1000
_HISTORY_LENGTH = 4000

encode = _ENCODER.encode


class Entry:
    """One version of an object, with its cached JSON."""

    __slots__ = ("_raw", "kind", "obj", "version")

    def __init__(self, kind: Kind, obj: Obj, version: int) -> None:
        self.kind = kind
        self.obj = obj
        self.version = version
        self._raw: bytes | None = None

    @property
    def raw(self) -> bytes:
        """The object as JSON."""
        if self._raw is None:
            self._raw = encode(self.obj)
        return self._raw

    @property
    def raw_item(self) -> bytes:
        """The object as JSON in a list, without kind and apiVersion."""
        if self.kind.custom:
            return self.raw
        head = (
            f'{{"kind":"{self.obj["kind"]}",'
            f'"apiVersion":"{self.obj["apiVersion"]}",'
        )
        return b"{" + self.raw[len(head) :]


class Change:
    """A change of an object."""

    __slots__ = ("_lines", "entry", "old", "type")

    def __init__(
        self, change_type: str, entry: Entry, old: Obj | None
    ) -> None:
        self.type = change_type
        self.entry = entry
        self.old = old
        self._lines: dict[str, bytes] = {}

    def line(self, event_type: str) -> bytes:
        """Encode it as a watch event."""
        line = self._lines.get(event_type)
        if line is None:
            raw = self.entry.raw
            line = b'{"type":"%s","object":%s}\n' % (event_type.encode(), raw)
            self._lines[event_type] = line
        return line


Listener = Callable[[Change], None]


@dataclass(slots=True)
class _KindStorage:
    """The objects and the history of one kind."""

    namespaces: dict[str, dict[str, Entry]] = field(default_factory=dict)
    history: deque[Change] = field(
        default_factory=lambda: deque(maxlen=_HISTORY_LENGTH)
    )
    #: The latest version that the history does not contain.
    compacted: int = _FIRST_VERSION
    listeners: list[Listener] = field(default_factory=list)


class Store:
    """The objects of a cluster."""

    def __init__(self) -> None:
        self.version = _FIRST_VERSION
        self._storages: dict[str, _KindStorage] = {}
        self._listeners: list[Listener] = []
        self._by_uid: dict[str, Entry] = {}
        self._dependents: dict[str, dict[str, Entry]] = {}

    def _storage(self, key: str) -> _KindStorage:
        storage = self._storages.get(key)
        if storage is None:
            storage = self._storages[key] = _KindStorage(
                compacted=_FIRST_VERSION
            )
        return storage

    def entry(self, key: str, namespace: str, name: str) -> Entry | None:
        """Return the latest version of an object."""
        space = self._storage(key).namespaces.get(namespace)
        return space.get(name) if space else None

    def get(self, key: str, namespace: str, name: str) -> Obj | None:
        """Return an object."""
        entry = self.entry(key, namespace, name)
        return entry.obj if entry else None

    def of_uid(self, uid: str) -> Entry | None:
        """Return an object by its uid."""
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> tuple[Entry, ...]:
        """List the objects that have this one as an owner."""
        return tuple(self._dependents.get(uid, {}).values())

    def owned(self, uid: str, key: str) -> list[Obj]:
        """List the objects of one kind that have this owner."""
        found = self._dependents.get(uid, {}).values()
        return [entry.obj for entry in found if entry.kind.key == key]

    def entries(self, key: str, namespace: str = "") -> list[Entry]:
        """List the objects of a kind by namespace and name."""
        namespaces = self._storage(key).namespaces
        if namespace:
            space = namespaces.get(namespace, {})
            return [space[name] for name in sorted(space)]
        return [
            namespaces[each][name]
            for each in sorted(namespaces)
            for name in sorted(namespaces[each])
        ]

    def entries_at(
        self, key: str, namespace: str, version: int
    ) -> list[Entry]:
        """List a kind as it was at a resourceVersion.

        :raises ApiError: 410, the history does not contain it
        """
        found = {
            (namespace_of(one.obj), name_of(one.obj)): one
            for one in self.entries(key, namespace)
        }
        for change in reversed(self.since(key, version)):
            obj = change.entry.obj
            place = (namespace_of(obj), name_of(obj))
            if namespace and place[0] != namespace:
                continue
            if change.old is None:
                found.pop(place, None)
            else:
                old = change.old["metadata"]["resourceVersion"]
                found[place] = Entry(change.entry.kind, change.old, int(old))
        return [found[place] for place in sorted(found)]

    def objects(self, key: str, namespace: str = "") -> Iterator[Obj]:
        """Iterate over the objects of a kind without an order."""
        namespaces = self._storage(key).namespaces
        matches_selector: Iterable[dict[str, Entry]] = namespaces.values()
        if namespace:
            matches_selector = (namespaces.get(namespace, {}),)
        for space in tuple(matches_selector):
            for entry in tuple(space.values()):
                yield entry.obj

    def count(self, key: str, namespace: str) -> int:
        """Return the number of objects of a kind in a namespace."""
        return len(self._storage(key).namespaces.get(namespace, {}))

    def keys_in(self, namespace: str) -> list[str]:
        """List the keys of the kinds that have objects in a namespace."""
        return [
            key
            for key, storage in self._storages.items()
            if storage.namespaces.get(namespace)
        ]

    def put(self, kind: Kind, obj: Obj) -> Entry:
        """Store an object with a new resourceVersion."""
        namespace, name = namespace_of(obj), name_of(obj)
        storage = self._storage(kind.key)
        space = storage.namespaces.setdefault(namespace, {})
        old = space.get(name)
        entry = self._stamp(kind, obj)
        space[name] = entry
        self._index(entry, old)
        if old is None:
            self._publish(storage, Change("ADDED", entry, None))
        else:
            self._publish(storage, Change("MODIFIED", entry, old.obj))
        return entry

    def remove(self, kind: Kind, obj: Obj) -> Entry:
        """Remove an object; its last version has a new resourceVersion."""
        namespace, name = namespace_of(obj), name_of(obj)
        storage = self._storage(kind.key)
        old = storage.namespaces[namespace].pop(name)
        if not storage.namespaces[namespace]:
            del storage.namespaces[namespace]
        entry = self._stamp(kind, obj)
        self._unindex(old)
        self._publish(storage, Change("DELETED", entry, old.obj))
        return entry

    def drop_history(self, key: str) -> None:
        """Drop the history of a kind."""
        storage = self._storages.get(key)
        if storage is not None:
            storage.compacted = self.version
            storage.history.clear()

    def compact(self) -> None:
        """Drop the history of all kinds, as a compaction of etcd does."""
        for key in self._storages:
            self.drop_history(key)

    def subscribe(self, key: str, listener: Listener) -> Callable[[], None]:
        """Call a listener for every change of a kind; return how to stop."""
        listeners = self._storage(key).listeners
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def subscribe_all(self, listener: Listener) -> None:
        """Call a listener for every change of any kind."""
        self._listeners.append(listener)

    def since(self, key: str, version: int) -> list[Change]:
        """List the changes of a kind after a resourceVersion.

        :raises ApiError: 410, the history does not contain it
        """
        storage = self._storage(key)
        if version < storage.compacted:
            raise errors.expired(version, storage.compacted)
        return [c for c in storage.history if c.entry.version > version]

    def _stamp(self, kind: Kind, obj: Obj) -> Entry:
        self.version += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self.version)}
        return Entry(kind, {**obj, "metadata": metadata}, self.version)

    def _index(self, entry: Entry, old: Entry | None) -> None:
        if old is not None:
            self._unindex(old)
        uid = uid_of(entry.obj)
        self._by_uid[uid] = entry
        for owner in owners_of(entry.obj):
            self._dependents.setdefault(owner["uid"], {})[uid] = entry

    def _unindex(self, old: Entry) -> None:
        uid = uid_of(old.obj)
        self._by_uid.pop(uid, None)
        for owner in owners_of(old.obj):
            dependents = self._dependents.get(owner["uid"], {})
            dependents.pop(uid, None)
            if not dependents:
                self._dependents.pop(owner["uid"], None)

    def _publish(self, storage: _KindStorage, change: Change) -> None:
        if len(storage.history) == _HISTORY_LENGTH:
            storage.compacted = storage.history[0].entry.version
        storage.history.append(change)
        for listener in (*storage.listeners, *self._listeners):
            listener(change)
