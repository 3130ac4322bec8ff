"""The taint of cordoned nodes."""

from kubernetes_sandbox import nodes
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import Obj, now


class NodeTaints(Controller):
    """Taints cordoned nodes, as the node lifecycle controller does."""

    key = nodes.KEY

    def sync(self, obj: Obj) -> None:
        """Add or remove the taint as spec.unschedulable requires."""
        taints = list(obj["spec"].get("taints") or ())
        others = [one for one in taints if one["key"] != nodes.UNSCHEDULABLE]
        cordoned = bool(obj["spec"].get("unschedulable"))
        if cordoned == (len(others) < len(taints)):
            return
        if cordoned:
            taint = {
                "key": nodes.UNSCHEDULABLE,
                "effect": "NoSchedule",
                "timeAdded": now(),
            }
            others.append(taint)
        spec = {k: v for k, v in obj["spec"].items() if k != "taints"}
        if others:
            spec["taints"] = others
        self.context.api.put(self.kind, {**obj, "spec": spec})
