"""Who owns which field of an object (metadata.managedFields).

A server-side apply takes away the fields that its manifest no longer has, if
they were applied before by the same manager, and no others own them. What was
created by a POST belongs to the same name, and yet to another owner: one who
updates. So it is handed over before the first apply, as ``kubectl`` does when
it turns to server-side apply.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.client import FIELD_MANAGER

Object = dict[str, Any]
#: a set of fields, as FieldsV1 writes it
Fields = Mapping[str, Any]

APPLY: Final = "Apply"
UPDATE: Final = "Update"


def entries_for_apply(found: Object) -> Sequence[Object] | None:
    """Give the owners of an object, with us as one who applies all that is
    ours; None: that is so already.
    """
    entries = found["metadata"].get("managedFields") or []
    ours = [entry for entry in entries if _is_ours(entry)]
    if all(entry["operation"] == APPLY for entry in ours):
        return None
    fields: Fields = {}
    for entry in ours:
        fields = _union(fields, entry.get("fieldsV1") or {})
    merged = {**ours[-1], "operation": APPLY, "fieldsV1": fields}
    return [e for e in entries if not _is_ours(e)] + [merged]


def _is_ours(entry: Object) -> bool:
    """Tell whether an entry is ours; those of a subresource, such as the
    size of a workload, stay as they are.
    """
    return (
        entry.get("manager") == FIELD_MANAGER
        and not entry.get("subresource")
        and entry.get("operation") in {APPLY, UPDATE}
    )


def _union(one: Fields, other: Fields) -> Fields:
    both = dict(one)
    for name, inner in other.items():
        both[name] = _union(both[name], inner) if name in both else inner
    return both
