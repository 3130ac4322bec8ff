"""ControllerRevisions of StatefulSets and DaemonSets."""

from kubernetes_sandbox import pods
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    clone,
    labels_of,
    namespace_of,
    owner_reference,
    uid_of,
)

_KEY = "controllerrevisions.apps"
HASH = "controller-revision-hash"
#: The label with the hash, by the kind of the owner.
_LABELS = {"StatefulSet": "controller.kubernetes.io/hash"}


def revision_name(owner: Obj) -> str:
    """Return the name of the revision of the current template."""
    digest = pods.template_hash(owner["spec"]["template"])
    return f"{owner['metadata']['name']}-{digest}"


def ensure_revision(context: ControllerContext, owner: Obj) -> str:
    """Ensure that the current template has a revision; return its name."""
    name = revision_name(owner)
    known = context.store.owned(uid_of(owner), _KEY)
    newest = max((one["revision"] for one in known), default=0)
    number = newest + 1
    found = context.store.get(_KEY, namespace_of(owner), name)
    if found is not None:
        if found["revision"] < newest:  # a rollback
            context.api.put(context.kind(_KEY), {**found, "revision": number})
        return name
    template = clone(owner["spec"]["template"])
    result: Obj = {
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
        context.api.create(context.kind(_KEY), namespace_of(owner), result)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    return name


def template_of(context: ControllerContext, owner: Obj, name: str) -> Obj:
    """Return the template of a revision; the current one if absent."""
    found = context.store.get(_KEY, namespace_of(owner), name)
    if found is None:
        return dict(owner["spec"]["template"])
    template = clone(found["data"]["spec"]["template"])
    template.pop("$patch", None)
    return dict(template)
