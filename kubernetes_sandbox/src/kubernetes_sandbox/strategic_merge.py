"""Strategic merge patch."""

from typing import Any

from kubernetes_sandbox import errors
from kubernetes_sandbox.list_map_keys import SETS, merge_key
from kubernetes_sandbox.objects import clone

_DIRECTIVE = "$patch"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"


def merge(target: Any, patch: Any) -> Any:
    """Apply a strategic merge patch without changing the arguments.

    :raises ApiError: a list item has no merge key
    """
    return _merge_map(target if isinstance(target, dict) else {}, patch)


def _merge_map(target: dict[str, Any], patch: dict[str, Any]) -> Any:
    if patch.get(_DIRECTIVE) == "replace":
        return clone({k: v for k, v in patch.items() if k != _DIRECTIVE})
    if patch.get(_DIRECTIVE) == "delete":
        return {}
    result = dict(target)
    if _RETAIN in patch:
        kept = set(patch[_RETAIN])
        result = {k: v for k, v in result.items() if k in kept}
    for key, value in patch.items():
        _merge_field(result, key, value)
    _reorder(result, patch)
    return result


def _merge_field(result: dict[str, Any], key: str, value: Any) -> None:
    if key.startswith(_DELETE):
        field = key.removeprefix(_DELETE)
        removed = value or []
        result[field] = [
            i for i in result.get(field) or [] if i not in removed
        ]
    elif key.startswith("$"):
        return
    elif value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        old = result.get(key)
        result[key] = _merge_map(old if isinstance(old, dict) else {}, value)
    elif isinstance(value, list):
        result[key] = _merge_list(key, result.get(key) or [], value)
    else:
        result[key] = value


def _merge_list(field: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if field in SETS:
        return target + [item for item in patch if item not in target]
    directives = [i for i in patch if isinstance(i, dict) and _DIRECTIVE in i]
    if any(i[_DIRECTIVE] == "replace" and len(i) == 1 for i in directives):
        return list(clone([item for item in patch if item not in directives]))
    key = merge_key(field, [*patch, *target])
    if key is None:
        return list(clone(patch))
    return _merge_keyed(key, target, patch)


def _merge_keyed(key: str, target: list[Any], patch: list[Any]) -> list[Any]:
    merged = {item.get(key): item for item in target}
    fresh: list[Any] = []
    for item in patch:
        if key not in item:
            raise errors.bad_request(
                f"map: {item} does not contain declared merge key: {key}"
            )
        name = item[key]
        if item.get(_DIRECTIVE) == "delete":
            merged.pop(name, None)
        elif name in merged:
            merged[name] = _merge_map(merged[name], item)
        else:
            merged[name] = _merge_map({}, item)
            fresh.append(name)
    # The API server puts new items first, in the order of the patch.
    first = [merged[name] for name in fresh]
    return first + [v for name, v in merged.items() if name not in fresh]


def _reorder(result: dict[str, Any], patch: dict[str, Any]) -> None:
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        field = directive.removeprefix(_ORDER)
        items = result.get(field)
        if not items or not isinstance(items[0], dict):
            continue
        key = merge_key(field, items)
        if key is not None:
            wanted = [entry.get(key) for entry in order]
            result[field] = sorted(
                items, key=lambda item: _position(wanted, item.get(key))
            )


def _position(wanted: list[Any], name: Any) -> int:
    return wanted.index(name) if name in wanted else len(wanted)
