"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902)."""

from collections.abc import Sequence
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException

from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import clone


def merge(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch without changing the arguments."""
    if not isinstance(patch, dict):
        return clone(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def apply_operations(target: Any, operations: Sequence[Any]) -> Any:
    """Apply a JSON patch without changing the target.

    :raises ApiError: an operation cannot be applied
    """
    try:
        return jsonpatch.apply_patch(target, operations)
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        message = (
            "the server rejected our request due to an error in our request"
        )
        raise ApiError(422, "Invalid", message, {}) from error
