"""What every API object shares: metadata, owners, times, copies.

An object in the store is never changed in place. Whoever wants to change
one takes a ``clone`` (or builds a new dict around the parts that stay) and
hands that to the store.
"""

import datetime as dt
import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

Obj = dict[str, Any]

#: The letters real generated names are made of: no vowels, no look-alikes.
SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def clone(value: Any) -> Any:
    """Copy JSON deeply."""
    if type(value) is dict:
        return {key: clone(item) for key, item in value.items()}
    if type(value) is list:
        return [clone(item) for item in value]
    return value


def now() -> str:
    """Tell the time as metadata.creationTimestamp does."""
    return stamp(dt.datetime.now(dt.UTC))


def stamp(moment: dt.datetime) -> str:
    """Write a time with the precision of a second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def now_in(seconds: float) -> str:
    """Tell the time some seconds ahead."""
    ahead = dt.timedelta(seconds=seconds)
    return stamp(dt.datetime.now(dt.UTC) + ahead)


def now_exactly() -> str:
    """Tell the time with microseconds, as Event.eventTime does."""
    moment = dt.datetime.now(dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_uid() -> str:
    """Make a uid."""
    return str(uuid.uuid4())


def random_suffix(length: int = 5) -> str:
    """Make the end of a generated name."""
    return "".join(secrets.choice(SAFE_LETTERS) for _ in range(length))


def name_of(obj: Obj) -> str:
    """Read metadata.name."""
    return str(obj["metadata"].get("name", ""))


def namespace_of(obj: Obj) -> str:
    """Read metadata.namespace; empty for a cluster-wide object."""
    return str(obj["metadata"].get("namespace", ""))


def uid_of(obj: Obj) -> str:
    """Read metadata.uid."""
    return str(obj["metadata"].get("uid", ""))


def labels_of(obj: Obj) -> Mapping[str, str]:
    """Read metadata.labels, or of a pod template."""
    return (obj.get("metadata") or {}).get("labels") or {}


def annotations_of(obj: Obj) -> Mapping[str, str]:
    """Read metadata.annotations."""
    return obj["metadata"].get("annotations") or {}


def is_deleting(obj: Obj) -> bool:
    """Tell whether a deletion was asked for."""
    return "deletionTimestamp" in obj["metadata"]


def owners_of(obj: Obj) -> Sequence[Obj]:
    """Read metadata.ownerReferences."""
    return obj["metadata"].get("ownerReferences") or ()


def controller_of(obj: Obj) -> Obj | None:
    """Find the owner that controls the object."""
    for owner in owners_of(obj):
        if owner.get("controller"):
            return owner
    return None


def controller_uid(obj: Obj) -> str:
    """Read the uid of the owner that controls the object."""
    owner = controller_of(obj)
    return str(owner["uid"]) if owner else ""


def owner_reference(owner: Obj) -> Obj:
    """Name an owner as a controller does in what it makes."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_metadata(obj: Obj, **changes: Any) -> Obj:
    """Copy an object with other metadata; None takes a field away."""
    metadata = {**obj["metadata"], **changes}
    kept = {k: v for k, v in metadata.items() if v is not None}
    return {**obj, "metadata": kept}


def with_status(obj: Obj, **changes: Any) -> Obj:
    """Copy an object with other status fields; None takes one away."""
    status = {**(obj.get("status") or {}), **changes}
    return {
        **obj,
        "status": {k: v for k, v in status.items() if v is not None},
    }


def condition(obj: Obj, condition_type: str) -> Obj | None:
    """Find one of the status conditions."""
    for found in (obj.get("status") or {}).get("conditions") or ():
        if found["type"] == condition_type:
            return dict(found)
    return None
