"""Eviction of pods by NoExecute taints."""

from kubernetes_sandbox import nodes, pods
from kubernetes_sandbox.clock import seconds_since
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import (
    Obj,
    is_deleting,
    name_of,
    namespace_of,
)
from kubernetes_sandbox.store import Change


class TaintEviction(Controller):
    """Deletes the pods that do not tolerate a taint of their node."""

    key = nodes.KEY
    children = (pods.KEY,)

    def _child_changed(self, change: Change) -> None:
        node = change.entry.obj["spec"].get("nodeName")
        if node and change.type != "DELETED":
            self.enqueue("", node)

    def sync(self, obj: Obj) -> None:
        """Delete the pods of a node whose toleration has expired."""
        taints = [
            taint
            for taint in obj["spec"].get("taints") or ()
            if taint["effect"] == "NoExecute"
        ]
        if not taints:
            return
        remaining = []
        for pod in tuple(self.store.objects(pods.KEY)):
            if pod["spec"].get("nodeName") != name_of(obj) or is_deleting(pod):
                continue
            seconds = min(_seconds(pod, taint) for taint in taints)
            if seconds <= 0:
                self._evict(pod)
            else:
                remaining.append(seconds)
        if remaining and min(remaining) != float("inf"):
            self.enqueue_later(obj, min(remaining))

    def _evict(self, pod: Obj) -> None:
        place = f"{namespace_of(pod)}/{name_of(pod)}"
        self.context.events.record(
            pod,
            "TaintManagerEviction",
            f"Marking for deletion Pod {place}",
            "taint-eviction-controller",
        )
        self.context.deletion.delete(self.context.kind(pods.KEY), pod)


def _seconds(pod: Obj, taint: Obj) -> float:
    """Return the seconds for which a pod still tolerates a taint."""
    borne = [
        float(one.get("tolerationSeconds", "inf"))
        for one in pod["spec"].get("tolerations") or ()
        if nodes.tolerates({"tolerations": [one]}, taint)
    ]
    if not borne:
        return 0.0
    return min(borne) - seconds_since(taint["timeAdded"])
