"""Compare two values of a resource, field by field."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tacker_cnf.lcm.shown_names import HIDDEN
from tacker_cnf.lcm.vnf_plan import FieldChange


class Structure(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a type of resource whose values are shown; they describe
    its structure. The values of all others are hidden, and whatever is in
    fields that are not named here.
    """

    #: fields with a simple value, a list of these, or further fields
    fields: frozenset[str]
    #: fields with further fields
    parents: frozenset[str] = frozenset()
    #: fields whose keys are IDs, with further fields each
    keyed: frozenset[str] = frozenset()
    #: fields of which every value is shown
    maps: frozenset[str] = frozenset()

    def shows(self, keys: Sequence[str]) -> bool:
        """Check whether the value of a field is shown.

        :param keys: the names that lead to it
        """
        rest = iter(keys[:-1])
        for key in rest:
            if key in self.maps:
                return True
            if key in self.keyed:
                next(rest, None)
            elif key not in self.parents and key not in self.fields:
                return False
        is_id = len(keys) > 1 and keys[-2] in self.keyed
        return bool(keys) and keys[-1] in self.fields and not is_id


#: hides the values of all fields
HIDES_ALL = Structure(fields=frozenset())


def compare(
    before: Any,
    after: Any,
    structure: Structure,
    path: str = "",
    keys: tuple[str, ...] = (),
) -> Iterator[FieldChange]:
    """List the fields that differ, in the order of their names.

    Entries of lists are compared by their ``name``, if all have one of their
    own.

    :param path: prefix of the paths
    :param keys: the names of fields that lead to the values
    """
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}, key=str):
            field = f"{path}.{name}" if path else str(name)
            values = before.get(name), after.get(name)
            inner = (*keys, str(name))
            yield from compare(*values, structure, field, inner)
    elif _has_maps(before) and _has_maps(after):
        yield from _compare_lists(before, after, structure, path, keys)
    else:
        yield FieldChange(
            path=path,
            before=_shown(before, structure, keys),
            after=_shown(after, structure, keys),
        )


def _shown(value: Any, structure: Structure, keys: tuple[str, ...]) -> Any:
    if value is not None and not structure.fields:
        return HIDDEN
    if isinstance(value, Mapping):
        return {
            name: _shown(inner, structure, (*keys, str(name)))
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_shown(inner, structure, keys) for inner in value]
    is_shown = value is None or isinstance(value, bool)
    return value if is_shown or structure.shows(keys) else HIDDEN


def _has_maps(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(entry, Mapping) for entry in value
    )


def _compare_lists(
    before: Sequence[Any],
    after: Sequence[Any],
    structure: Structure,
    path: str,
    keys: tuple[str, ...],
) -> Iterator[FieldChange]:
    names = [_names(value) for value in (before, after)]
    if None in names:
        names = [range(len(value)) for value in (before, after)]
    first, second = (
        dict(zip(n or (), v, strict=True))
        for n, v in zip(names, (before, after), strict=True)
    )
    if first == second:
        yield FieldChange(path=path, before=[*first], after=[*second])
    for name in {**first, **second}:
        entries = first.get(name), second.get(name)
        yield from compare(*entries, structure, f"{path}[{name}]", keys)


def _names(entries: Sequence[Any]) -> Sequence[str | int] | None:
    """Return the names of entries; None: an entry has none of its own."""
    names = [
        str(entry["name"])
        for entry in entries
        if isinstance(entry, Mapping) and entry.get("name")
    ]
    return names if len({*names}) == len(entries) else None


def hidden(path: str, before: Any, after: Any) -> FieldChange:
    """Return a change without the values and the names in them."""
    return FieldChange(
        path=path,
        before=None if before is None else HIDDEN,
        after=None if after is None else HIDDEN,
    )
