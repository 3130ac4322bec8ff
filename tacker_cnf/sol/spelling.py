"""Which known name a name that is not known was probably meant to be."""

from collections.abc import Iterable
from typing import Final

#: what a name may have besides letters and digits: vnfd_id is vnfdId
_SEPARATORS: Final = str.maketrans("", "", "_-. ")


def meant(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that differs by case, by separators, or by one
    or two letters; None: there is none.

    A name of up to five characters may differ by one letter, one of up to
    two by case alone: among short names everything is near.
    """
    plain = _plain(given)
    for name in known:
        other = _plain(name)
        letters = min(2, len(other) // 3)
        if abs(len(plain) - len(other)) <= letters and _is_near(
            plain, other, letters
        ):
            return name
    return None


def _plain(name: str) -> str:
    return name.translate(_SEPARATORS).lower()


def _is_near(one: str, other: str, letters: int) -> bool:
    """Check whether one becomes the other by so many steps: a letter more,
    less or changed, or two exchanged.
    """
    begin = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        begin += 1
    one, other = one[begin:], other[begin:]
    if not one or not other:
        return len(one) + len(other) <= letters
    return letters > 0 and (
        _is_near(one[1:], other[1:], letters - 1)
        or _is_near(one[1:], other, letters - 1)
        or _is_near(one, other[1:], letters - 1)
        or (
            one[:2] == other[1::-1]
            and _is_near(one[2:], other[2:], letters - 1)
        )
    )
