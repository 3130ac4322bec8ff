"""Predicates and helpers for pods."""

from kubernetes_sandbox.clock import seconds_since
from kubernetes_sandbox.objects import (
    Obj,
    clone,
    condition,
    is_deleting,
    labels_of,
    owner_reference,
)
from kubernetes_sandbox.store import encode

KEY = "pods."
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_FINISHED = frozenset({"Succeeded", "Failed"})
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def is_finished(pod: Obj) -> bool:
    """Return whether a pod has run to completion."""
    return pod["status"].get("phase") in _FINISHED


def is_active(pod: Obj) -> bool:
    """Return whether a pod counts for its controller."""
    return not is_finished(pod) and not is_deleting(pod)


def is_terminating(pod: Obj) -> bool:
    """Return whether a pod is terminating."""
    return is_deleting(pod) and not is_finished(pod)


def is_ready(pod: Obj) -> bool:
    """Return whether a pod is Ready."""
    found = condition(pod, "Ready")
    return found is not None and found["status"] == "True"


def available_in(pod: Obj, min_ready_seconds: int) -> float:
    """Return the seconds until a Ready pod counts as available."""
    if not min_ready_seconds:
        return 0.0
    found = condition(pod, "Ready")
    assert found is not None
    passed = seconds_since(found["lastTransitionTime"])
    return max(0.0, min_ready_seconds - passed)


def is_available(pod: Obj, min_ready_seconds: int) -> bool:
    """Return whether a pod is Ready for minReadySeconds."""
    return is_ready(pod) and available_in(pod, min_ready_seconds) <= 0


def template_hash(template: Obj, collisions: int = 0) -> str:
    """Compute the hash of a pod template."""
    value = 2166136261
    for byte in encode(template) + (b"%d" % collisions if collisions else b""):
        value = (value ^ byte) * 16777619 % 2**32
    return "".join(_LETTERS[ord(c) % len(_LETTERS)] for c in str(value))


def from_template(owner: Obj, template: Obj) -> Obj:
    """Build a pod from the template of a controller."""
    metadata = clone(template.get("metadata") or {})
    kept = {
        name: metadata[name]
        for name in ("labels", "annotations", "finalizers")
        if metadata.get(name)
    }
    kept["generateName"] = f"{owner['metadata']['name']}-"
    kept["ownerReferences"] = [owner_reference(owner)]
    return {"metadata": kept, "spec": clone(template["spec"])}


def label(pod: Obj, name: str) -> str:
    """Return a label; empty if absent."""
    return labels_of(pod).get(name, "")
