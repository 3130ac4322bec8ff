"""List map keys for strategic merge patch and server-side apply.

A list is identified by its field name and, if that is ambiguous, by its items.
"""

from collections.abc import Mapping
from typing import Any

#: Field -> patchMergeKey.
_MERGE_KEYS: Mapping[str, str] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "ownerReferences": "uid",
    "conditions": "type",
    "addresses": "type",
    "secrets": "name",
    "taints": "key",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "webhooks": "name",
    "podIPs": "ip",
    "hostIPs": "ip",
}
#: Field -> x-kubernetes-list-map-keys.
_APPLY_KEYS: Mapping[str, tuple[str, ...]] = {
    **{field: (key,) for field, key in _MERGE_KEYS.items()},
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
#: Defaults of list map keys.
KEY_DEFAULTS: Mapping[str, str] = {"protocol": "TCP"}
#: Lists that are atomic for server-side apply only.
_APPLY_ATOMIC = frozenset({"taints"})
#: Lists of scalars with x-kubernetes-list-type=set.
SETS = frozenset({"finalizers"})


def _is_container_port(items: list[Any]) -> bool:
    return any(isinstance(i, dict) and "containerPort" in i for i in items)


def _holds_maps(items: list[Any]) -> bool:
    return all(isinstance(item, dict) for item in items)


def merge_key(field: str, items: list[Any]) -> str | None:
    """Return the patchMergeKey of a list; None if it is replaced."""
    if not _holds_maps(items):
        return None
    if field == "ports":
        return "containerPort" if _is_container_port(items) else "port"
    return _MERGE_KEYS.get(field)


def apply_keys(field: str, items: list[Any]) -> tuple[str, ...] | None:
    """Return the list map keys of a list; None if it is atomic."""
    if field in _APPLY_ATOMIC or not _holds_maps(items):
        return None
    if field == "ports":
        first = "containerPort" if _is_container_port(items) else "port"
        return (first, "protocol")
    return _APPLY_KEYS.get(field)
