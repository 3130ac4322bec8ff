"""Update of ConfigMaps, Secrets and images in one cluster."""

from collections.abc import Iterable
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    content,
    marks,
    pod_references,
    readiness,
    readiness_checks,
    resource_progress,
)
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL, Manifest
from tacker_cnf.drivers.kubernetes.marks import MARK
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.plan import (
    ManifestChange,
    ObjectPlan,
    describe_immutable,
)
from tacker_cnf.drivers.kubernetes.pod_references import Reference
from tacker_cnf.drivers.kubernetes.pod_update import PodUpdate, changed_images

#: updateStrategy by which pods are replaced only when they are deleted
ON_DELETE: Final = "OnDelete"


class UpdateTask:
    """The ``written`` and ``restarted`` objects of a plan in one cluster."""

    def __init__(self, cluster_task: ClusterTask, plan: ObjectPlan) -> None:
        self._cluster_task = cluster_task
        self._written = plan.written
        self._restarted = cluster_task.select_own(plan.restarted)
        self._mark = plan.mark

    def write(self) -> frozenset[Reference]:
        """Write the ConfigMaps and Secrets.

        :returns: those whose content has changed for the pods that read them
        :raises InfraError: the cluster failed
        """
        return frozenset(
            (change.after.kind, change.after.name)
            for change in self._written
            if self._write(change)
        )

    def restart(self, written: Iterable[Reference]) -> None:
        """Set the images of the workloads, restart the pods that read what
        was written, and wait until all changed workloads are ready.

        :raises InfraError: the cluster failed, or was not ready in time
        """
        updated = [
            change
            for change in self._restarted
            if self._update_workload(change, written)
        ]
        for change in updated:
            if change.after.kind == "Pod":
                self._pod_update(change).wait_restarted()
            else:
                self._replace_pods(change.after)
        self._cluster_task.waiter.wait_ready(
            change.after for change in updated
        )

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
        with (
            manifest.locate_errors(),
            resource_progress.changing(self._cluster_task.progress, manifest),
        ):
            self._cluster_task.cluster.patch(
                resource, manifest.name, namespace, change
            )

    def _write(self, change: ManifestChange) -> bool:
        """Write the content of a ConfigMap or Secret.

        :returns: whether this or an earlier attempt changes the content that
            pods read
        :raises VimRejected: the object is immutable
        """
        live = self._get_own(change.after)
        if live is None:
            self._cluster_task.apply_manifests(
                [self._mark.put_on(change.after)]
            )
            return True
        is_changed = change.changes_content(live, self._mark)
        if is_changed and not content.is_same_content(live, change.after.body):
            if live.get("immutable"):
                raise errors.VimRejected(describe_immutable(change.after))
            new = content.content_of(change.after.body)
            self._patch(change.after, self._content_patch(live, new))
        return is_changed

    def _content_patch(self, live: Object, new: Object) -> Object:
        change: Object = {"metadata": {"annotations": {MARK: str(self._mark)}}}
        for name in content.CONTENT_FIELDS:
            removed = (live.get(name) or {}).keys() - new[name].keys()
            # only if needed: Secrets lack binaryData
            if changed := {**new[name], **dict.fromkeys(removed)}:
                change[name] = changed
        return change

    def _update_workload(
        self, change: ManifestChange, written: Iterable[Reference]
    ) -> bool:
        """Change a workload where it differs.

        :returns: whether there is a change, by this or an earlier attempt, or
            by an update that was given up
        :raises NotReady: the workload does not exist
        """
        live = self._get_own(change.after)
        if change.after.kind == "Pod":
            return self._update_pod(change, live, written)
        if live is None:
            raise readiness.workload_not_found(change.after)
        template = live["spec"]["template"]
        reads = pod_references.pod_reads(template["spec"]) & set(written)
        images = changed_images(template["spec"], change.after.body["spec"])
        has_mark = self._mark.is_on(live)
        if not has_mark and (self._mark.undoes or not (reads or images)):
            return self._is_already_updated(change)
        if images or marks.mark_of(live) != str(self._mark):
            self._patch_template(change.after, live, images)
        return True

    def _patch_template(
        self, manifest: Manifest, live: Object, images: Object
    ) -> None:
        """Change the pod template of a workload. A rollback restores the
        template of before the operation; pods that still have it are kept.
        """
        template = {
            "metadata": {"annotations": {MARK: self._mark.for_template(live)}},
            "spec": images,
        }
        self._patch(
            manifest,
            {
                "metadata": {"annotations": self._mark.for_workload(live)},
                "spec": {"template": template},
            },
        )

    def mark(
        self, body: Object, live: Object, written: Iterable[Reference]
    ) -> None:
        """Mark the body with which a workload will be replaced, so that its
        pods restart if they read what was written.
        """
        template = body["spec"]["template"]
        if self._mark.undoes:
            restarts = self._mark.is_on(live)
        else:
            reads = pod_references.pod_reads(template["spec"])
            restarts = not reads.isdisjoint(written)
        mark = marks.mark_of(live["spec"]["template"])
        if restarts:
            mark = self._mark.for_template(live)
            marks.annotate(body, self._mark.for_workload(live))
        marks.annotate(template, {MARK: mark})

    def _update_pod(
        self,
        change: ManifestChange,
        live: Object | None,
        written: Iterable[Reference],
    ) -> bool:
        update = self._pod_update(change)
        if live is None:
            return update.recreate(written)
        if self._mark.undoes and not self._mark.is_on(live):
            return False
        if marks.mark_of(live) == str(self._mark):
            return True  # changed by an earlier attempt
        return update.change(live, written) or self._is_already_updated(change)

    def _is_already_updated(self, change: ManifestChange) -> bool:
        """Return whether a workload has the images of this update already. An
        update that was given up may have left it without running pods.
        """
        before, after = (m.body["spec"] for m in (change.before, change.after))
        return not self._mark.undoes and bool(changed_images(before, after))

    def _pod_update(self, change: ManifestChange) -> PodUpdate:
        return PodUpdate(
            self._cluster_task, change.before, change.after, self._mark
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
        mark = marks.mark_of(live["spec"]["template"])
        return [
            pod
            for pod in self._cluster_task.pods()
            if any(
                owner["uid"] == live["metadata"]["uid"]
                for owner in pod["metadata"].get("ownerReferences", ())
            )
            and self._mark.is_outdated(pod, mark)
        ]

    def _replace_pod(self, pod: Object) -> None:
        self._cluster_task.delete_pods([pod])
        self._cluster_task.waiter.wait_pods_deleted({pod["metadata"]["uid"]})
