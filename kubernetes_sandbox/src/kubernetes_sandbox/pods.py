"""Questions about pods that several parts of the cluster ask."""

import datetime as dt

from kubernetes_sandbox.objects import (
    Obj,
    clone,
    condition,
    controller_of,
    is_deleting,
    labels_of,
    owner_reference,
)
from kubernetes_sandbox.store import encode

KEY = "pods."
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_OVER = frozenset({"Succeeded", "Failed"})
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def is_over(pod: Obj) -> bool:
    """Tell whether the pod ran to its end."""
    return pod["status"].get("phase") in _OVER


def is_active(pod: Obj) -> bool:
    """Tell whether the pod counts for its controller."""
    return not is_over(pod) and not is_deleting(pod)


def is_terminating(pod: Obj) -> bool:
    """Tell whether the pod is about to go."""
    return is_deleting(pod) and not is_over(pod)


def is_ready(pod: Obj) -> bool:
    """Tell whether the pod is Ready."""
    found = condition(pod, "Ready")
    return found is not None and found["status"] == "True"


def available_in(pod: Obj, min_ready_seconds: int) -> float:
    """Tell in how many seconds a ready pod counts as available."""
    if not min_ready_seconds:
        return 0.0
    found = condition(pod, "Ready")
    assert found is not None
    since = dt.datetime.fromisoformat(found["lastTransitionTime"])
    passed = dt.datetime.now(dt.UTC) - since
    return max(0.0, min_ready_seconds - passed.total_seconds())


def is_available(pod: Obj, min_ready_seconds: int) -> bool:
    """Tell whether the pod has been Ready for long enough."""
    return is_ready(pod) and available_in(pod, min_ready_seconds) <= 0


def template_hash(template: Obj, collisions: int = 0) -> str:
    """Make the short hash by which templates are told apart."""
    value = 2166136261
    for byte in encode(template) + (b"%d" % collisions if collisions else b""):
        value = (value ^ byte) * 16777619 % 2**32
    return "".join(_LETTERS[ord(c) % len(_LETTERS)] for c in str(value))


def from_template(owner: Obj, template: Obj) -> Obj:
    """Make a pod of a controller's template."""
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
    """Read a label; empty when absent."""
    return labels_of(pod).get(name, "")


def owner_kind(pod: Obj) -> str:
    """Tell what kind of controller the pod has; empty: none."""
    owner = controller_of(pod)
    return str(owner["kind"]) if owner else ""
