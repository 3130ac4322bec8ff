"""The garbage collector: what goes when its owner goes."""

from collections.abc import Sequence

from kubernetes_sandbox import immutability, raw_data
from kubernetes_sandbox.deletion import (
    BACKGROUND,
    FOREGROUND,
    ORPHAN,
    DeleteOptions,
)
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    is_deleting,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
    with_metadata,
)
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change, Entry

_FOREGROUND = DeleteOptions(policy="Foreground")


class GarbageCollector:
    """Follows ownerReferences, for every kind there is."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._store = plane.store
        self._watched: set[str] = set()
        for kind in plane.api.kinds:
            self.watch(kind.key)

    def watch(self, key: str) -> None:
        """Follow the objects of a kind."""
        if key not in self._watched:
            self._watched.add(key)
            self._store.subscribe(key, self._changed)

    def _changed(self, change: Change) -> None:
        obj = change.entry.obj
        soon = self._plane.timers.soon
        if change.type == "DELETED":
            if self._store.dependents(uid_of(obj)):
                soon(self._owner_gone, uid_of(obj))
            for owner in owners_of(obj):
                soon(self._dependent_gone, owner["uid"])
            return
        finalizers = obj["metadata"].get("finalizers") or ()
        if is_deleting(obj) and {FOREGROUND, ORPHAN} & set(finalizers):
            soon(self._release, uid_of(obj))
        elif change.type == "ADDED" and owners_of(obj):
            soon(self._check_owners, uid_of(obj))

    def _check_owners(self, uid: str) -> None:
        entry = self._store.of_uid(uid)
        if entry is not None and not is_deleting(entry.obj):
            self._collect(entry)

    def _owner_gone(self, uid: str) -> None:
        for entry in self._store.dependents(uid):
            self._collect(entry)

    def _collect(self, entry: Entry) -> None:
        """Delete an object none of whose owners is left."""
        obj = entry.obj
        owners = owners_of(obj)
        left = [one for one in owners if self._exists(obj, one)]
        if not owners or is_deleting(obj):
            return
        if not left:
            self._delete(entry, BACKGROUND)
        elif len(left) < len(owners):
            changed = with_metadata(obj, ownerReferences=list(left))
            self._plane.api.put(entry.kind, changed)

    def _exists(self, obj: Obj, owner: Obj) -> bool:
        entry = self._store.of_uid(owner["uid"])
        if entry is None:
            return False
        return namespace_of(entry.obj) in {"", namespace_of(obj)}

    def _dependent_gone(self, owner_uid: str) -> None:
        entry = self._store.of_uid(owner_uid)
        if entry is None or not is_deleting(entry.obj):
            return
        if FOREGROUND in (entry.obj["metadata"].get("finalizers") or ()):
            self._release(owner_uid)

    def _release(self, uid: str) -> None:
        entry = self._store.of_uid(uid)
        if entry is None:
            return
        finalizers = entry.obj["metadata"].get("finalizers") or ()
        if ORPHAN in finalizers:
            self._orphan(entry)
        elif FOREGROUND in finalizers:
            self._delete_dependents(entry)

    def _orphan(self, entry: Entry) -> None:
        uid = uid_of(entry.obj)
        for dependent in self._store.dependents(uid):
            owners = [o for o in owners_of(dependent.obj) if o["uid"] != uid]
            changed = with_metadata(
                dependent.obj, ownerReferences=owners or None
            )
            self._plane.api.put(dependent.kind, changed)
        self._drop_finalizer(entry, ORPHAN)

    def _delete_dependents(self, entry: Entry) -> None:
        uid = uid_of(entry.obj)
        blocking = False
        for dependent in self._store.dependents(uid):
            reference = self._reference(dependent.obj, uid)
            if reference is None:
                continue
            blocking = blocking or bool(reference.get("blockOwnerDeletion"))
            if not is_deleting(dependent.obj):
                has_own = self._store.dependents(uid_of(dependent.obj))
                self._delete(dependent, _FOREGROUND if has_own else BACKGROUND)
        if not blocking or not self._blockers(uid):
            self._drop_finalizer(entry, FOREGROUND)

    def _blockers(self, uid: str) -> Sequence[Entry]:
        return [
            dependent
            for dependent in self._store.dependents(uid)
            if (self._reference(dependent.obj, uid) or {}).get(
                "blockOwnerDeletion"
            )
        ]

    @staticmethod
    def _reference(obj: Obj, uid: str) -> Obj | None:
        return next((o for o in owners_of(obj) if o["uid"] == uid), None)

    def _drop_finalizer(self, entry: Entry, finalizer: str) -> None:
        newest = self._store.of_uid(uid_of(entry.obj))
        if newest is None:
            return
        finalizers = newest.obj["metadata"].get("finalizers") or ()
        left = [one for one in finalizers if one != finalizer]
        changed = with_metadata(newest.obj, finalizers=left or None)
        changed = raw_data.as_patched(newest.kind, changed)
        try:
            immutability.check(newest.kind, newest.obj, changed)
        except ApiError:  # it stays, as its PATCH is refused
            return
        self._plane.api.put(newest.kind, changed)

    def _delete(self, entry: Entry, options: DeleteOptions) -> None:
        newest = self._store.entry(
            entry.kind.key, namespace_of(entry.obj), name_of(entry.obj)
        )
        if newest is None or uid_of(newest.obj) != uid_of(entry.obj):
            return
        try:
            self._plane.deletion.delete(newest.kind, newest.obj, options)
        except ApiError:  # somebody else changed it, the change comes here
            return
