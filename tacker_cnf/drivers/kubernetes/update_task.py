"""Carries an update of a CNF out in its cluster, or takes it back.

What an update has touched bears its mark: an operation that is tried again
goes on where it was, and one that is rolled back undoes what was done and
nothing else. The mark is in the template of the pods, so that they roll.
"""

import base64
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    pod_references,
    pod_update,
    readiness,
    readiness_checks,
)
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.manifests import (
    INSTANCE_LABEL,
    Key,
    Manifest,
)
from tacker_cnf.drivers.kubernetes.pod_references import SECRET, Reference
from tacker_cnf.drivers.kubernetes.pod_update import (
    MARK,
    PREVIOUS_MARK,
    PodUpdate,
    changed_images,
)

Object = dict[str, Any]

#: attributes of a ConfigMap or Secret that an update changes
CONTENT_FIELDS: Final = ("data", "binaryData")
#: an updateStrategy: the pods are replaced when somebody deletes them
ON_DELETE: Final = "OnDelete"
#: suffix of the mark of what was undone
UNDONE_SUFFIX: Final = ".undone"


@dataclasses.dataclass(frozen=True)
class ManifestChange:
    """One object, as it was and as it is to be."""

    before: Manifest
    after: Manifest

    @property
    def key(self) -> Key:
        return self.before.key


class UpdateTask:
    """One update in one cluster.

    :param configs: the ConfigMaps and Secrets to be written
    :param workloads: whatever makes pods that may have to restart
    :param operation_id: that this is part of
    :param is_rollback: whether it undoes what that operation did
    """

    def __init__(
        self,
        cluster_task: ClusterTask,
        configs: Sequence[ManifestChange],
        workloads: Sequence[ManifestChange],
        operation_id: str,
        *,
        is_rollback: bool,
    ) -> None:
        self._cluster_task = cluster_task
        self._configs = configs
        self._workloads = workloads
        #: of what the operation has done
        self._operation_id = operation_id
        self._mark = (
            operation_id + UNDONE_SUFFIX if is_rollback else operation_id
        )
        self._is_rollback = is_rollback

    def run(self) -> None:
        """Change what differs, and wait until all is ready.

        :raises InfraError: the cluster could not, or not in time
        """
        self.restart(self.write())

    def write(self) -> frozenset[Reference]:
        """Write the ConfigMaps and Secrets; tell those whose readers see
        something else than before.

        :raises InfraError: the cluster could not
        """
        return frozenset(
            (pair.after.kind, pair.after.name)
            for pair in self._configs
            if self._write(pair)
        )

    def restart(self, written: Iterable[Reference]) -> None:
        """Give the workloads their images, restart who reads what was
        written, and wait until all that was touched is ready.

        :raises InfraError: the cluster could not, or not in time
        """
        updated = [
            pair
            for pair in self._workloads
            if self._update_workload(pair, written)
        ]
        for pair in updated:
            if pair.after.kind == "Pod":
                self._pod_update(pair).wait_restarted()
            else:
                self._replace_pods(pair.after)
        self._cluster_task.waiter.wait_ready(pair.after for pair in updated)

    def _get_own(self, manifest: Manifest) -> Object | None:
        """Read an object.

        :raises VimRejected: it belongs to somebody else
        """
        resource = self._cluster_task.cluster.kind(
            manifest.api_version, manifest.kind
        )
        namespace = self._cluster_task.rendered.namespace
        found = self._cluster_task.cluster.get(
            resource, manifest.name, namespace
        )
        owner = self._cluster_task.rendered.instance_id
        labels = found["metadata"].get("labels", {}) if found else {}
        if found and labels.get(INSTANCE_LABEL) != owner:
            raise errors.VimRejected(
                f"{manifest.kind} {manifest.name} does not belong to this "
                "VNF instance."
            )
        return found

    def _patch(self, manifest: Manifest, change: Object) -> None:
        self._cluster_task.progress(
            f"Updating {manifest.kind} {manifest.name}"
        )
        resource = self._cluster_task.cluster.kind(
            manifest.api_version, manifest.kind
        )
        namespace = self._cluster_task.rendered.namespace
        with manifest.locate_errors():
            self._cluster_task.cluster.patch(
                resource, manifest.name, namespace, change
            )

    def _has_mark(self, body: Object) -> bool:
        """Tell whether the operation has changed an object."""
        own_marks = {self._operation_id, self._mark}
        return pod_update.mark_of(body) in own_marks

    def _write(self, pair: ManifestChange) -> bool:
        """Make a ConfigMap or Secret hold what it is to; tell whether this,
        or an earlier try, changes what its readers see.

        :raises VimRejected: it is immutable
        """
        live = self._get_own(pair.after)
        if live is None:
            self._cluster_task.apply_manifests(
                [pod_update.with_mark(pair.after, self._mark)]
            )
            return True
        new = content(pair.after.body)
        is_different = not same_content(live, pair.after.body)
        if self._is_rollback and not self._has_mark(live):
            return False
        if is_different:
            if live.get("immutable"):
                raise errors.VimRejected(_immutable_message(pair.after))
            self._patch(pair.after, self._content_patch(live, new))
        return (
            is_different
            or not same_content(pair.before.body, pair.after.body)
            or self._has_mark(live)
        )

    def _content_patch(self, live: Object, new: Object) -> Object:
        change: Object = {"metadata": {"annotations": {MARK: self._mark}}}
        for name in CONTENT_FIELDS:
            removed = (live.get(name) or {}).keys() - new[name].keys()
            if changed := {**new[name], **dict.fromkeys(removed)}:
                change[name] = changed  # a Secret has no binaryData
        return change

    def _update_workload(
        self, pair: ManifestChange, written: Iterable[Reference]
    ) -> bool:
        """Change what is to be changed of a workload; tell whether there was
        anything, in this try or an earlier one, or in one that was given up.

        :raises NotReady: the workload does not exist
        """
        live = self._get_own(pair.after)
        if pair.after.kind == "Pod":
            return self._update_pod(pair, live, written)
        if live is None:
            raise readiness.workload_not_found(pair.after)
        template = live["spec"]["template"]
        reads = pod_references.pod_reads(template["spec"]) & set(written)
        images = changed_images(template["spec"], pair.after.body["spec"])
        has_mark = self._has_mark(live)
        if not has_mark and (self._is_rollback or not (reads or images)):
            return self._is_already_updated(pair)
        if images or pod_update.mark_of(live) != self._mark:
            self._roll(pair.after, live, images)
        return True

    def _roll(self, manifest: Manifest, live: Object, images: Object) -> None:
        """Change the template of a workload; on the way back, to what it was
        before the operation: a pod that is of that still stays.
        """
        template = {
            "metadata": {"annotations": {MARK: self._template_mark(live)}},
            "spec": images,
        }
        self._patch(
            manifest,
            {
                "metadata": {"annotations": self._workload_annotations(live)},
                "spec": {"template": template},
            },
        )

    def _template_mark(self, live: Object) -> str | None:
        annotations = pod_update.annotations_of(live)
        return (
            annotations.get(PREVIOUS_MARK) if self._is_rollback else self._mark
        )

    def _workload_annotations(self, live: Object) -> dict[str, str | None]:
        """Tell the annotations of a workload itself; None takes one away."""
        if self._is_rollback or self._has_mark(live):
            return {MARK: self._mark}
        before = pod_update.mark_of(live["spec"]["template"])
        return {MARK: self._mark, PREVIOUS_MARK: before}

    def mark(
        self, body: Object, live: Object, written: Iterable[Reference]
    ) -> None:
        """Mark a workload that is about to take the place of what is there,
        so that its pods restart if they read what was written.
        """
        template = body["spec"]["template"]
        has_mark = self._has_mark(live)
        reads = pod_references.pod_reads(template["spec"]) & set(written)
        mark = pod_update.mark_of(live["spec"]["template"])
        if has_mark if self._is_rollback else reads:
            mark = self._template_mark(live)
            pod_update.annotate(body, self._workload_annotations(live))
        pod_update.annotate(template, {MARK: mark})

    def _update_pod(
        self,
        pair: ManifestChange,
        live: Object | None,
        written: Iterable[Reference],
    ) -> bool:
        update = self._pod_update(pair)
        if live is None:
            return update.recreate(written)
        if self._is_rollback and not self._has_mark(live):
            return False
        if pod_update.mark_of(live) == self._mark:
            return True  # by an earlier try
        return update.change(live, written) or self._is_already_updated(pair)

    def _is_already_updated(self, pair: ManifestChange) -> bool:
        """Tell whether a workload has what this update brings already: an
        update that was given up may have left it without a pod that runs.
        """
        before, after = (one.body["spec"] for one in (pair.before, pair.after))
        return not self._is_rollback and bool(changed_images(before, after))

    def _pod_update(self, pair: ManifestChange) -> PodUpdate:
        return PodUpdate(
            self._cluster_task,
            pair.before,
            pair.after,
            self._mark,
            is_rollback=self._is_rollback,
        )

    def _replace_pods(self, manifest: Manifest) -> None:
        """Replace the pods that are not of the template one after the other,
        where their workload leaves them as they are.
        """
        live = self._get_own(manifest)
        if live is None:
            raise readiness.workload_not_found(manifest)
        strategy = live["spec"].get("updateStrategy") or {}
        is_on_delete = strategy.get("type") == ON_DELETE
        for pod in self._outdated(live):
            if manifest.kind == "ReplicaSet" or is_on_delete:
                self._replace_pod(pod)
                self._cluster_task.waiter.wait_ready([manifest])
            elif (
                manifest.kind == "StatefulSet"
                and not readiness_checks.is_ready(pod)
            ):
                # which waits for this one before it rolls any
                self._replace_pod(pod)

    def _outdated(self, live: Object) -> list[Object]:
        """Find the pods of a workload that do not bear the mark of its
        template; on the way back, those that the operation made.
        """
        mark = pod_update.mark_of(live["spec"]["template"])
        return [
            pod
            for pod in self._cluster_task.pods()
            if any(
                owner["uid"] == live["metadata"]["uid"]
                for owner in pod["metadata"].get("ownerReferences", ())
            )
            and (
                pod_update.mark_of(pod) == self._operation_id
                if self._is_rollback
                else pod_update.mark_of(pod) != mark
            )
        ]

    def _replace_pod(self, pod: Object) -> None:
        self._cluster_task.delete_pods([pod])
        self._cluster_task.waiter.wait_pods_deleted({pod["metadata"]["uid"]})


def check_mutable(pairs: Iterable[ManifestChange]) -> None:
    """Make sure that what is immutable holds the same.

    :raises InvalidParameters: it does not
    """
    for pair in pairs:
        before, after = pair.before.body, pair.after.body
        if before.get("immutable") and not same_content(before, after):
            raise errors.InvalidParameters(_immutable_message(pair.before))


def _immutable_message(manifest: Manifest) -> str:
    return (
        f"{manifest} is immutable, so that what it holds cannot change, and "
        "the new package says something else. Give it another name there, by "
        "which its readers find it, and change the VNF by change_vnfpkg."
    )


def same_content(one: Object, other: Object) -> bool:
    """Tell whether two ConfigMaps or Secrets hold the same, however their
    Base64 is written.
    """
    return _decoded(one) == _decoded(other)


def _decoded(body: Object) -> dict[str, Object]:
    found = content(body)
    name = "data" if body["kind"] == SECRET else "binaryData"
    found[name] = {key: _bytes(text) for key, text in found[name].items()}
    return found


def _bytes(text: Any) -> Any:
    """Decode Base64; what is none stays, for the cluster to refuse."""
    try:
        return base64.b64decode("".join(str(text).split()), validate=True)
    except ValueError:
        return text


def content(body: Object) -> dict[str, Object]:
    """Give what a ConfigMap or Secret holds, as the cluster keeps it."""
    found = {
        name: {key: text or "" for key, text in _map(body, name).items()}
        for name in CONTENT_FIELDS
    }
    if body["kind"] == SECRET:
        found["data"] |= {
            name: base64.b64encode(str(text or "").encode()).decode()
            for name, text in _map(body, "stringData").items()
        }
    return found


def _map(body: Object, name: str) -> Object:
    """Give a map; the cluster refuses what is none."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
