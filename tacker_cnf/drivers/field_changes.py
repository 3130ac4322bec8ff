"""Compare two values of a resource, field by field."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tacker_cnf.lcm import redaction
from tacker_cnf.lcm.redaction import SecretPredicate, without_secrets
from tacker_cnf.lcm.secret_names import is_secret
from tacker_cnf.lcm.vnf_plan import FieldChange

#: stands for the value of a secret
HIDDEN: Final = "***"


def compare(
    before: Any,
    after: Any,
    path: str = "",
    is_hidden: SecretPredicate = is_secret,
) -> Iterator[FieldChange]:
    """List the fields that differ, in the order of their names.

    Entries of lists are compared by their ``name``, if all have one of their
    own. Whatever is in an attribute whose name marks it as a secret is hidden.

    :param path: prefix of the paths
    :param is_hidden: whether an attribute of the values is a secret
    """
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_maps(before, after, path, is_hidden)
    elif _has_maps(before) and _has_maps(after):
        yield from _compare_lists(before, after, path, is_hidden)
    else:
        yield FieldChange(
            path=path,
            before=without_secrets(before, is_hidden),
            after=without_secrets(after, is_hidden),
        )


def _has_maps(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(entry, Mapping) for entry in value
    )


def _compare_maps(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    path: str,
    is_hidden: SecretPredicate,
) -> Iterator[FieldChange]:
    secrets = redaction.secrets_in(before, is_hidden)
    secrets |= redaction.secrets_in(after, is_hidden)
    for name in sorted({*before, *after}, key=str):
        first, second = before.get(name), after.get(name)
        field = f"{path}.{name}" if path else str(name)
        if name not in secrets:
            inner = redaction.predicate_below(name)
            yield from compare(first, second, field, inner)
        elif first != second:
            yield hidden(field, first, second)


def _compare_lists(
    before: Sequence[Any],
    after: Sequence[Any],
    path: str,
    is_hidden: SecretPredicate,
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
        yield from compare(*entries, f"{path}[{name}]", is_hidden)


def _names(entries: Sequence[Any]) -> Sequence[str | int] | None:
    """Return the names of entries; None: an entry has none of its own."""
    names = [
        str(entry["name"])
        for entry in entries
        if isinstance(entry, Mapping) and entry.get("name")
    ]
    return names if len({*names}) == len(entries) else None


def hidden(path: str, before: Any, after: Any) -> FieldChange:
    """Return the change of a secret, without its values."""
    return FieldChange(
        path=path,
        before=None if before is None else HIDDEN,
        after=None if after is None else HIDDEN,
    )
