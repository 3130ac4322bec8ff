"""Server-side apply: merge by ownership, conflicts, force."""

from typing import Any

from kubernetes_sandbox import field_trees, managed_fields
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.field_trees import Tree
from kubernetes_sandbox.list_keys import SETS, apply_keys
from kubernetes_sandbox.managed_fields import APPLY, UPDATE
from kubernetes_sandbox.objects import Obj, clone

_Conflict = tuple[Obj, Tree]


def merged(
    live: Any, config: Any, field: str = "", *, keyed: bool = True
) -> Any:
    """Lay an applied configuration over a live value."""
    if isinstance(live, dict) and isinstance(config, dict):
        if field in field_trees.ATOMIC_MAPS:
            return clone(config)
        result = dict(live)
        for name, value in config.items():
            result[name] = merged(live.get(name), value, name, keyed=keyed)
        return result
    if isinstance(live, list) and isinstance(config, list):
        return _merged_list(live, config, field, keyed=keyed)
    return clone(config)


def _merged_list(
    live: list[Any], config: list[Any], field: str, *, keyed: bool
) -> list[Any]:
    if field in SETS:
        return live + [item for item in config if item not in live]
    keys = apply_keys(field, [*config, *live]) if keyed else None
    if keys is None:
        return list(clone(config))
    result = {field_trees.item_step(item, keys): item for item in live}
    for item in config:
        step = field_trees.item_step(item, keys)
        result[step] = merged(result.get(step), item, keyed=keyed)
    return list(result.values())


def removed(value: Any, gone: Tree, kept: Tree) -> Any:
    """Copy a value without the fields of a tree.

    :param kept: what somebody owns still; an item of which nobody owns
        anything goes whole, with what the server filled in
    """
    if isinstance(value, dict):
        result = dict(value)
        for step, inner in gone.items():
            name = step[2:]
            if name not in result:
                continue
            if inner:
                result[name] = removed(
                    result[name], inner, kept.get(step) or {}
                )
            else:
                del result[name]
        return result
    if isinstance(value, list):
        return _removed_items(value, gone, kept)
    return value


def _removed_items(items: list[Any], gone: Tree, kept: Tree) -> list[Any]:
    result = list(items)
    for step, inner in gone.items():
        found = field_trees.child(result, step)
        if found is None:
            continue
        at = result.index(found)
        if inner and step in kept:
            result[at] = removed(found, inner, kept[step])
        else:
            del result[at]
    return result


def _conflicts(
    live: Obj, config: Obj, wanted: Tree, others: list[Obj]
) -> list[_Conflict]:
    different = field_trees.changed(wanted, live, config)
    found = []
    for entry in others:
        shared = field_trees.overlap(different, entry.get("fieldsV1") or {})
        if shared:
            found.append((entry, shared))
    return found


def _shown(entry: Obj) -> str:
    shown = f'"{entry["manager"]}"'
    if entry.get("subresource"):
        shown += f' with subresource "{entry["subresource"]}"'
    if entry["operation"] == UPDATE:
        shown += f" using {entry['apiVersion']} at {entry['time']}"
    return shown


def _refusal(conflicts: list[_Conflict]) -> ApiError:
    causes = []
    told = []
    for entry, tree in conflicts:
        paths = sorted(field_trees.paths(tree))
        told.append((_shown(entry), paths))
        causes += [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_shown(entry)}",
                "field": path,
            }
            for path in paths
        ]
    if len(causes) == 1:
        text = f"1 conflict: conflict with {told[0][0]}: {told[0][1][0]}"
    else:
        parts = [
            f"conflicts with {who}:" + "".join(f"\n- {path}" for path in paths)
            for who, paths in told
        ]
        text = f"{len(causes)} conflicts: " + "\n".join(parts)
    return ApiError(
        409, "Conflict", f"Apply failed with {text}", {"causes": causes}
    )


def apply(
    live: Obj, config: Obj, manager: str, *, force: bool, keyed: bool
) -> Obj:
    """Work out the object that an applied configuration makes.

    ``live`` may be an object with metadata only: then it is created.

    :raises ApiError: another manager owns a field with another value
    """
    entries = managed_fields.entries_of(live)
    mine: Tree = {}
    others = []
    for entry in entries:
        if managed_fields.is_of(entry, manager, APPLY, ""):
            mine = entry["fieldsV1"]
        else:
            others.append(entry)
    wanted = field_trees.of_object(config, keyed=keyed)
    conflicts = _conflicts(live, config, wanted, others)
    if conflicts and not force:
        raise _refusal(conflicts)
    for _, tree in conflicts:
        others = managed_fields.without(others, tree)
    result = merged(live, config, keyed=keyed)
    result["metadata"] = _metadata(live, config)
    gone = field_trees.difference(mine, wanted)
    owned = wanted
    for entry in others:
        gone = field_trees.difference(gone, entry["fieldsV1"])
        owned = field_trees.union(owned, entry["fieldsV1"])
    result = removed(result, gone, owned)
    entry = managed_fields.new_entry(result, manager, APPLY, "", wanted)
    kept = managed_fields.still_there(others, result)
    result["metadata"]["managedFields"] = [entry, *kept]
    return dict(result)


def _metadata(live: Obj, config: Obj) -> Obj:
    given = {
        name: value
        for name, value in config["metadata"].items()
        if name != "managedFields"
    }
    return dict(merged(live["metadata"], given))
