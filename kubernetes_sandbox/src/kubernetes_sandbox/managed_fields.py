"""Who owns which field: metadata.managedFields."""

from kubernetes_sandbox import field_trees
from kubernetes_sandbox.field_trees import Tree
from kubernetes_sandbox.objects import Obj, now

UPDATE = "Update"
APPLY = "Apply"


def entries_of(obj: Obj | None) -> list[Obj]:
    """Read the entries of an object."""
    if obj is None:
        return []
    return list(obj["metadata"].get("managedFields") or ())


def is_of(entry: Obj, manager: str, operation: str, subresource: str) -> bool:
    """Tell whether an entry is this manager's for this kind of write."""
    return (
        entry.get("manager"),
        entry.get("operation"),
        entry.get("subresource", ""),
    ) == (manager, operation, subresource)


def new_entry(
    obj: Obj, manager: str, operation: str, subresource: str, tree: Tree
) -> Obj:
    """Build an entry."""
    entry: Obj = {
        "manager": manager,
        "operation": operation,
        "apiVersion": obj["apiVersion"],
        "time": now(),
        "fieldsType": "FieldsV1",
        "fieldsV1": tree,
    }
    if subresource:
        entry["subresource"] = subresource
    return entry


def without(entries: list[Obj], gone: Tree) -> list[Obj]:
    """Take fields away from all entries; empty ones go."""
    kept = []
    for entry in entries:
        left = field_trees.difference(entry.get("fieldsV1") or {}, gone)
        if left:
            kept.append({**entry, "fieldsV1": left})
    return kept


def still_there(entries: list[Obj], obj: Obj) -> list[Obj]:
    """Forget the fields that an object no longer has."""
    kept = []
    for entry in entries:
        left = field_trees.existing(entry.get("fieldsV1") or {}, obj)
        if left:
            kept.append({**entry, "fieldsV1": left})
    return kept


def record(new: Obj, old: Obj | None, manager: str, subresource: str) -> None:
    """Write into ``new`` that this manager changed what differs, beside
    what it says of owners itself.
    """
    status = subresource == "status"
    tree = field_trees.of_object(new, status=status)
    _add(new, field_trees.changed(tree, old or {}, new), manager, subresource)


def record_first(new: Obj, asked: Obj, manager: str) -> None:
    """Write into ``new`` that this manager made it as it was asked for; what
    the server chose, such as an address, is nobody's.
    """
    tree = field_trees.of_object(asked)
    _add(new, field_trees.existing(tree, new), manager, "")


def _add(new: Obj, mine: Tree, manager: str, subresource: str) -> None:
    entries = still_there(without(entries_of(new), mine), new)
    owned: Tree = {}
    others = []
    for entry in entries:
        if is_of(entry, manager, UPDATE, subresource):
            owned = entry["fieldsV1"]
        else:
            others.append(entry)
    together = field_trees.union(owned, mine)
    if together:
        others.append(new_entry(new, manager, UPDATE, subresource, together))
    new["metadata"]["managedFields"] = others
