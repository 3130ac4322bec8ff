"""Field ownership: metadata.managedFields."""

from kubernetes_sandbox import field_sets
from kubernetes_sandbox.field_sets import FieldSet
from kubernetes_sandbox.objects import Obj, now

UPDATE = "Update"
APPLY = "Apply"


def entries_of(obj: Obj | None) -> list[Obj]:
    """Return the entries of an object."""
    if obj is None:
        return []
    return list(obj["metadata"].get("managedFields") or ())


def is_entry_of(
    entry: Obj, manager: str, operation: str, subresource: str
) -> bool:
    """Return whether an entry is of this manager and operation."""
    return (
        entry.get("manager"),
        entry.get("operation"),
        entry.get("subresource", ""),
    ) == (manager, operation, subresource)


def new_entry(
    obj: Obj, manager: str, operation: str, subresource: str, fields: FieldSet
) -> Obj:
    """Build an entry."""
    entry: Obj = {
        "manager": manager,
        "operation": operation,
        "apiVersion": obj["apiVersion"],
        "time": now(),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if subresource:
        entry["subresource"] = subresource
    return entry


def without(entries: list[Obj], removed: FieldSet) -> list[Obj]:
    """Remove fields from all entries; empty entries are removed."""
    kept = []
    for entry in entries:
        remaining = field_sets.difference(entry.get("fieldsV1") or {}, removed)
        if remaining:
            kept.append({**entry, "fieldsV1": remaining})
    return kept


def existing_entries(entries: list[Obj], obj: Obj) -> list[Obj]:
    """Remove the fields that an object no longer has."""
    kept = []
    for entry in entries:
        remaining = field_sets.existing_fields(
            entry.get("fieldsV1") or {}, obj
        )
        if remaining:
            kept.append({**entry, "fieldsV1": remaining})
    return kept


def record(new: Obj, old: Obj | None, manager: str, subresource: str) -> None:
    """Record in ``new`` this manager as owner of the changed fields."""
    status = subresource == "status"
    fields = field_sets.from_object(new, status=status)
    _add(
        new,
        field_sets.changed_fields(fields, old or {}, new),
        manager,
        subresource,
    )


def record_create(new: Obj, requested: Obj, manager: str) -> None:
    """Record in ``new`` the fields that a create request contained.

    Fields that the server set have no owner.
    """
    fields = field_sets.from_object(requested)
    _add(new, field_sets.existing_fields(fields, new), manager, "")


def _add(new: Obj, changed: FieldSet, manager: str, subresource: str) -> None:
    entries = existing_entries(without(entries_of(new), changed), new)
    owned: FieldSet = {}
    others = []
    for entry in entries:
        if is_entry_of(entry, manager, UPDATE, subresource):
            owned = entry["fieldsV1"]
        else:
            others.append(entry)
    together = field_sets.union(owned, changed)
    if together:
        others.append(new_entry(new, manager, UPDATE, subresource, together))
    new["metadata"]["managedFields"] = others
