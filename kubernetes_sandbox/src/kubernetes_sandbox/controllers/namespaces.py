"""Namespaces: what a new one holds, and how one ends."""

from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.deletion import BACKGROUND
from kubernetes_sandbox.objects import Obj, is_deleting, name_of
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change

DEFAULT = ("default", "kube-system", "kube-public", "kube-node-lease")
_ROOT_CA = "kube-root-ca.crt"
_ROOT_CA_NOTE = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when"
    " using internal endpoints such as the internal service IP or"
    " kubernetes.default.svc. No other usage is guaranteed across"
    " distributions of Kubernetes clusters."
)
_LOOK_AGAIN_SECONDS = 0.2


class Namespaces(Controller):
    """Furnishes new namespaces and empties those that go."""

    key = "namespaces."

    def __init__(self, plane: Plane, ca_pem: str) -> None:
        super().__init__(plane)
        self._ca_pem = ca_pem
        self.store.subscribe("serviceaccounts.", self._furniture_changed)
        self.store.subscribe("configmaps.", self._furniture_changed)

    def _own_changed(self, change: Change) -> None:
        obj = change.entry.obj
        if change.type == "ADDED":
            # At once: a pod may be created right after its namespace.
            self._furnish(obj)
        elif is_deleting(obj):
            self.enqueue("", name_of(obj))

    def _furniture_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self.enqueue("", change.entry.obj["metadata"]["namespace"])

    def _furnish(self, obj: Obj) -> None:
        name = name_of(obj)
        accounts = self.plane.kind("serviceaccounts.")
        if self.store.get(accounts.key, name, "default") is None:
            account = {"metadata": {"name": "default"}}
            self.plane.api.create(accounts, name, account)
        maps = self.plane.kind("configmaps.")
        if self.store.get(maps.key, name, _ROOT_CA) is None:
            notes = {"kubernetes.io/description": _ROOT_CA_NOTE}
            metadata = {"name": _ROOT_CA, "annotations": notes}
            data = {"ca.crt": self._ca_pem}
            self.plane.api.create(
                maps, name, {"metadata": metadata, "data": data}
            )

    def sync(self, obj: Obj) -> None:
        """Put back what is missing, or take everything away."""
        if not is_deleting(obj):
            self._furnish(obj)
            return
        name = name_of(obj)
        for key in self.store.keys_in(name):
            for entry in self.store.entries(key, name):
                if not is_deleting(entry.obj):
                    self.plane.deletion.delete(
                        entry.kind, entry.obj, BACKGROUND
                    )
        if self.store.keys_in(name):
            self.enqueue_later(obj, _LOOK_AGAIN_SECONDS)
            return
        newest = self.store.get(self.key, "", name)
        if newest is not None:
            self.plane.api.put(
                self.kind, {**newest, "spec": {"finalizers": []}}
            )
