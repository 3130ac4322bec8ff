"""CustomResourceDefinitions: served when established, emptied when they go."""

from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.controllers.garbage import GarbageCollector
from kubernetes_sandbox.deletion import BACKGROUND
from kubernetes_sandbox.kinds import Kind, Subresource
from kubernetes_sandbox.objects import Obj, is_deleting, now, with_metadata
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change
from kubernetes_sandbox.strategy import DEFINITIONS

_READ_WRITE = ("get", "patch", "update")
_LOOK_AGAIN_SECONDS = 0.2


class Definitions(Controller):
    """Serves the kinds that definitions describe."""

    key = DEFINITIONS

    def __init__(self, plane: Plane, garbage: GarbageCollector) -> None:
        super().__init__(plane)
        self._garbage = garbage

    def _own_changed(self, change: Change) -> None:
        super()._own_changed(change)
        if change.type == "DELETED":
            for kind in _kinds(change.entry.obj):
                self.plane.api.kinds.remove(kind)
                self.store.drop_shelf(kind.key)

    def sync(self, obj: Obj) -> None:
        """Serve what a definition describes, or empty it."""
        if is_deleting(obj):
            self._empty(obj)
            return
        for kind in _kinds(obj):
            self.plane.api.kinds.add(kind)
            self._garbage.watch(kind.key)
        self._establish(obj)

    def _establish(self, obj: Obj) -> None:
        names = obj["spec"]["names"]
        if obj["status"].get("acceptedNames") == names:
            return
        status = {
            **obj["status"],
            "conditions": [
                _condition(
                    "NamesAccepted", "NoConflicts", "no conflicts found"
                ),
                _condition(
                    "Established",
                    "InitialNamesAccepted",
                    "the initial names have been accepted",
                ),
            ],
            "acceptedNames": names,
        }
        self.set_status(obj, status)

    def _empty(self, obj: Obj) -> None:
        key = f"{obj['spec']['names']['plural']}.{obj['spec']['group']}"
        for entry in self.store.entries(key):
            if not is_deleting(entry.obj):
                self.plane.deletion.delete(entry.kind, entry.obj, BACKGROUND)
        if self.store.entries(key):
            self.enqueue_later(obj, _LOOK_AGAIN_SECONDS)
            return
        self.plane.api.put(self.kind, with_metadata(obj, finalizers=None))


def _condition(kind: str, reason: str, message: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def _subresources(version: Obj, kind: str) -> tuple[Subresource, ...]:
    told = version.get("subresources") or {}
    found = []
    if "scale" in told:
        found.append(
            Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1")
        )
    if "status" in told:
        found.append(Subresource("status", kind, _READ_WRITE))
    return tuple(found)


def _kinds(obj: Obj) -> list[Kind]:
    spec, names = obj["spec"], obj["spec"]["names"]
    return [
        Kind(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names["singular"],
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=_subresources(version, names["kind"]),
            list_kind=names["listKind"],
            custom=True,
        )
        for version in spec["versions"]
        if version.get("served")
    ]
