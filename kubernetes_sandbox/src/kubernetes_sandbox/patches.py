"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902)."""

from collections.abc import Sequence
from typing import Any

from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import clone


def merge(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch; neither argument is changed."""
    if not isinstance(patch, dict):
        return clone(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def _refused(why: str) -> ApiError:
    return ApiError(
        422,
        "Invalid",
        f"the server rejected our request due to an error in our request: {why}",
        {},
    )


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise _refused(f"invalid pointer {pointer!r}")
    parts = pointer.split("/")[1:]
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _index(items: list[Any], step: str, *, adding: bool = False) -> int:
    if adding and step == "-":
        return len(items)
    last = len(items) if adding else len(items) - 1
    if not step.isdigit() or int(step) > last:
        raise _refused(f"no such index {step}")
    return int(step)


def _walk(document: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(document, list):
            document = document[_index(document, step)]
        elif isinstance(document, dict) and step in document:
            document = document[step]
        else:
            raise _refused(f"missing path /{'/'.join(steps)}")
    return document


def _add(document: Any, steps: Sequence[str], value: Any) -> Any:
    if not steps:
        return value
    parent = _walk(document, steps[:-1])
    if isinstance(parent, list):
        parent.insert(_index(parent, steps[-1], adding=True), value)
    elif isinstance(parent, dict):
        parent[steps[-1]] = value
    else:
        raise _refused(f"missing path /{'/'.join(steps)}")
    return document


def _remove(document: Any, steps: Sequence[str]) -> Any:
    parent = _walk(document, steps[:-1])
    _walk(parent, steps[-1:])
    if isinstance(parent, list):
        del parent[_index(parent, steps[-1])]
    else:
        del parent[steps[-1]]
    return document


def _step(document: Any, operation: dict[str, Any]) -> Any:
    path = _steps(operation.get("path", ""))
    match operation.get("op"):
        case "add":
            return _add(document, path, clone(operation.get("value")))
        case "remove":
            return _remove(document, path)
        case "replace":
            _walk(document, path)
            value = clone(operation.get("value"))
            return _add(_remove(document, path), path, value)
        case "move":
            source = _steps(operation["from"])
            value = _walk(document, source)
            return _add(_remove(document, source), path, value)
        case "copy":
            value = clone(_walk(document, _steps(operation["from"])))
            return _add(document, path, value)
        case "test":
            if _walk(document, path) != operation.get("value"):
                raise _refused(f"testing value {operation['path']} failed")
            return document
    raise _refused(f"unexpected kind: {operation.get('op')}")


def apply_operations(target: Any, operations: Sequence[Any]) -> Any:
    """Apply a JSON patch; the target is not changed.

    :raises ApiError: an operation does not fit the document
    """
    document = clone(target)
    for operation in operations:
        document = _step(document, operation)
    return document
