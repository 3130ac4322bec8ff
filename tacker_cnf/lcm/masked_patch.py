"""Patches by people who were not shown what is secret."""

from collections.abc import Mapping
from typing import Any

from tacker_cnf.lcm import merge
from tacker_cnf.lcm.redaction import without_secrets


def patched(
    current: Mapping[str, Any], patch: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge a patch, so that what was shown may be sent back.

    A merge patch leaves the attributes alone that it does not have, but has
    lists whole: an entry that is as it was shown stays as it is.
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
