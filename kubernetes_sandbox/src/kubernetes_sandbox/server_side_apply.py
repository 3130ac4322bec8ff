"""Server-side apply: merge by field ownership, conflicts, force."""

from typing import Any

import msgspec

from kubernetes_sandbox import field_sets, managed_fields
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.field_sets import FieldSet
from kubernetes_sandbox.list_map_keys import SETS, apply_keys
from kubernetes_sandbox.managed_fields import APPLY, UPDATE
from kubernetes_sandbox.objects import Obj, clone

_Conflict = tuple[Obj, FieldSet]
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def merged(
    live: Any, config: Any, field: str = "", *, keyed: bool = True
) -> Any:
    """Merge an applied configuration into a live value."""
    if isinstance(live, dict) and isinstance(config, dict):
        if field in field_sets.ATOMIC_MAPS:
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
    result = {field_sets.item_step(item, keys): item for item in live}
    for item in config:
        element = field_sets.item_step(item, keys)
        result[element] = merged(result.get(element), item, keyed=keyed)
    return list(result.values())


def removed(value: Any, removed_fields: FieldSet, owned: FieldSet) -> Any:
    """Copy a value without the given fields.

    :param owned: fields that a manager still owns; a list item of which no
        field is owned is removed as a whole, defaulted fields included
    """
    if isinstance(value, dict):
        result = dict(value)
        for element, inner in removed_fields.items():
            name = element[2:]
            if name not in result:
                continue
            if inner:
                result[name] = removed(
                    result[name], inner, owned.get(element) or {}
                )
            else:
                del result[name]
        return result
    if isinstance(value, list):
        return _removed_items(value, removed_fields, owned)
    return value


def _removed_items(
    items: list[Any], removed_fields: FieldSet, owned: FieldSet
) -> list[Any]:
    result = list(items)
    for element, inner in removed_fields.items():
        found = field_sets.value_at(result, element)
        if found is None:
            continue
        at = result.index(found)
        if inner and element in owned:
            result[at] = removed(found, inner, owned[element])
        else:
            del result[at]
    return result


def _conflicts(
    live: Obj, config: Obj, wanted: FieldSet, other_entries: list[Obj]
) -> list[_Conflict]:
    different = field_sets.changed_fields(wanted, live, config)
    found = []
    for entry in other_entries:
        shared = field_sets.intersection(
            different, entry.get("fieldsV1") or {}
        )
        if shared:
            found.append((entry, shared))
    return found


def _describe(entry: Obj) -> str:
    shown = f'"{entry["manager"]}"'
    if entry.get("subresource"):
        shown += f' with subresource "{entry["subresource"]}"'
    if entry["operation"] == UPDATE:
        shown += f" using {entry['apiVersion']} at {entry['time']}"
    return shown


def _conflict_error(conflicts: list[_Conflict]) -> ApiError:
    causes = []
    owners = []
    for entry, fields in conflicts:
        field_paths = sorted(field_sets.field_paths(fields))
        owners.append((_describe(entry), field_paths))
        causes += [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_describe(entry)}",
                "field": path,
            }
            for path in field_paths
        ]
    if len(causes) == 1:
        text = f"1 conflict: conflict with {owners[0][0]}: {owners[0][1][0]}"
    else:
        parts = [
            f"conflicts with {owner}:"
            + "".join(f"\n- {path}" for path in field_paths)
            for owner, field_paths in owners
        ]
        text = f"{len(causes)} conflicts: " + "\n".join(parts)
    return ApiError(
        409, "Conflict", f"Apply failed with {text}", {"causes": causes}
    )


def apply(
    live: Obj, config: Obj, manager: str, *, force: bool, keyed: bool
) -> Obj:
    """Compute the object that results from an applied configuration.

    ``live`` has only metadata if the object does not exist yet.

    :raises ApiError: another manager owns a field with another value
    """
    entries = managed_fields.entries_of(live)
    previous: FieldSet = {}
    other_entries = []
    for entry in entries:
        if managed_fields.is_entry_of(entry, manager, APPLY, ""):
            previous = entry["fieldsV1"]
        else:
            other_entries.append(entry)
    wanted = field_sets.from_object(config, keyed=keyed)
    conflicts = _conflicts(live, config, wanted, other_entries)
    if conflicts and not force:
        raise _conflict_error(conflicts)
    for _, fields in conflicts:
        other_entries = managed_fields.without(other_entries, fields)
    result = merged(live, config, keyed=keyed)
    result["metadata"] = _metadata(live, config)
    if manager == "kubectl":
        _update_last_applied(result["metadata"], config)
    removed_fields = field_sets.dropped(previous, wanted)
    owned = wanted
    for entry in other_entries:
        removed_fields = field_sets.difference(
            removed_fields, entry["fieldsV1"]
        )
        owned = field_sets.union(owned, entry["fieldsV1"])
    result = removed(result, removed_fields, owned)
    entry = managed_fields.new_entry(result, manager, APPLY, "", wanted)
    kept = managed_fields.existing_entries(other_entries, result)
    result["metadata"]["managedFields"] = [entry, *kept]
    return dict(result)


def _update_last_applied(metadata: Obj, config: Obj) -> None:
    """Update the annotation of client-side apply, if there is one.

    Only ``kubectl`` is expected to use both kinds of apply.
    """
    annotations = metadata.get("annotations") or {}
    if annotations.get(_LAST_APPLIED):
        applied = msgspec.json.encode(config, order="sorted").decode() + "\n"
        metadata["annotations"] = {**annotations, _LAST_APPLIED: applied}


def _metadata(live: Obj, config: Obj) -> Obj:
    given = {
        name: value
        for name, value in config["metadata"].items()
        if name != "managedFields"
    }
    return dict(merged(live["metadata"], given))
