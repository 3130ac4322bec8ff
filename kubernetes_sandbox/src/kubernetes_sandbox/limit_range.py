"""LimitRange: default requests and limits, minima, maxima and ratios."""

from collections.abc import Iterator
from typing import Any

from kubernetes_sandbox import errors, quantities
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, name_of, namespace_of
from kubernetes_sandbox.store import Store

_KEY = "limitranges."
_ANNOTATION = "kubernetes.io/limit-ranger"


def _items(store: Store, obj: Obj, item_type: str) -> Iterator[Obj]:
    namespace = namespace_of(obj)
    if not namespace or not store.count(_KEY, namespace):
        return
    for limit_range in store.objects(_KEY, namespace):
        for item in limit_range["spec"].get("limits") or ():
            if item["type"] == item_type:
                yield item


def set_defaults(store: Store, pod: Obj) -> None:
    """Set the default requests and limits of the containers of a pod."""
    for item in _items(store, pod, "Container"):
        changes = []
        for container in pod["spec"].get("containers") or ():
            for part, defaults in (
                ("requests", item.get("defaultRequest")),
                ("limits", item.get("default")),
            ):
                changes += _set_default(container, part, defaults or {})
        if changes:
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations[_ANNOTATION] = (
                f"LimitRanger plugin set: {'; '.join(changes)}"
            )


def _set_default(container: Obj, part: str, defaults: Obj) -> list[str]:
    amounts = dict(container["resources"].get(part) or {})
    missing = {k: v for k, v in defaults.items() if k not in amounts}
    if missing:
        container["resources"][part] = {**amounts, **missing}
    return [
        f"{name} {part[:-1]} for container {container['name']}"
        for name in missing
    ]


def check(store: Store, kind: Kind, obj: Obj) -> None:
    """Reject an object that violates a LimitRange of its namespace.

    :raises ApiError: 403
    """
    faults: list[str] = []
    if kind.key == "pods.":
        for item in _items(store, obj, "Container"):
            for container in obj["spec"]["containers"]:
                faults += _faults(item, "Container", container["resources"])
    elif kind.key == "persistentvolumeclaims.":
        for item in _items(store, obj, "PersistentVolumeClaim"):
            resources = {"requests": obj["spec"]["resources"]["requests"]}
            faults += _faults(item, "PersistentVolumeClaim", resources)
    if faults:
        text = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
        raise errors.forbidden(kind.plural, kind.group, name_of(obj), text)


def _faults(item: Obj, item_type: str, resources: Obj) -> Iterator[str]:
    requests = resources.get("requests") or {}
    limits = resources.get("limits") or {}
    for name, least in (item.get("min") or {}).items():
        yield from _bound(item_type, name, "min", least, requests, limits)
    for name, most in (item.get("max") or {}).items():
        yield from _bound(item_type, name, "max", most, requests, limits)
    for name, ratio in (item.get("maxLimitRequestRatio") or {}).items():
        if name in limits and name in requests:
            found = quantities.parse(limits[name]) / quantities.parse(
                requests[name]
            )
            if found > quantities.parse(ratio):
                yield (
                    f"{name} max limit to request ratio per {item_type} is"
                    f" {ratio}, but provided ratio is {found:.6f}"
                )


def _bound(
    item_type: str,
    name: str,
    side: str,
    bound: Any,
    requests: Obj,
    limits: Obj,
) -> Iterator[str]:
    limit = quantities.parse(bound)
    parts = [("request", requests), ("limit", limits)]
    for part, amounts in parts if side == "min" else reversed(parts):
        if name not in amounts:
            continue
        amount = quantities.parse(amounts[name])
        if (amount < limit) if side == "min" else (amount > limit):
            yield (
                f"{side}imum {name} usage per {item_type} is {bound},"
                f" but {part} is {amounts[name]}"
            )
            return
