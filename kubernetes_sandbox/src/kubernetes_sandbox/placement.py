"""Which node suits a pod, and if none does, the sentence that says why."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from kubernetes_sandbox import nodes, quantities, selectors
from kubernetes_sandbox.objects import Obj, labels_of, name_of

_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
_CORDONED = "node(s) were unschedulable"
_FULL = "Too many pods"


def term_matches(term: Obj, node: Obj) -> bool:
    """Tell whether a node satisfies one term of a node selector."""
    names = {"metadata.name": name_of(node)}
    return selectors.expressions_match(
        term.get("matchExpressions") or (), labels_of(node)
    ) and selectors.expressions_match(term.get("matchFields") or (), names)


def is_wanted(node: Obj, spec: Obj) -> bool:
    """Tell whether a pod's selector and affinity take a node."""
    labels = labels_of(node)
    chosen = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in chosen.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    terms = required.get("nodeSelectorTerms") or ()
    return any(term_matches(term, node) for term in terms)


class Load:
    """What the pods on each node ask for."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, dict[str, Decimal]]] = {}

    def count(self, node: str) -> int:
        """Count the pods on a node."""
        return len(self._pods.get(node, {}))

    def add(self, node: str, uid: str, spec: Obj) -> None:
        """Put a pod on a node."""
        asked = quantities.requests_of(spec)
        self._pods.setdefault(node, {})[uid] = asked

    def drop(self, node: str, uid: str) -> None:
        """Take a pod off a node."""
        self._pods.get(node, {}).pop(uid, None)

    def lacking(self, node: Obj, asked: dict[str, Decimal]) -> str | None:
        """Tell what a node has too little of."""
        size = node["status"].get("allocatable") or {}
        present = self._pods.get(name_of(node), {})
        if len(present) >= int(size.get("pods", nodes.DEFAULT_PODS)):
            return _FULL
        for name, amount in asked.items():
            used = sum(each.get(name, 0) for each in present.values())
            if used + amount > quantities.parse(size.get(name, 0)):
                return f"Insufficient {name}"
        return None


def obstacle(node: Obj, spec: Obj, load: Load) -> str | None:
    """Tell why a node does not take a pod; None: it does."""
    if not is_wanted(node, spec):
        return _AFFINITY
    if node["spec"].get("unschedulable") and not nodes.tolerates(
        spec, {"key": nodes.CORDONED, "effect": "NoSchedule"}
    ):
        return _CORDONED
    if against := [
        taint
        for taint in nodes.taints_against(node, spec)
        if taint["key"] != nodes.CORDONED
    ]:
        taint = against[0]
        value = taint.get("value", "")
        return f"node(s) had untolerated taint {{{taint['key']}: {value}}}"
    return load.lacking(node, quantities.requests_of(spec))


def explain(obstacles: Sequence[str]) -> str:
    """Write the scheduler's sentence."""
    total = len(obstacles)
    head = f"0/{total} nodes are available"
    if not total:
        return "no nodes available to schedule pods"
    counted = Counter(obstacles)
    told = ", ".join(
        f"{count} {why}" for why, count in sorted(counted.items())
    )
    scarce = all(w.startswith(("Insufficient", "Too many")) for w in obstacles)
    helpful = (
        f"{total} Preemption is not helpful for scheduling"
        if not scarce or any(w.startswith("Insufficient") for w in obstacles)
        else f"{total} No preemption victims found for incoming pod"
    )
    return (
        f"{head}: {told}. no new claims to deallocate, preemption:"
        f" {head}: {helpful}."
    )
