"""Create, replace and delete: the rules that apply to every write.

HTTP requests and controllers both use it, so that the same defaults,
validation and quotas apply.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kubernetes_sandbox import (
    defaults,
    errors,
    managed_fields,
    update_validation,
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
    has_generation,
    set_initial_status,
)

#: Metadata that a client cannot change.
_SERVER_SET_METADATA = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "namespace",
    "generateName",
)
_MAX_BASE_LENGTH = 58


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The parameters of a write."""

    dry_run: bool = False
    #: Field manager for managedFields; empty for controllers.
    manager: str = ""
    force: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    #: The managedFields that a server-side apply computed.
    entries: tuple[Obj, ...] | None = None
    warn: Callable[[str], None] = field(default=lambda _: None)


INTERNAL = WriteOptions()


def ordered(obj: Obj, kind: Kind) -> Obj:
    """Put kind and apiVersion first: the cached JSON relies on it."""
    head: Obj = {"kind": kind.kind, "apiVersion": kind.api_version}
    rest = {k: v for k, v in obj.items() if k not in head}
    return {**head, **rest}


class Api:
    """The write operations of the API server."""

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
        """Store a new object; it takes ownership of ``obj``.

        :raises ApiError: the object is rejected
        """
        metadata = obj.setdefault("metadata", {})
        self._name(metadata)
        if kind.namespaced:
            metadata["namespace"] = namespace
        self.admission.check_namespace(
            kind, namespace, metadata.get("name", "")
        )
        requested = clone(obj) if options.manager else obj
        result = self._prepare(kind, ordered(obj, kind))
        self._check_not_exists(kind, result)
        if options.entries is not None:
            result["metadata"]["managedFields"] = list(options.entries)
        elif options.manager:
            defaults.set_defaults(kind.key, requested)
            managed_fields.record_create(result, requested, options.manager)
        self.admission.check_quota(kind, result)
        if options.dry_run:
            return result
        return self.store.put(kind, result).obj

    def replace(
        self,
        kind: Kind,
        old: Obj,
        new: Obj,
        options: WriteOptions = INTERNAL,
    ) -> Obj:
        """Store a new version; it takes ownership of ``new``.

        :raises ApiError: it is rejected, or not based on the latest version
        """
        self._check_version(kind, old, new)
        result = self._next_version(kind, old, ordered(new, kind))
        update_validation.check(kind, old, result)
        return self._commit(kind, old, result, options)

    def replace_status(
        self,
        kind: Kind,
        old: Obj,
        new: Obj,
        options: WriteOptions = INTERNAL,
    ) -> Obj:
        """Store the status and the metadata of ``new``, and nothing else.

        :raises ApiError: it is not based on the latest version
        """
        self._check_version(kind, old, new)
        metadata = self._next_metadata(old, new)
        metadata.pop("managedFields", None)
        if "managedFields" in old["metadata"]:
            metadata["managedFields"] = old["metadata"]["managedFields"]
        result = {**old, "metadata": metadata}
        if "status" in new:
            result["status"] = new["status"]
        return self._commit(kind, old, result, options)

    def set_status(self, kind: Kind, old: Obj, status: Obj) -> Obj:
        """Store the status that a controller computed, if it differs."""
        if old.get("status") == status:
            return old
        return self.store.put(kind, {**old, "status": status}).obj

    def put(self, kind: Kind, obj: Obj) -> Obj:
        """Store a version that a controller derived from the latest one."""
        return self._store_or_remove(kind, obj)

    def _name(self, metadata: Obj) -> None:
        base = metadata.get("generateName")
        if base and not metadata.get("name"):
            metadata["name"] = base[:_MAX_BASE_LENGTH] + random_suffix()

    def _prepare(self, kind: Kind, obj: Obj) -> Obj:
        for removed in ("resourceVersion", "selfLink", "deletionTimestamp"):
            obj["metadata"].pop(removed, None)
        obj["metadata"].pop("managedFields", None)
        defaults.set_defaults(kind.key, obj)
        self.admission.admit(kind, obj)
        obj["metadata"].pop("uid", None)
        obj["metadata"].pop("generation", None)
        if has_generation(kind):
            obj["metadata"]["generation"] = 1
        if kind.key != "jobs.batch":
            self.strategy.prepare(kind, obj)
        validation.check(kind, obj)
        obj["metadata"]["uid"] = new_uid()
        obj["metadata"]["creationTimestamp"] = now()
        if kind.key == "jobs.batch":
            self.strategy.prepare(kind, obj)
        set_initial_status(kind, obj)
        return obj

    def _check_not_exists(self, kind: Kind, obj: Obj) -> None:
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
    def _next_metadata(old: Obj, new: Obj) -> Obj:
        metadata = dict(new.get("metadata") or {})
        for name in _SERVER_SET_METADATA:
            metadata.pop(name, None)
            if name in old["metadata"]:
                metadata[name] = old["metadata"][name]
        metadata["name"] = name_of(old)
        metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
        return metadata

    def _next_version(self, kind: Kind, old: Obj, new: Obj) -> Obj:
        new["metadata"] = self._next_metadata(old, new)
        if kind.subresource("status") is not None:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        defaults.set_defaults(kind.key, new)
        if has_generation(kind) and _desired_state(
            kind, old
        ) != _desired_state(kind, new):
            generation = old["metadata"].get("generation", 0) + 1
            new["metadata"]["generation"] = generation
        self.strategy.prepare(kind, new)
        return new

    def _commit(
        self, kind: Kind, old: Obj, result: Obj, options: WriteOptions
    ) -> Obj:
        if "managedFields" in old["metadata"]:
            result["metadata"].setdefault(
                "managedFields", old["metadata"]["managedFields"]
            )
        if options.entries is not None:
            entries = _with_old_times(old, options.entries)
            result["metadata"]["managedFields"] = entries
        if result == old:
            return old
        if options.manager and options.entries is None:
            managed_fields.record(
                result, old, options.manager, options.subresource
            )
        if options.dry_run:
            return result
        return self._store_or_remove(kind, result)

    def _store_or_remove(self, kind: Kind, obj: Obj) -> Obj:
        metadata = obj["metadata"]
        waiting = metadata.get("finalizers") or metadata.get(
            "deletionGracePeriodSeconds"
        )
        held = kind.key == "namespaces." and obj["spec"].get("finalizers")
        if is_deleting(obj) and not waiting and not held:
            return self.store.remove(kind, obj).obj
        return self.store.put(kind, obj).obj


def _with_old_times(old: Obj, entries: tuple[Obj, ...]) -> list[Obj]:
    """Keep the time of entries that have not changed otherwise."""
    times = {"time"}
    before = {
        _without(entry, times): entry
        for entry in old["metadata"].get("managedFields") or ()
    }
    return [before.get(_without(entry, times), entry) for entry in entries]


def _without(entry: Obj, names: set[str]) -> bytes:
    return encode({k: v for k, v in entry.items() if k not in names})


def _desired_state(kind: Kind, obj: Obj) -> Obj:
    """Return what has another generation if it changes."""
    if "spec" not in obj:
        hidden = {"metadata", "status"}
        return {k: v for k, v in obj.items() if k not in hidden}
    if kind.key == "deployments.apps":
        annotations = obj["metadata"].get("annotations") or {}
        return {"spec": obj["spec"], "annotations": annotations}
    return dict(obj["spec"] or {})
