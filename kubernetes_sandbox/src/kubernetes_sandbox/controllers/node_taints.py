"""The taints that say what a node is: cordoned nodes get theirs here."""

from kubernetes_sandbox import nodes
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import Obj, now


class NodeTaints(Controller):
    """Taints the nodes that are cordoned, as kubectl drain expects."""

    key = nodes.KEY

    def sync(self, obj: Obj) -> None:
        """Compare the taint with spec.unschedulable."""
        taints = list(obj["spec"].get("taints") or ())
        others = [one for one in taints if one["key"] != nodes.CORDONED]
        cordoned = bool(obj["spec"].get("unschedulable"))
        if cordoned == (len(others) < len(taints)):
            return
        if cordoned:
            taint = {
                "key": nodes.CORDONED,
                "effect": "NoSchedule",
                "timeAdded": now(),
            }
            others.append(taint)
        spec = {k: v for k, v in obj["spec"].items() if k != "taints"}
        if others:
            spec["taints"] = others
        self.plane.api.put(self.kind, {**obj, "spec": spec})
