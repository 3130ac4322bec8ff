"""ResourceQuotas: what is used of them."""

from kubernetes_sandbox import pods, quota
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import Obj, name_of, namespace_of
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change

_COUNTED = (
    pods.KEY,
    "services.",
    "configmaps.",
    "secrets.",
    "persistentvolumeclaims.",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "jobs.batch",
)


class Quotas(Controller):
    """Keeps status.used true."""

    key = quota.QUOTAS

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane)
        for key in _COUNTED:
            self.store.subscribe(key, self._counted_changed)

    def _counted_changed(self, change: Change) -> None:
        namespace = namespace_of(change.entry.obj)
        if change.type == "MODIFIED" and not pods.is_over(
            {"status": {}, **change.entry.obj}
        ):
            return
        if self.store.count(self.key, namespace):
            for one in self.store.objects(self.key, namespace):
                self.enqueue(namespace, name_of(one))

    def sync(self, obj: Obj) -> None:
        """Count what a quota limits."""
        hard = dict(obj["spec"].get("hard") or {})
        used = quota.usage(self.store, obj)
        self.set_status(obj, {"hard": hard, "used": used})
