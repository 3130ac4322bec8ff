"""Sets of fields, in the form metadata.managedFields keeps them (FieldsV1).

A tree maps ``f:<field>``, ``k:<keys of a list item>`` or ``v:<item of a
set>`` to the tree below; an empty tree is a field that is owned whole.
"""

import json
from collections.abc import Iterator
from typing import Any

from kubernetes_sandbox.list_keys import KEY_DEFAULTS, SETS, apply_keys
from kubernetes_sandbox.objects import Obj

Tree = dict[str, Any]

#: Objects that are owned and replaced whole.
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
_HEAD = frozenset({"apiVersion", "kind", "metadata", "status"})


def item_step(item: Any, keys: tuple[str, ...]) -> str:
    """Name an item of a list that is a map by keys."""
    given = {**KEY_DEFAULTS, **item}
    found = {key: given[key] for key in keys if key in given}
    return "k:" + json.dumps(found, sort_keys=True, separators=(",", ":"))


def _set_step(item: Any) -> str:
    return "v:" + json.dumps(item, separators=(",", ":"))


def _is_empty_map(field: str, value: Any) -> bool:
    """Tell whether this holds nothing but lists by keys without an item."""
    if isinstance(value, dict) and value:
        return all(_is_empty_map(name, each) for name, each in value.items())
    return value == [] and apply_keys(field, value) is not None


def below(value: Any, field: str = "", *, keyed: bool = True) -> Tree:
    """Build the tree of everything in a value."""
    if isinstance(value, dict) and field not in ATOMIC_MAPS:
        return {
            f"f:{name}": below(inner, name, keyed=keyed)
            for name, inner in value.items()
            if not _is_empty_map(name, inner)
        }
    if isinstance(value, list) and value:
        if field in SETS:
            return {_set_step(item): {} for item in value}
        keys = apply_keys(field, value) if keyed else None
        if keys is not None:
            return {
                item_step(item, keys): below(item, keyed=keyed)
                for item in value
            }
    return {}


def of_object(obj: Obj, *, keyed: bool = True, status: bool = False) -> Tree:
    """Build the tree of what somebody may own of an object."""
    tree: Tree = {}
    metadata = {
        name: value
        for name, value in (obj.get("metadata") or {}).items()
        if name not in _NOT_TRACKED
    }
    if metadata:
        tree["f:metadata"] = below(metadata)
    for name, value in obj.items():
        tracked = name not in _HEAD or (status and name == "status")
        if tracked and not _is_empty_map(name, value):
            tree[f"f:{name}"] = below(value, name, keyed=keyed)
    return tree


def child(value: Any, step: str) -> Any:
    """Follow one step of a tree into a value; None when it ends."""
    mark, told = step[:2], step[2:]
    if mark == "f:":
        return value.get(told) if isinstance(value, dict) else None
    if not isinstance(value, list):
        return None
    wanted = json.loads(told)
    if mark == "v:":
        return wanted if wanted in value else None
    for item in value:
        if isinstance(item, dict) and all(
            item.get(key, KEY_DEFAULTS.get(key)) == found
            for key, found in wanted.items()
        ):
            return item
    return None


def union(one: Tree, other: Tree) -> Tree:
    """Join two trees."""
    joined = dict(one)
    for step, tree in other.items():
        joined[step] = union(joined[step], tree) if step in joined else tree
    return joined


def difference(one: Tree, other: Tree) -> Tree:
    """Take the fields of another tree out of one."""
    left: Tree = {}
    for step, tree in one.items():
        if step not in other:
            left[step] = tree
        elif tree and other[step]:
            rest = difference(tree, other[step])
            if rest:
                left[step] = rest
    return left


def existing(tree: Tree, value: Any) -> Tree:
    """Keep of a tree what a value still has."""
    kept: Tree = {}
    for step, inner in tree.items():
        found = child(value, step)
        if found is None:
            continue
        rest = existing(inner, found) if inner else {}
        if rest or not inner:
            kept[step] = rest
    return kept


def changed(tree: Tree, old: Any, new: Any) -> Tree:
    """Keep of a tree what differs between two values."""
    kept: Tree = {}
    for step, inner in tree.items():
        before, after = child(old, step), child(new, step)
        if before == after or (after == {} and isinstance(before, dict)):
            continue
        if not inner:
            kept[step] = {}
        elif rest := changed(inner, before, after):
            kept[step] = rest
    return kept


def overlap(one: Tree, other: Tree) -> Tree:
    """Keep the fields that both trees have."""
    kept: Tree = {}
    for step, tree in one.items():
        if step not in other:
            continue
        if not tree or not other[step]:
            kept[step] = tree
        elif rest := overlap(tree, other[step]):
            kept[step] = rest
    return kept


def paths(tree: Tree, prefix: str = "") -> Iterator[str]:
    """Write each field as the messages of the server do."""
    for step, inner in tree.items():
        path = prefix + _shown(step)
        if inner:
            yield from paths(inner, path)
        else:
            yield path


def _shown(step: str) -> str:
    if step.startswith("f:"):
        return f".{step[2:]}"
    if step.startswith("v:"):
        return f"[={step[2:]}]"
    keys = json.loads(step[2:])
    told = ",".join(f"{k}={json.dumps(v)}" for k, v in sorted(keys.items()))
    return f"[{told}]"
