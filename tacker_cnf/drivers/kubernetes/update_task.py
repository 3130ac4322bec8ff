"""Update of a CNF in one cluster, and its rollback.

Each object that an update changes is annotated with a mark. By the marks, a
retry of the operation continues where it stopped, and a rollback undoes only
what was done. The mark is also in the pod templates, so that the pods are
rolled.
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
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.pod_references import SECRET, Reference
from tacker_cnf.drivers.kubernetes.pod_update import (
    MARK,
    PREVIOUS_MARK,
    PodUpdate,
    changed_images,
)

#: fields of a ConfigMap or Secret that an update changes
CONTENT_FIELDS: Final = ("data", "binaryData")
#: updateStrategy by which pods are replaced only when they are deleted
ON_DELETE: Final = "OnDelete"
#: suffix of the mark of an object whose change was undone
UNDONE_SUFFIX: Final = ".undone"


@dataclasses.dataclass(frozen=True)
class ManifestChange:
    """An object before and after a change."""

    before: Manifest
    after: Manifest

    @property
    def key(self) -> Key:
        return self.before.key


class UpdateTask:
    """An update in one cluster.

    :param configs: ConfigMaps and Secrets to be written
    :param workloads: workloads whose pods may have to restart
    :param operation_id: id of the operation that the update belongs to
    :param is_rollback: whether to undo the changes of that operation
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
        #: mark of the objects that the operation has changed
        self._operation_id = operation_id
        self._mark = (
            operation_id + UNDONE_SUFFIX if is_rollback else operation_id
        )
        self._is_rollback = is_rollback

    def run(self) -> None:
        """Change the objects that differ, and wait until all are ready.

        :raises InfraError: the cluster failed, or was not ready in time
        """
        self.restart(self.write())

    def write(self) -> frozenset[Reference]:
        """Write the ConfigMaps and Secrets.

        :returns: those whose content has changed for the pods that read them
        :raises InfraError: the cluster failed
        """
        return frozenset(
            (pair.after.kind, pair.after.name)
            for pair in self._configs
            if self._write(pair)
        )

    def restart(self, written: Iterable[Reference]) -> None:
        """Set the images of the workloads, restart the pods that read what
        was written, and wait until all changed workloads are ready.

        :raises InfraError: the cluster failed, or was not ready in time
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
        """Read an object; None: it does not exist.

        :raises VimRejected: the object is not labelled as the instance's
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
        """Return whether the operation has changed an object."""
        own_marks = {self._operation_id, self._mark}
        return pod_update.mark_of(body) in own_marks

    def _write(self, pair: ManifestChange) -> bool:
        """Write the content of a ConfigMap or Secret.

        :returns: whether this or an earlier attempt changes the content that
            pods read
        :raises VimRejected: the object is immutable
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
                change[name] = (
                    changed  # only if needed: Secrets lack binaryData
                )
        return change

    def _update_workload(
        self, pair: ManifestChange, written: Iterable[Reference]
    ) -> bool:
        """Change a workload where it differs.

        :returns: whether there is a change, by this or an earlier attempt, or
            by an update that was given up
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
        """Change the pod template of a workload. A rollback restores the
        template of before the operation; pods that still have it are kept.
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
        """Return the new annotations of a workload; None removes one."""
        if self._is_rollback or self._has_mark(live):
            return {MARK: self._mark}
        before = pod_update.mark_of(live["spec"]["template"])
        return {MARK: self._mark, PREVIOUS_MARK: before}

    def mark(
        self, body: Object, live: Object, written: Iterable[Reference]
    ) -> None:
        """Mark the body with which a workload will be replaced, so that its
        pods restart if they read what was written.
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
            return True  # changed by an earlier attempt
        return update.change(live, written) or self._is_already_updated(pair)

    def _is_already_updated(self, pair: ManifestChange) -> bool:
        """Return whether a workload has the images of this update already. An
        update that was given up may have left it without running pods.
        """
        before, after = (m.body["spec"] for m in (pair.before, pair.after))
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
        """Replace the outdated pods one by one, where the controller of the
        workload does not do it.
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
                # the controller waits for this pod before it rolls others
                self._replace_pod(pod)

    def _outdated(self, live: Object) -> list[Object]:
        """Find the pods of a workload without the mark of its template; in a
        rollback, those that the operation has created.
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
    """Check that the content of immutable objects does not change.

    :raises InvalidParameters: the content of an immutable object differs
    """
    for pair in pairs:
        before, after = pair.before.body, pair.after.body
        if before.get("immutable") and not same_content(before, after):
            raise errors.InvalidParameters(_immutable_message(pair.before))


def _immutable_message(manifest: Manifest) -> str:
    return (
        f"{manifest} is immutable, so its content cannot change, but the new "
        "package has other content. Give it another name there, refer to it by "
        "that name, and change the VNF by change_vnfpkg."
    )


def same_content(first: Object, second: Object) -> bool:
    """Return whether two ConfigMaps or Secrets have the same content; the
    formatting of Base64 is ignored.
    """
    return _decoded(first) == _decoded(second)


def _decoded(body: Object) -> dict[str, Object]:
    found = content(body)
    name = "data" if body["kind"] == SECRET else "binaryData"
    found[name] = {key: _bytes(text) for key, text in found[name].items()}
    return found


def _bytes(text: Any) -> Any:
    """Decode Base64; other values are kept, for the cluster to reject."""
    try:
        return base64.b64decode("".join(str(text).split()), validate=True)
    except ValueError:
        return text


def content(body: Object) -> dict[str, Object]:
    """Return the content of a ConfigMap or Secret as the API server stores it:
    ``data`` (of a Secret with its stringData) and ``binaryData``.
    """
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
    """Return a field that is a map; {} if it is none, the cluster rejects it."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
