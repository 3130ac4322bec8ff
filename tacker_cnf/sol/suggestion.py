"""Suggest the known name that a client probably misspelled."""

from collections.abc import Iterable
from typing import Final

#: characters that are ignored: vnfd_id is vnfdId
_SEPARATORS: Final = str.maketrans("", "", "_-. ")


def closest_name(unknown_name: str, known_names: Iterable[str]) -> str | None:
    """Return the known name that differs in case, separators, or one or two
    letters; None: there is none.

    A name of up to five characters may differ in one letter, one of up to two
    only in case and separators: short names are all similar.
    """
    normalized = _normalize(unknown_name)
    for name in known_names:
        other = _normalize(name)
        max_distance = min(2, len(other) // 3)
        if abs(
            len(normalized) - len(other)
        ) <= max_distance and _is_within_distance(
            normalized, other, max_distance
        ):
            return name
    return None


def _normalize(name: str) -> str:
    return name.translate(_SEPARATORS).lower()


def _is_within_distance(one: str, other: str, max_distance: int) -> bool:
    """Check whether the edit distance is at most max_distance: a letter is
    inserted, deleted or replaced, or two neighbours are swapped.
    """
    common_length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common_length += 1
    one, other = one[common_length:], other[common_length:]
    if not one or not other:
        return len(one) + len(other) <= max_distance
    return max_distance > 0 and (
        _is_within_distance(one[1:], other[1:], max_distance - 1)
        or _is_within_distance(one[1:], other, max_distance - 1)
        or _is_within_distance(one, other[1:], max_distance - 1)
        or (
            one[:2] == other[1::-1]
            and _is_within_distance(one[2:], other[2:], max_distance - 1)
        )
    )
