"""The Namespace controller."""

from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.deletion import BACKGROUND
from kubernetes_sandbox.objects import Obj, is_deleting, name_of
from kubernetes_sandbox.store import Change

DEFAULT = ("default", "kube-system", "kube-public", "kube-node-lease")
_ROOT_CA = "kube-root-ca.crt"
_ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when"
    " using internal endpoints such as the internal service IP or"
    " kubernetes.default.svc. No other usage is guaranteed across"
    " distributions of Kubernetes clusters."
)
_RETRY_DELAY_S = 0.2


class Namespaces(Controller):
    """Creates the default objects of namespaces and empties deleted ones."""

    key = "namespaces."

    def __init__(self, context: ControllerContext, ca_pem: str) -> None:
        super().__init__(context)
        self._ca_pem = ca_pem
        self.store.subscribe("serviceaccounts.", self._default_object_changed)
        self.store.subscribe("configmaps.", self._default_object_changed)

    def _own_changed(self, change: Change) -> None:
        obj = change.entry.obj
        if change.type == "ADDED":
            # Not deferred: a pod can be created right after its namespace.
            self._create_default_objects(obj)
        elif is_deleting(obj):
            self.enqueue("", name_of(obj))

    def _default_object_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self.enqueue("", change.entry.obj["metadata"]["namespace"])

    def _create_default_objects(self, obj: Obj) -> None:
        name = name_of(obj)
        accounts = self.context.kind("serviceaccounts.")
        if self.store.get(accounts.key, name, "default") is None:
            account = {"metadata": {"name": "default"}}
            self.context.api.create(accounts, name, account)
        maps = self.context.kind("configmaps.")
        if self.store.get(maps.key, name, _ROOT_CA) is None:
            annotations = {"kubernetes.io/description": _ROOT_CA_DESCRIPTION}
            metadata = {"name": _ROOT_CA, "annotations": annotations}
            data = {"ca.crt": self._ca_pem}
            self.context.api.create(
                maps, name, {"metadata": metadata, "data": data}
            )

    def sync(self, obj: Obj) -> None:
        """Restore the default objects, or delete the content."""
        if not is_deleting(obj):
            self._create_default_objects(obj)
            return
        name = name_of(obj)
        for key in self.store.keys_in(name):
            for entry in self.store.entries(key, name):
                if not is_deleting(entry.obj):
                    self.context.deletion.delete(
                        entry.kind, entry.obj, BACKGROUND
                    )
        if self.store.keys_in(name):
            self.enqueue_later(obj, _RETRY_DELAY_S)
            return
        newest = self.store.get(self.key, "", name)
        if newest is not None:
            self.context.api.put(
                self.kind, {**newest, "spec": {"finalizers": []}}
            )
