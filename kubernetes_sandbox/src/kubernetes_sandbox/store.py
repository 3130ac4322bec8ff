"""The objects of the cluster, their versions and what happened to them.

One thread owns it. Every operation on one object is a few dict operations;
an object is written as JSON once a version, for every reader and watcher.
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
#: A cluster that is new has already counted its own objects.
_FIRST_VERSION = 1000
_HISTORY_LENGTH = 4000

encode = _ENCODER.encode


class Entry:
    """One version of an object, with its JSON once somebody needed it."""

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
        """The object as JSON inside a list, which names the kind itself."""
        if self.kind.custom:
            return self.raw
        head = (
            f'{{"kind":"{self.obj["kind"]}",'
            f'"apiVersion":"{self.obj["apiVersion"]}",'
        )
        return b"{" + self.raw[len(head) :]


class Change:
    """Something that happened to an object."""

    __slots__ = ("_lines", "entry", "old", "type")

    def __init__(
        self, change_type: str, entry: Entry, old: Obj | None
    ) -> None:
        self.type = change_type
        self.entry = entry
        self.old = old
        self._lines: dict[str, bytes] = {}

    def line(self, seen_as: str) -> bytes:
        """Write it as one line of a watch."""
        line = self._lines.get(seen_as)
        if line is None:
            raw = self.entry.raw
            line = b'{"type":"%s","object":%s}\n' % (seen_as.encode(), raw)
            self._lines[seen_as] = line
        return line


Listener = Callable[[Change], None]


@dataclass(slots=True)
class _Shelf:
    """All objects of one kind."""

    spaces: dict[str, dict[str, Entry]] = field(default_factory=dict)
    history: deque[Change] = field(
        default_factory=lambda: deque(maxlen=_HISTORY_LENGTH)
    )
    #: The newest version that the history no longer tells.
    forgotten: int = _FIRST_VERSION
    listeners: list[Listener] = field(default_factory=list)


class Store:
    """Everything the cluster knows."""

    def __init__(self) -> None:
        self.version = _FIRST_VERSION
        self._shelves: dict[str, _Shelf] = {}
        self._by_uid: dict[str, Entry] = {}
        self._dependents: dict[str, dict[str, Entry]] = {}

    def _shelf(self, key: str) -> _Shelf:
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = _Shelf(forgotten=_FIRST_VERSION)
        return shelf

    def entry(self, key: str, namespace: str, name: str) -> Entry | None:
        """Find the newest version of an object."""
        space = self._shelf(key).spaces.get(namespace)
        return space.get(name) if space else None

    def get(self, key: str, namespace: str, name: str) -> Obj | None:
        """Find an object."""
        entry = self.entry(key, namespace, name)
        return entry.obj if entry else None

    def of_uid(self, uid: str) -> Entry | None:
        """Find an object by its uid."""
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> tuple[Entry, ...]:
        """List the objects that name this one as an owner."""
        return tuple(self._dependents.get(uid, {}).values())

    def owned(self, uid: str, key: str) -> list[Obj]:
        """List the objects of one kind that name this owner."""
        found = self._dependents.get(uid, {}).values()
        return [entry.obj for entry in found if entry.kind.key == key]

    def entries(self, key: str, namespace: str = "") -> list[Entry]:
        """List a kind, everywhere or in one namespace, in order."""
        spaces = self._shelf(key).spaces
        if namespace:
            space = spaces.get(namespace, {})
            return [space[name] for name in sorted(space)]
        return [
            spaces[each][name]
            for each in sorted(spaces)
            for name in sorted(spaces[each])
        ]

    def objects(self, key: str, namespace: str = "") -> Iterator[Obj]:
        """Go through a kind in no order."""
        spaces = self._shelf(key).spaces
        chosen: Iterable[dict[str, Entry]] = spaces.values()
        if namespace:
            chosen = (spaces.get(namespace, {}),)
        for space in tuple(chosen):
            for entry in tuple(space.values()):
                yield entry.obj

    def count(self, key: str, namespace: str) -> int:
        """Count the objects of a kind in a namespace."""
        return len(self._shelf(key).spaces.get(namespace, {}))

    def keys_in(self, namespace: str) -> list[str]:
        """List the kinds that have objects in a namespace."""
        return [
            key
            for key, shelf in self._shelves.items()
            if shelf.spaces.get(namespace)
        ]

    def put(self, kind: Kind, obj: Obj) -> Entry:
        """Store a new object or a new version; it gets its version here."""
        namespace, name = namespace_of(obj), name_of(obj)
        shelf = self._shelf(kind.key)
        space = shelf.spaces.setdefault(namespace, {})
        old = space.get(name)
        entry = self._stamp(kind, obj)
        space[name] = entry
        self._index(entry, old)
        if old is None:
            self._tell(shelf, Change("ADDED", entry, None))
        else:
            self._tell(shelf, Change("MODIFIED", entry, old.obj))
        return entry

    def remove(self, kind: Kind, obj: Obj) -> Entry:
        """Forget an object; its last version tells when."""
        namespace, name = namespace_of(obj), name_of(obj)
        shelf = self._shelf(kind.key)
        old = shelf.spaces[namespace].pop(name)
        if not shelf.spaces[namespace]:
            del shelf.spaces[namespace]
        entry = self._stamp(kind, obj)
        self._unindex(old)
        self._tell(shelf, Change("DELETED", entry, old.obj))
        return entry

    def drop_shelf(self, key: str) -> None:
        """Forget a kind that is no longer served."""
        shelf = self._shelves.get(key)
        if shelf is not None:
            shelf.forgotten = self.version
            shelf.history.clear()

    def subscribe(self, key: str, listener: Listener) -> Callable[[], None]:
        """Be told of every change to a kind; answers how to end it."""
        listeners = self._shelf(key).listeners
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def since(self, key: str, version: int) -> list[Change]:
        """Tell what happened to a kind after a version.

        :raises ApiError: the history does not go back that far
        """
        shelf = self._shelf(key)
        if version < shelf.forgotten:
            raise errors.expired(version, shelf.forgotten)
        return [c for c in shelf.history if c.entry.version > version]

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

    @staticmethod
    def _tell(shelf: _Shelf, change: Change) -> None:
        if len(shelf.history) == _HISTORY_LENGTH:
            shelf.forgotten = shelf.history[0].entry.version
        shelf.history.append(change)
        for listener in tuple(shelf.listeners):
            listener(change)
