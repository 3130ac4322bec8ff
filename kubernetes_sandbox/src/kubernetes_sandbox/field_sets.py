"""Sets of fields as metadata.managedFields represents them (FieldsV1).

A set maps ``f:<field>``, ``k:<keys of a list item>`` or ``v:<item of a set>``
to the set below it; an empty set is a field that is owned as a whole.
"""

import json
from collections.abc import Iterator
from typing import Any

from kubernetes_sandbox.list_map_keys import KEY_DEFAULTS, SETS, apply_keys
from kubernetes_sandbox.objects import Obj

FieldSet = dict[str, Any]

#: Maps that are atomic: owned and replaced as a whole.
ATOMIC_MAPS = frozenset(
    {
        "selector",
        "podSelector",
        "namespaceSelector",
        "labelSelector",
        "fieldRef",
        "configMapKeyRef",
        "secretKeyRef",
        "resourceFieldRef",
        "claimRef",
        "nodeAffinity",
        "scaleTargetRef",
        "roleRef",
    }
)
_NOT_TRACKED = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "generateName",
        "selfLink",
    }
)
_TOP_LEVEL = frozenset({"apiVersion", "kind", "metadata", "status"})


def item_step(item: Any, keys: tuple[str, ...]) -> str:
    """Return the path element of an item of a list map."""
    given = {**KEY_DEFAULTS, **item}
    found = {key: given[key] for key in keys if key in given}
    return "k:" + json.dumps(found, sort_keys=True, separators=(",", ":"))


def _set_step(item: Any) -> str:
    return "v:" + json.dumps(item, separators=(",", ":"))


def _is_empty(field: str, value: Any) -> bool:
    """Return whether a value has nothing but empty list maps."""
    if isinstance(value, dict) and value:
        return all(_is_empty(name, each) for name, each in value.items())
    return value == [] and apply_keys(field, value) is not None


def from_value(value: Any, field: str = "", *, keyed: bool = True) -> FieldSet:
    """Build the set of all fields in a value."""
    if isinstance(value, dict) and field not in ATOMIC_MAPS:
        return {
            f"f:{name}": from_value(inner, name, keyed=keyed)
            for name, inner in value.items()
            if not _is_empty(name, inner)
        }
    if isinstance(value, list) and value:
        if field in SETS:
            return {_set_step(item): {} for item in value}
        keys = apply_keys(field, value) if keyed else None
        if keys is not None:
            return {
                item_step(item, keys): from_value(item, keyed=keyed)
                for item in value
            }
    return {}


def from_object(
    obj: Obj, *, keyed: bool = True, status: bool = False
) -> FieldSet:
    """Build the set of the fields of an object that can be owned."""
    fields: FieldSet = {}
    metadata = {
        name: value
        for name, value in (obj.get("metadata") or {}).items()
        if name not in _NOT_TRACKED
    }
    if metadata:
        fields["f:metadata"] = from_value(metadata)
    for name, value in obj.items():
        tracked = name not in _TOP_LEVEL or (status and name == "status")
        if tracked and not _is_empty(name, value):
            fields[f"f:{name}"] = from_value(value, name, keyed=keyed)
    return fields


def value_at(value: Any, element: str) -> Any:
    """Return the value at a path element; None if absent."""
    prefix, text = element[:2], element[2:]
    if prefix == "f:":
        return value.get(text) if isinstance(value, dict) else None
    if not isinstance(value, list):
        return None
    wanted = json.loads(text)
    if prefix == "v:":
        return wanted if wanted in value else None
    for item in value:
        if isinstance(item, dict) and all(
            item.get(key, KEY_DEFAULTS.get(key)) == found
            for key, found in wanted.items()
        ):
            return item
    return None


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the union of two sets."""
    joined = dict(one)
    for element, fields in other.items():
        joined[element] = (
            union(joined[element], fields) if element in joined else fields
        )
    return joined


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of a set that are not in another."""
    remaining: FieldSet = {}
    for element, fields in one.items():
        if element not in other:
            remaining[element] = fields
        elif fields and other[element]:
            rest = difference(fields, other[element])
            if rest:
                remaining[element] = rest
    return remaining


def dropped(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of a set that a later one does not have.

    Unlike in ``difference``, an empty map does not stand for all below it.
    """
    remaining: FieldSet = {}
    for element, fields in one.items():
        if element not in other:
            remaining[element] = fields
        elif fields and (rest := dropped(fields, other[element])):
            remaining[element] = rest
    return remaining


def existing_fields(fields: FieldSet, value: Any) -> FieldSet:
    """Return the fields of a set that a value has."""
    kept: FieldSet = {}
    for element, inner in fields.items():
        found = value_at(value, element)
        if found is None:
            continue
        rest = existing_fields(inner, found) if inner else {}
        if rest or not inner:
            kept[element] = rest
    return kept


def changed_fields(fields: FieldSet, old: Any, new: Any) -> FieldSet:
    """Return the fields of a set that differ between two values."""
    kept: FieldSet = {}
    for element, inner in fields.items():
        before, after = value_at(old, element), value_at(new, element)
        if before == after or (after == {} and isinstance(before, dict)):
            continue
        if not inner:
            kept[element] = {}
        elif rest := changed_fields(inner, before, after):
            kept[element] = rest
    return kept


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields that are in both sets."""
    kept: FieldSet = {}
    for element, fields in one.items():
        if element not in other:
            continue
        if not fields or not other[element]:
            kept[element] = fields
        elif rest := intersection(fields, other[element]):
            kept[element] = rest
    return kept


def field_paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Format the path of each field as in conflict messages."""
    for element, inner in fields.items():
        path = prefix + _shown(element)
        if inner:
            yield from field_paths(inner, path)
        else:
            yield path


def _shown(element: str) -> str:
    if element.startswith("f:"):
        return f".{element[2:]}"
    if element.startswith("v:"):
        return f"[={element[2:]}]"
    keys = json.loads(element[2:])
    text = ",".join(f"{k}={json.dumps(v)}" for k, v in sorted(keys.items()))
    return f"[{text}]"
