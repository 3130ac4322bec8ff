"""ControllerRevisions: the templates that a workload has had."""

from kubernetes_sandbox import pods
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    clone,
    labels_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from kubernetes_sandbox.plane import Plane

_KEY = "controllerrevisions.apps"
HASH = "controller-revision-hash"
#: The label of a revision with its hash, by the kind of its owner.
_LABELS = {"StatefulSet": "controller.kubernetes.io/hash"}


def name_of_revision(owner: Obj) -> str:
    """Name the revision of a workload's present template."""
    digest = pods.template_hash(owner["spec"]["template"])
    return f"{owner['metadata']['name']}-{digest}"


def keep(plane: Plane, owner: Obj) -> str:
    """Store the present template as a revision; answers its name."""
    name = name_of_revision(owner)
    known = plane.store.owned(uid_of(owner), _KEY)
    newest = max((one["revision"] for one in known), default=0)
    number = newest + 1
    found = plane.store.get(_KEY, namespace_of(owner), name)
    if found is not None:
        if found["revision"] < newest:  # a template that comes back
            plane.api.put(plane.kind(_KEY), {**found, "revision": number})
        return name
    template = clone(owner["spec"]["template"])
    made: Obj = {
        "metadata": {
            "name": name,
            "labels": {
                **labels_of(template),
                _LABELS.get(owner["kind"], HASH): name.rpartition("-")[2],
            },
            "ownerReferences": [owner_reference(owner)],
        },
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
        "revision": number,
    }
    try:
        plane.api.create(plane.kind(_KEY), namespace_of(owner), made)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    return name


def template_of(plane: Plane, owner: Obj, name: str) -> Obj:
    """Find the template of a revision; the present one if it is gone."""
    found = plane.store.get(_KEY, namespace_of(owner), name)
    if found is None:
        return dict(owner["spec"]["template"])
    template = clone(found["data"]["spec"]["template"])
    template.pop("$patch", None)
    return dict(template)
