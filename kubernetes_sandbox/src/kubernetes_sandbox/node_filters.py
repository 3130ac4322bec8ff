"""The filters of the scheduler, and the message if no node passes."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from kubernetes_sandbox import nodes, quantities, selectors
from kubernetes_sandbox.objects import Obj, labels_of, name_of

_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
_CORDONED = "node(s) were unschedulable"
_FULL = "Too many pods"


def term_matches(term: Obj, node: Obj) -> bool:
    """Return whether a node matches a term of a node selector."""
    names = {"metadata.name": name_of(node)}
    return selectors.expressions_match(
        term.get("matchExpressions") or (), labels_of(node)
    ) and selectors.expressions_match(term.get("matchFields") or (), names)


def matches_node_affinity(node: Obj, spec: Obj) -> bool:
    """Return whether a node matches nodeSelector and node affinity."""
    labels = labels_of(node)
    matches_selector = spec.get("nodeSelector") or {}
    if any(
        labels.get(key) != value for key, value in matches_selector.items()
    ):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    terms = required.get("nodeSelectorTerms") or ()
    return any(term_matches(term, node) for term in terms)


class NodeUsage:
    """The resource requests of the pods on each node."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, dict[str, Decimal]]] = {}

    def count(self, node: str) -> int:
        """Return the number of pods on a node."""
        return len(self._pods.get(node, {}))

    def add(self, node: str, uid: str, spec: Obj) -> None:
        """Add a pod to a node."""
        requested = quantities.pod_requests(spec)
        self._pods.setdefault(node, {})[uid] = requested

    def drop(self, node: str, uid: str) -> None:
        """Remove a pod from a node."""
        self._pods.get(node, {}).pop(uid, None)

    def insufficient_resource(
        self, node: Obj, requested: dict[str, Decimal]
    ) -> str | None:
        """Return which resource of a node is insufficient."""
        size = node["status"].get("allocatable") or {}
        present = self._pods.get(name_of(node), {})
        if len(present) >= quantities.parse(
            size.get("pods", nodes.DEFAULT_PODS)
        ):
            return _FULL
        for name, amount in requested.items():
            used = sum(each.get(name, 0) for each in present.values())
            if used + amount > quantities.parse(size.get(name, 0)):
                return f"Insufficient {name}"
        return None


def filter_failure(node: Obj, spec: Obj, load: NodeUsage) -> str | None:
    """Return why a node is filtered out; None if it passes."""
    if not matches_node_affinity(node, spec):
        return _AFFINITY
    if node["spec"].get("unschedulable") and not nodes.tolerates(
        spec, {"key": nodes.UNSCHEDULABLE, "effect": "NoSchedule"}
    ):
        return _CORDONED
    if taints := [
        taint
        for taint in nodes.untolerated_taints(node, spec)
        if taint["key"] != nodes.UNSCHEDULABLE
    ]:
        taint = taints[0]
        value = taint.get("value", "")
        return f"node(s) had untolerated taint {{{taint['key']}: {value}}}"
    return load.insufficient_resource(node, quantities.pod_requests(spec))


def unschedulable_message(failures: Sequence[str]) -> str:
    """Format the message of an unschedulable pod."""
    total = len(failures)
    head = f"0/{total} nodes are available"
    if not total:
        return "no nodes available to schedule pods"
    counted = Counter(failures)
    reasons = ", ".join(
        f"{count} {why}" for why, count in sorted(counted.items())
    )
    is_resource_shortage = all(
        w.startswith(("Insufficient", "Too many")) for w in failures
    )
    preemption = (
        f"{total} Preemption is not helpful for scheduling"
        if not is_resource_shortage
        or any(w.startswith("Insufficient") for w in failures)
        else f"{total} No preemption victims found for incoming pod"
    )
    return (
        f"{head}: {reasons}. no new claims to deallocate, preemption:"
        f" {head}: {preemption}."
    )
