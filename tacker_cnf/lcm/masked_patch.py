"""Merge patches from clients that see values with their secrets removed."""

from collections.abc import Mapping
from typing import Any

from tacker_cnf.lcm import merge
from tacker_cnf.lcm.redaction import without_secrets


def patched(
    current: Mapping[str, Any], patch: Mapping[str, Any]
) -> dict[str, Any]:
    """Apply a merge patch in which values may be sent back as they were shown.

    A merge patch leaves attributes alone that it does not name, but it
    replaces lists as a whole: a list entry equal to a shown one keeps its
    secrets.
    """
    return merge.patched(current, _restored(current, patch))


def _restored(current: Any, requested: Any) -> Any:
    if isinstance(current, Mapping) and isinstance(requested, Mapping):
        return {n: _restored(current.get(n), v) for n, v in requested.items()}
    if not (isinstance(current, list) and isinstance(requested, list)):
        return requested
    hidden = [(without_secrets(entry), entry) for entry in current]
    return [_unmasked(hidden, entry) for entry in requested]


def _unmasked(hidden: list[tuple[Any, Any]], requested: Any) -> Any:
    for position, (shown, entry) in enumerate(hidden):
        if shown == requested:
            del hidden[position]
            return entry
    return requested
