"""The scale subresource."""

from typing import Any

from kubernetes_sandbox import errors, selectors
from kubernetes_sandbox.objects import Obj, name_of

_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
)


def of(obj: Obj) -> Obj:
    """Return the Scale of an object."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metadata = obj["metadata"]
    shown: Obj = {"replicas": status.get("replicas", 0)}
    selector = spec.get("selector") or {}
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    if selector_text := selectors.as_text(selector):
        shown["selector"] = selector_text
    replicas = spec.get("replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {k: metadata[k] for k in _METADATA if k in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": shown,
    }


def scaled(obj: Obj, scale: Obj) -> Obj:
    """Copy an object with the replicas of a Scale.

    :raises ApiError: 400 or 422, the number is not valid
    """
    wanted: Any = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        raise errors.bad_request(
            'Scale in version "v1" cannot be handled as a Scale: json: cannot'
            " unmarshal into Go struct field ScaleSpec.spec.replicas of type"
            " int32"
        )
    if wanted < 0:
        cause = errors.invalid_value(
            "spec.replicas", wanted, "must be greater than or equal to 0"
        )
        raise errors.invalid("Scale", "autoscaling", name_of(obj), [cause])
    given = scale.get("metadata") or {}
    metadata = {
        **obj["metadata"],
        "resourceVersion": given.get("resourceVersion", ""),
    }
    spec = {**(obj.get("spec") or {}), "replicas": wanted}
    return {**obj, "metadata": metadata, "spec": spec}
