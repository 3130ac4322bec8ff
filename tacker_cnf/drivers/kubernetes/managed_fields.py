"""Ownership of the fields of an object (metadata.managedFields).

A server-side apply removes the fields that its manifest no longer has, if the
same manager has applied them before and no other manager owns them. Fields of
an object that was created by a POST belong to the same manager, but to its
operation ``Update``. They are moved to ``Apply`` before the first apply, as
``kubectl`` does when it changes to server-side apply.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.client import FIELD_MANAGER
from tacker_cnf.drivers.kubernetes.objects import Object

#: a set of fields, in the format of FieldsV1
Fields = Mapping[str, Any]

APPLY: Final = "Apply"
UPDATE: Final = "Update"


def entries_for_apply(found: Object) -> Sequence[Object] | None:
    """Return managedFields in which all of our fields belong to ``Apply``;
    None: they do already.
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
    """Return whether an entry is ours; entries of a subresource, such as the
    scale of a workload, are not changed.
    """
    return (
        entry.get("manager") == FIELD_MANAGER
        and not entry.get("subresource")
        and entry.get("operation") in {APPLY, UPDATE}
    )


def _union(first: Fields, second: Fields) -> Fields:
    both = dict(first)
    for name, inner in second.items():
        both[name] = _union(both[name], inner) if name in both else inner
    return both
