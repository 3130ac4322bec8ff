"""The CustomResourceDefinition controller."""

from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.controllers.garbage_collector import GarbageCollector
from kubernetes_sandbox.deletion import BACKGROUND
from kubernetes_sandbox.kinds import Kind, Subresource
from kubernetes_sandbox.objects import Obj, is_deleting, now, with_metadata
from kubernetes_sandbox.store import Change
from kubernetes_sandbox.strategy import CRDS

_READ_WRITE = ("get", "patch", "update")
_RETRY_DELAY_S = 0.2


class CustomResourceDefinitions(Controller):
    """Serves the kinds that CustomResourceDefinitions define."""

    key = CRDS

    def __init__(
        self, context: ControllerContext, garbage: GarbageCollector
    ) -> None:
        super().__init__(context)
        self._garbage = garbage

    def _own_changed(self, change: Change) -> None:
        super()._own_changed(change)
        if change.type == "DELETED":
            for kind in _kinds(change.entry.obj):
                self.context.api.kinds.remove(kind)
                self.store.drop_history(kind.key)

    def sync(self, obj: Obj) -> None:
        """Serve the defined kinds, or delete their objects."""
        if is_deleting(obj):
            self._empty(obj)
            return
        for kind in _kinds(obj):
            self.context.api.kinds.add(kind)
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
                self.context.deletion.delete(entry.kind, entry.obj, BACKGROUND)
        if self.store.entries(key):
            self.enqueue_later(obj, _RETRY_DELAY_S)
            return
        self.context.api.put(self.kind, with_metadata(obj, finalizers=None))


def _condition(kind: str, reason: str, message: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def _subresources(version: Obj, kind: str) -> tuple[Subresource, ...]:
    subresources = version.get("subresources") or {}
    found = []
    if "scale" in subresources:
        found.append(
            Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1")
        )
    if "status" in subresources:
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
