"""Create, replace, delete: the rules every write goes through.

Clients come here over HTTP and controllers directly, so both meet the
same defaults, checks and quotas.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kubernetes_sandbox import (
    defaults,
    errors,
    immutability,
    managed_fields,
    validation,
)
from kubernetes_sandbox.admission import Admission
from kubernetes_sandbox.kinds import Kind, KindRegistry
from kubernetes_sandbox.objects import (
    Obj,
    clone,
    is_deleting,
    name_of,
    namespace_of,
    new_uid,
    now,
    random_suffix,
)
from kubernetes_sandbox.store import Store, encode
from kubernetes_sandbox.strategy import (
    Strategy,
    counts_generations,
    first_status,
)

#: What a client cannot change of an object's metadata.
_KEPT = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "namespace",
    "generateName",
)
_LONGEST_BASE = 58


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The parameters of a write."""

    dry_run: bool = False
    #: Who writes, for managedFields; empty for the cluster's own parts.
    manager: str = ""
    force: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    #: The managedFields that a server-side apply worked out.
    entries: tuple[Obj, ...] | None = None
    warn: Callable[[str], None] = field(default=lambda _: None)


INTERNAL = WriteOptions()


def ordered(obj: Obj, kind: Kind) -> Obj:
    """Put kind and apiVersion first: the store's JSON relies on it."""
    head: Obj = {"kind": kind.kind, "apiVersion": kind.api_version}
    rest = {k: v for k, v in obj.items() if k not in head}
    return {**head, **rest}


class Api:
    """The writes of the API server."""

    def __init__(self, store: Store, kinds: KindRegistry) -> None:
        self.store = store
        self.kinds = kinds
        self.strategy = Strategy()
        self.admission = Admission(store)

    def create(
        self,
        kind: Kind,
        namespace: str,
        obj: Obj,
        options: WriteOptions = INTERNAL,
    ) -> Obj:
        """Store a new object; ``obj`` is given away.

        :raises ApiError: it may not be
        """
        metadata = obj.setdefault("metadata", {})
        self._name(metadata)
        if kind.namespaced:
            metadata["namespace"] = namespace
        self.admission.check_namespace(
            kind, namespace, metadata.get("name", "")
        )
        asked = clone(obj) if options.manager else obj
        made = self._prepared(kind, ordered(obj, kind))
        self._check_free(kind, made)
        if options.entries is not None:
            made["metadata"]["managedFields"] = list(options.entries)
        elif options.manager:
            defaults.fill_in(kind.key, asked)
            managed_fields.record_first(made, asked, options.manager)
        self.admission.charge(kind, made)
        if options.dry_run:
            return made
        return self.store.put(kind, made).obj

    def replace(
        self,
        kind: Kind,
        old: Obj,
        new: Obj,
        options: WriteOptions = INTERNAL,
    ) -> Obj:
        """Store a new version; ``new`` is given away.

        :raises ApiError: it may not be, or is not based on the newest
        """
        self._check_version(kind, old, new)
        made = self._next_version(kind, old, ordered(new, kind))
        immutability.check(kind, old, made)
        return self._commit(kind, old, made, options)

    def replace_status(
        self,
        kind: Kind,
        old: Obj,
        new: Obj,
        options: WriteOptions = INTERNAL,
    ) -> Obj:
        """Store a new status, and nothing else but metadata of ``new``.

        :raises ApiError: it is not based on the newest version
        """
        self._check_version(kind, old, new)
        metadata = self._kept_metadata(old, new)
        metadata.pop("managedFields", None)
        if "managedFields" in old["metadata"]:
            metadata["managedFields"] = old["metadata"]["managedFields"]
        made = {**old, "metadata": metadata}
        if "status" in new:
            made["status"] = new["status"]
        return self._commit(kind, old, made, options)

    def set_status(self, kind: Kind, old: Obj, status: Obj) -> Obj:
        """Store a status that a controller worked out, if it is new."""
        if old.get("status") == status:
            return old
        return self.store.put(kind, {**old, "status": status}).obj

    def put(self, kind: Kind, obj: Obj) -> Obj:
        """Store a version that a controller made of the newest one."""
        return self._settle(kind, obj)

    def _name(self, metadata: Obj) -> None:
        base = metadata.get("generateName")
        if base and not metadata.get("name"):
            metadata["name"] = base[:_LONGEST_BASE] + random_suffix()

    def _prepared(self, kind: Kind, obj: Obj) -> Obj:
        for gone in ("resourceVersion", "selfLink", "deletionTimestamp"):
            obj["metadata"].pop(gone, None)
        obj["metadata"].pop("managedFields", None)
        defaults.fill_in(kind.key, obj)
        self.admission.admit(kind, obj)
        obj["metadata"].pop("uid", None)
        obj["metadata"].pop("generation", None)
        if counts_generations(kind):
            obj["metadata"]["generation"] = 1
        if kind.key != "jobs.batch":
            self.strategy.prepare(kind, obj)
        validation.check(kind, obj)
        obj["metadata"]["uid"] = new_uid()
        obj["metadata"]["creationTimestamp"] = now()
        if kind.key == "jobs.batch":
            self.strategy.prepare(kind, obj)
        first_status(kind, obj)
        return obj

    def _check_free(self, kind: Kind, obj: Obj) -> None:
        name = name_of(obj)
        found = self.store.get(kind.key, namespace_of(obj), name)
        if found is not None:
            raise errors.already_exists(
                kind.plural, kind.group, name, deleting=is_deleting(found)
            )

    def _check_version(self, kind: Kind, old: Obj, new: Obj) -> None:
        given = new.get("metadata", {})
        version = given.get("resourceVersion")
        name = name_of(old)
        if version and version != old["metadata"]["resourceVersion"]:
            raise errors.conflict(kind.plural, kind.group, name)
        uid, known = given.get("uid"), old["metadata"]["uid"]
        if uid and uid != known:
            raise errors.conflict(
                kind.plural,
                kind.group,
                name,
                f"Precondition failed: UID in precondition: {uid}, UID in"
                f" object meta: {known}",
            )

    @staticmethod
    def _kept_metadata(old: Obj, new: Obj) -> Obj:
        metadata = dict(new.get("metadata") or {})
        for name in _KEPT:
            metadata.pop(name, None)
            if name in old["metadata"]:
                metadata[name] = old["metadata"][name]
        metadata["name"] = name_of(old)
        metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
        return metadata

    def _next_version(self, kind: Kind, old: Obj, new: Obj) -> Obj:
        new["metadata"] = self._kept_metadata(old, new)
        if kind.subresource("status") is not None:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        defaults.fill_in(kind.key, new)
        if counts_generations(kind) and _essence(old) != _essence(new):
            generation = old["metadata"].get("generation", 0) + 1
            new["metadata"]["generation"] = generation
        self.strategy.prepare(kind, new)
        return new

    def _commit(
        self, kind: Kind, old: Obj, made: Obj, options: WriteOptions
    ) -> Obj:
        if "managedFields" in old["metadata"]:
            made["metadata"].setdefault(
                "managedFields", old["metadata"]["managedFields"]
            )
        if options.entries is not None:
            entries = _as_before(old, options.entries)
            made["metadata"]["managedFields"] = entries
        if made == old:
            return old
        if options.manager and options.entries is None:
            managed_fields.record(
                made, old, options.manager, options.subresource
            )
        if options.dry_run:
            return made
        return self._settle(kind, made)

    def _settle(self, kind: Kind, obj: Obj) -> Obj:
        metadata = obj["metadata"]
        waiting = metadata.get("finalizers") or metadata.get(
            "deletionGracePeriodSeconds"
        )
        held = kind.key == "namespaces." and obj["spec"].get("finalizers")
        if is_deleting(obj) and not waiting and not held:
            return self.store.remove(kind, obj).obj
        return self.store.put(kind, obj).obj


def _as_before(old: Obj, entries: tuple[Obj, ...]) -> list[Obj]:
    """Keep the time of the entries in which nothing else changed."""
    times = {"time"}
    before = {
        _without(entry, times): entry
        for entry in old["metadata"].get("managedFields") or ()
    }
    return [before.get(_without(entry, times), entry) for entry in entries]


def _without(entry: Obj, names: set[str]) -> bytes:
    return encode({k: v for k, v in entry.items() if k not in names})


def _essence(obj: Obj) -> Obj:
    if "spec" in obj:
        return dict(obj["spec"] or {})
    return {k: v for k, v in obj.items() if k not in {"metadata", "status"}}
