"""Pods whose node is no longer there."""

from kubernetes_sandbox import nodes, pods
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.deletion import NOW
from kubernetes_sandbox.objects import Obj, name_of
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change


class OrphanedPods(Controller):
    """Deletes the pods of a node that goes; its kubelet will not."""

    key = nodes.KEY

    def __init__(self, plane: Plane, delay: float) -> None:
        super().__init__(plane)
        self._delay = delay

    def _own_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            node = name_of(change.entry.obj)
            self.plane.timers.later(self._delay, self._collect, node)

    def sync(self, obj: Obj) -> None:
        """Do nothing: a node that is there looks after its pods."""

    def _collect(self, node: str) -> None:
        if self.store.get(self.key, "", node) is not None:
            return
        for pod in tuple(self.store.objects(pods.KEY)):
            if pod["spec"].get("nodeName") == node:
                self.plane.deletion.delete(self.plane.kind(pods.KEY), pod, NOW)
