"""JSON merge patch (RFC 7396)."""

from collections.abc import Mapping
from typing import Any


def patched(
    value: Mapping[str, Any], patch: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a value with a patch applied; null deletes an attribute."""
    merged = dict(value)
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        elif isinstance(change, Mapping):
            old = merged.get(name)
            merged[name] = patched(
                old if isinstance(old, Mapping) else {}, change
            )
        else:
            merged[name] = change
    return merged
