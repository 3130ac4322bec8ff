"""The garbage collector."""

from collections.abc import Sequence

from kubernetes_sandbox import raw_extension, update_validation
from kubernetes_sandbox.controller_context import ControllerContext
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
from kubernetes_sandbox.store import Change, Entry

_FOREGROUND = DeleteOptions(policy="Foreground")


class GarbageCollector:
    """Deletes the dependents of deleted owners, for every kind."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._store = context.store
        self._watched: set[str] = set()
        for kind in context.api.kinds:
            self.watch(kind.key)

    def watch(self, key: str) -> None:
        """Watch the objects of a kind."""
        if key not in self._watched:
            self._watched.add(key)
            self._store.subscribe(key, self._changed)

    def _changed(self, change: Change) -> None:
        obj = change.entry.obj
        soon = self._context.timers.soon
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
        """Delete an object if none of its owners exists."""
        obj = entry.obj
        owners = owners_of(obj)
        remaining = [one for one in owners if self._exists(obj, one)]
        if not owners or is_deleting(obj):
            return
        if not remaining:
            self._delete(entry, BACKGROUND)
        elif len(remaining) < len(owners):
            changed_fields = with_metadata(
                obj, ownerReferences=list(remaining)
            )
            self._context.api.put(entry.kind, changed_fields)

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
            changed_fields = with_metadata(
                dependent.obj, ownerReferences=owners or None
            )
            self._context.api.put(dependent.kind, changed_fields)
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
        remaining = [one for one in finalizers if one != finalizer]
        changed_fields = with_metadata(
            newest.obj, finalizers=remaining or None
        )
        changed_fields = raw_extension.without_raw(newest.kind, changed_fields)
        try:
            update_validation.check(newest.kind, newest.obj, changed_fields)
        except ApiError:  # The PATCH that removes the finalizer is rejected.
            return
        self._context.api.put(newest.kind, changed_fields)

    def _delete(self, entry: Entry, options: DeleteOptions) -> None:
        newest = self._store.entry(
            entry.kind.key, namespace_of(entry.obj), name_of(entry.obj)
        )
        if newest is None or uid_of(newest.obj) != uid_of(entry.obj):
            return
        try:
            self._context.deletion.delete(newest.kind, newest.obj, options)
        except ApiError:  # changed meanwhile
            return
