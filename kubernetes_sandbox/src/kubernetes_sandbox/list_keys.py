"""Which lists are maps by a key, for strategic merge and server-side apply.

A list is known by the name of the field it lies in, and, where a name
means two things, of the object around it.
"""

from collections.abc import Mapping
from typing import Any

#: Field -> the key by which a strategic merge patch finds an item.
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
#: Field -> the keys that together name an item for server-side apply.
_APPLY_KEYS: Mapping[str, tuple[str, ...]] = {
    **{field: (key,) for field, key in _MERGE_KEYS.items()},
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
#: What a key means where an item does not give it.
KEY_DEFAULTS: Mapping[str, str] = {"protocol": "TCP"}
#: Lists that server-side apply replaces whole though a patch merges them.
_APPLY_ATOMIC = frozenset({"taints"})
#: Lists of scalars that are sets.
SETS = frozenset({"finalizers"})


def _is_container_port(items: list[Any]) -> bool:
    return any(isinstance(i, dict) and "containerPort" in i for i in items)


def _holds_maps(items: list[Any]) -> bool:
    return all(isinstance(item, dict) for item in items)


def merge_key(field: str, items: list[Any]) -> str | None:
    """Tell the key of a list for a strategic merge patch."""
    if not _holds_maps(items):
        return None
    if field == "ports":
        return "containerPort" if _is_container_port(items) else "port"
    return _MERGE_KEYS.get(field)


def apply_keys(field: str, items: list[Any]) -> tuple[str, ...] | None:
    """Tell the keys of a list for server-side apply; None: it is atomic."""
    if field in _APPLY_ATOMIC or not _holds_maps(items):
        return None
    if field == "ports":
        first = "containerPort" if _is_container_port(items) else "port"
        return (first, "protocol")
    return _APPLY_KEYS.get(field)
