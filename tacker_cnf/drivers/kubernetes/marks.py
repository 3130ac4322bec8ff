"""Marks: the annotations of the objects that an operation changes.

By the marks of ConfigMaps, Secrets and workloads that restart, a retry of the
operation continues where it stopped, and a rollback undoes only what was done.
The mark is also in the pod templates, so that the pods are rolled.
"""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Final

from tacker_cnf.drivers.kubernetes.manifests import Manifest
from tacker_cnf.drivers.kubernetes.objects import Object

#: annotation: id of the operation that has changed the object
MARK: Final = "tacker_updated_by"
#: annotation of a workload: the previous mark of its template
PREVIOUS_MARK: Final = "tacker_formerly_updated_by"
#: suffix of the mark of an object whose change was undone
UNDONE_SUFFIX: Final = ".undone"


@dataclasses.dataclass(frozen=True)
class Mark:
    """The mark of one operation."""

    operation_id: str
    #: whether the changes of the operation are undone
    undoes: bool = False

    def __str__(self) -> str:
        """Return the value of the annotation."""
        suffix = UNDONE_SUFFIX if self.undoes else ""
        return self.operation_id + suffix

    def is_on(self, body: Object) -> bool:
        """Return whether the operation has changed an object."""
        return mark_of(body) in {self.operation_id, str(self)}

    def is_outdated(self, pod: Object, template_mark: str | None) -> bool:
        """Return whether a pod has to be replaced: it does not have the mark of
        the template of its workload, or if changes are undone, the operation
        has created it.
        """
        if self.undoes:
            return mark_of(pod) == self.operation_id
        return mark_of(pod) != template_mark

    def for_template(self, workload: Object) -> str | None:
        """Return the mark of the pod template of a workload. If changes are
        undone, the template gets its previous one; pods that still have it are
        kept.
        """
        if self.undoes:
            return annotations_of(workload).get(PREVIOUS_MARK)
        return str(self)

    def for_workload(self, workload: Object) -> dict[str, str | None]:
        """Return the new annotations of a workload; None removes one."""
        if self.undoes or self.is_on(workload):
            return {MARK: str(self)}
        previous = mark_of(workload["spec"]["template"])
        return {MARK: str(self), PREVIOUS_MARK: previous}

    def put_on(self, manifest: Manifest) -> Manifest:
        """Return a manifest with the mark."""
        body = copy.deepcopy(manifest.body)
        annotate(body, {MARK: str(self)})
        return dataclasses.replace(manifest, body=body)


def annotations_of(body: Object) -> Mapping[str, str]:
    """Return the annotations of an object or a template."""
    return (body.get("metadata") or {}).get("annotations") or {}


def mark_of(body: Object) -> str | None:
    """Return the operation that has changed an object or a template last."""
    return annotations_of(body).get(MARK)


def annotate(body: Object, annotations: Mapping[str, str | None]) -> None:
    """Set annotations of an object or a template; None removes one."""
    meta = body["metadata"] = body.get("metadata") or {}
    both = {**(meta.get("annotations") or {}), **annotations}
    remaining = {
        name: value for name, value in both.items() if value is not None
    }
    meta.pop("annotations", None)
    if remaining:
        meta["annotations"] = remaining
