"""Patches by people who were not shown what is secret."""

from collections.abc import Mapping
from typing import Any

from tacker_cnf.lcm import merge
from tacker_cnf.lcm.redaction import without_secrets


def patched(
    known: Mapping[str, Any], patch: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge a patch, so that what was shown may be sent back.

    A merge patch leaves the attributes alone that it does not have, but has
    lists whole: an entry that is as it was shown stays as it is.
    """
    return merge.patched(known, _restored(known, patch))


def _restored(known: Any, asked: Any) -> Any:
    if isinstance(known, Mapping) and isinstance(asked, Mapping):
        return {n: _restored(known.get(n), v) for n, v in asked.items()}
    if not (isinstance(known, list) and isinstance(asked, list)):
        return asked
    hidden = [(without_secrets(entry), entry) for entry in known]
    return [_taken(hidden, entry) for entry in asked]


def _taken(hidden: list[tuple[Any, Any]], asked: Any) -> Any:
    for position, (shown, entry) in enumerate(hidden):
        if shown == asked:
            del hidden[position]
            return entry
    return asked
