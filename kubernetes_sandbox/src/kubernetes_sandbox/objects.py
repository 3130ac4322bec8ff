"""Access to the metadata and status that API objects share.

Stored objects are never changed in place. To change one, ``clone`` it, or
build a new dict around the unchanged parts, and store the result.
"""

import datetime as dt
import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes_sandbox.clock import current_time

Obj = dict[str, Any]

#: The alphabet of generated names: no vowels, no ambiguous characters.
SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def clone(value: Any) -> Any:
    """Copy JSON deeply."""
    if type(value) is dict:
        return {key: clone(item) for key, item in value.items()}
    if type(value) is list:
        return [clone(item) for item in value]
    return value


def now() -> str:
    """Return the time in the form of metadata.creationTimestamp."""
    return stamp(current_time())


def stamp(moment: dt.datetime) -> str:
    """Format a time with a precision of a second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def now_in(seconds: float) -> str:
    """Return the time some seconds from now."""
    ahead = dt.timedelta(seconds=seconds)
    return stamp(current_time() + ahead)


def now_micro() -> str:
    """Return the time as MicroTime, as in Event.eventTime."""
    moment = current_time()
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_uid() -> str:
    """Generate a uid."""
    return str(uuid.uuid4())


def random_suffix(length: int = 5) -> str:
    """Generate the suffix of a generated name."""
    return "".join(secrets.choice(SAFE_LETTERS) for _ in range(length))


def name_of(obj: Obj) -> str:
    """Return metadata.name."""
    return str(obj["metadata"].get("name", ""))


def namespace_of(obj: Obj) -> str:
    """Return metadata.namespace; empty for a cluster-scoped object."""
    return str(obj["metadata"].get("namespace", ""))


def uid_of(obj: Obj) -> str:
    """Return metadata.uid."""
    return str(obj["metadata"].get("uid", ""))


def labels_of(obj: Obj) -> Mapping[str, str]:
    """Return metadata.labels of an object or a pod template."""
    return (obj.get("metadata") or {}).get("labels") or {}


def annotations_of(obj: Obj) -> Mapping[str, str]:
    """Return metadata.annotations."""
    return obj["metadata"].get("annotations") or {}


def is_deleting(obj: Obj) -> bool:
    """Return whether deletion was requested."""
    return "deletionTimestamp" in obj["metadata"]


def owners_of(obj: Obj) -> Sequence[Obj]:
    """Return metadata.ownerReferences."""
    return obj["metadata"].get("ownerReferences") or ()


def controller_of(obj: Obj) -> Obj | None:
    """Return the owner reference of the controller."""
    for owner in owners_of(obj):
        if owner.get("controller"):
            return owner
    return None


def controller_uid(obj: Obj) -> str:
    """Return the uid of the controller."""
    owner = controller_of(obj)
    return str(owner["uid"]) if owner else ""


def owner_reference(owner: Obj) -> Obj:
    """Build an owner reference of a controller."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_metadata(obj: Obj, **changes: Any) -> Obj:
    """Copy an object with changed metadata; None removes a field."""
    metadata = {**obj["metadata"], **changes}
    kept = {k: v for k, v in metadata.items() if v is not None}
    return {**obj, "metadata": kept}


def with_status(obj: Obj, **changes: Any) -> Obj:
    """Copy an object with changed status fields; None removes one."""
    status = {**(obj.get("status") or {}), **changes}
    return {
        **obj,
        "status": {k: v for k, v in status.items() if v is not None},
    }


def condition(obj: Obj, condition_type: str) -> Obj | None:
    """Return a status condition."""
    for found in (obj.get("status") or {}).get("conditions") or ():
        if found["type"] == condition_type:
            return dict(found)
    return None
