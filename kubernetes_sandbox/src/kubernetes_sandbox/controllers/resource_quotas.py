"""The ResourceQuota controller."""

from kubernetes_sandbox import pods, quota
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import Obj, name_of, namespace_of
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
    """Keeps status.used of the quotas up to date."""

    key = quota.QUOTAS

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        for key in _COUNTED:
            self.store.subscribe(key, self._counted_changed)

    def _counted_changed(self, change: Change) -> None:
        namespace = namespace_of(change.entry.obj)
        if change.type == "MODIFIED" and not pods.is_finished(
            {"status": {}, **change.entry.obj}
        ):
            return
        if self.store.count(self.key, namespace):
            for one in self.store.objects(self.key, namespace):
                self.enqueue(namespace, name_of(one))

    def sync(self, obj: Obj) -> None:
        """Compute the usage of a quota."""
        hard = dict(obj["spec"].get("hard") or {})
        used = quota.usage(self.store, obj)
        self.set_status(obj, {"hard": hard, "used": used})
