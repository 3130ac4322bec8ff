"""Merge patches from clients that see stars instead of hidden values."""

from collections.abc import Mapping
from typing import Any

from tacker_cnf.lcm import merge
from tacker_cnf.lcm.shown_names import HIDDEN


def patched(
    current: Mapping[str, Any], patch: Mapping[str, Any]
) -> dict[str, Any]:
    """Apply a merge patch in which hidden values may be sent back as they
    were shown: these keep their values.
    """
    own = {
        name: value
        for name, value in patch.items()
        if value != HIDDEN or name not in current
    }
    return merge.patched(current, own)
