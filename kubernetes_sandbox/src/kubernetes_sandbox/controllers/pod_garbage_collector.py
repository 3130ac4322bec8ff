"""The pod garbage collector."""

from kubernetes_sandbox import nodes, pods
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.deletion import NOW
from kubernetes_sandbox.objects import Obj, name_of
from kubernetes_sandbox.store import Change


class PodGarbageCollector(Controller):
    """Deletes the pods of deleted nodes, which have no kubelet."""

    key = nodes.KEY

    def __init__(self, context: ControllerContext, delay: float) -> None:
        super().__init__(context)
        self._delay = delay

    def _own_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            node = name_of(change.entry.obj)
            self.context.timers.later(self._delay, self._collect, node)

    def sync(self, obj: Obj) -> None:
        """Do nothing: only the deletion of a node matters."""

    def _collect(self, node: str) -> None:
        if self.store.get(self.key, "", node) is not None:
            return
        for pod in tuple(self.store.objects(pods.KEY)):
            if pod["spec"].get("nodeName") == node:
                self.context.deletion.delete(
                    self.context.kind(pods.KEY), pod, NOW
                )
