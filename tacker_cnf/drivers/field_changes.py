"""Compare two values of a resource, field by field."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tacker_cnf.lcm.redaction import without_secrets
from tacker_cnf.lcm.secret_names import is_secret
from tacker_cnf.lcm.vnf_plan import FieldChange

#: stands for the value of a secret
HIDDEN: Final = "***"


def compare(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """List the fields that differ, in the order of their names.

    Entries of lists are compared by their ``name``, if all have one. Values
    whose names mark them as secrets are hidden.

    :param path: prefix of the paths
    """
    if before == after:
        return
    first, second = _fields(before, path), _fields(after, path)
    if first is None or second is None:
        yield _change(path, before, after)
        return
    for name in sorted({*first, *second}):
        yield from compare(first.get(name), second.get(name), name)


def _fields(value: Any, path: str) -> Mapping[str, Any] | None:
    """Return the fields in a value by their paths; None: it has none."""
    if isinstance(value, Mapping):
        prefix = f"{path}." if path else ""
        return {f"{prefix}{name}": field for name, field in value.items()}
    if isinstance(value, list | tuple) and value:
        if all(isinstance(v, Mapping) and v.get("name") for v in value):
            return {f"{path}[{v['name']}]": v for v in value}
        if any(isinstance(v, Mapping) for v in value):
            return {f"{path}[{i}]": v for i, v in enumerate(value)}
    return None


def _change(path: str, before: Any, after: Any) -> FieldChange:
    name = path.rpartition(".")[2]
    # the value of an entry of env: env[DB_PASSWORD].value
    owner = path.rpartition("[")[2].partition("]")[0]
    if is_secret(name) or (name == "value" and is_secret(owner)):
        return hidden(path, before, after)
    return FieldChange(
        path=path,
        before=without_secrets(before),
        after=without_secrets(after),
    )


def hidden(path: str, before: Any, after: Any) -> FieldChange:
    """Return the change of a secret, without its values."""
    return FieldChange(
        path=path,
        before=None if before is None else HIDDEN,
        after=None if after is None else HIDDEN,
    )
