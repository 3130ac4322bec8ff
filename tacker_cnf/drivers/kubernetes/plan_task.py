"""The execution of a plan in one cluster."""

import copy
from collections.abc import Callable, Iterable
from typing import Final

from tacker_cnf.drivers.kubernetes import (
    pod_references,
    resource_progress,
)
from tacker_cnf.drivers.kubernetes.api_errors import Conflict
from tacker_cnf.drivers.kubernetes.cluster_task import (
    MAX_ATTEMPTS,
    ClusterTask,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    POD_OWNER_KINDS,
    Manifest,
    Rendered,
    pod_templates,
)
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.plan import ObjectPlan
from tacker_cnf.drivers.kubernetes.pod_references import Reference
from tacker_cnf.drivers.kubernetes.update_task import UpdateTask

SERVICE_ACCOUNT: Final = "ServiceAccount"


class PlanTask:
    """The execution of a plan in one cluster."""

    def __init__(self, cluster_task: ClusterTask, plan: ObjectPlan) -> None:
        self._cluster_task = cluster_task
        self._plan = plan
        self._update = UpdateTask(cluster_task, plan)
        self._created = cluster_task.select_own(plan.created)
        self._rolled = cluster_task.select_own(plan.rolled)
        self._scaled = cluster_task.select_own(plan.scaled)
        self._applied = cluster_task.select_own(plan.applied)
        #: uids of the pods that a stop deletes
        self._stopped: set[str] = set()

    def change(
        self, on_rolled: Callable[[ClusterTask, Manifest], None]
    ) -> None:
        """Create and change objects, roll the Deployments, restart the other
        pods that read what has changed, and scale.

        :param on_rolled: called after each Deployment, before the next
        :raises InfraError: the cluster failed, or was not ready in time
        """
        self._cluster_task.apply_manifests([*self._created, *self._applied])
        written = self._update.write()
        if not self._plan.mark.undoes:
            written |= {(m.kind, m.name) for m in self._created if m.is_core}
        for manifest in self._rolled:
            self._roll(manifest, written)
            on_rolled(self._cluster_task, manifest)
        self._update.restart(written)
        self._cluster_task.scale(self._scaled)
        if self._plan.stops:
            self._stopped = self._cluster_task.stop_pods(
                self._scaled, self._plan.grace
            )

    def finish(self) -> None:
        """Wait until the pods of a stop are deleted, and the created, rolled
        and scaled objects ready; then delete the obsolete ones.

        :raises InfraError: the cluster failed, or was not ready in time
        """
        self._cluster_task.waiter.wait_pods_deleted(self._stopped)
        self._cluster_task.waiter.wait_ready(
            [*self._created, *self._rolled, *self._scaled]
        )
        if self._plan.before is not None:
            self._delete_obsolete(self._plan.before)

    def _roll(self, manifest: Manifest, written: Iterable[Reference]) -> None:
        """Replace a workload by its manifest, at its present size.

        :raises NotReady: the workload does not exist
        :raises Conflict: another client changes it again and again
        """
        cluster = self._cluster_task.cluster
        resource = cluster.kind(manifest.api_version, manifest.kind)
        namespace = self._cluster_task.rendered.namespace
        self._cluster_task.progress(f"Rolling {manifest}")
        for attempt in range(1, MAX_ATTEMPTS + 1):
            live = self._cluster_task.read(manifest)
            body = merge_live(live, manifest)
            self._update.mark(body, live, written)
            try:
                with (
                    manifest.locate_errors(),
                    resource_progress.changing(
                        self._cluster_task.progress, manifest
                    ),
                ):
                    cluster.replace(resource, body, namespace)
                return
            except Conflict:  # 409: another client has changed the object
                if attempt == MAX_ATTEMPTS:
                    raise

    def _delete_obsolete(self, before: Rendered) -> None:
        """Delete the instance's objects that the plan does not have: first
        what creates pods, then what no remaining pod needs.
        """
        after = self._plan.after
        found = self._cluster_task.owned([*before.objects, *after.objects])
        obsolete = set(
            self._plan.obsolete(m.key_of(body) for m, body in found)
        )
        to_delete = [
            (manifest, body)
            for manifest, body in found
            if manifest.key_of(body) in obsolete
        ]
        pod_owners = [
            entry for entry in to_delete if entry[0].kind in POD_OWNER_KINDS
        ]
        self._remove(pod_owners)
        used = list_references(
            self._cluster_task.pods(),
            (entry[1] for entry in found if entry not in pod_owners),
        )
        self._remove(
            (manifest, body)
            for manifest, body in to_delete
            if manifest.kind not in POD_OWNER_KINDS
            and not (
                manifest.is_core
                and (manifest.kind, body["metadata"]["name"]) in used
            )
        )

    def _remove(self, to_delete: Iterable[tuple[Manifest, Object]]) -> None:
        found = list(to_delete)
        for manifest, body in found:
            name = body["metadata"]["name"]
            self._cluster_task.progress(f"Deleting {manifest.kind} {name}")
        self._cluster_task.remove(found, [], None)


def list_references(
    pods: Iterable[Object], others: Iterable[Object]
) -> set[Reference]:
    """Return what pods need to start: existing pods, and those that workloads
    would create, which may belong to an older package.

    :param others: bodies of the workloads
    """
    used: set[Reference] = set()
    templates = (t for body in others for t in pod_templates(body))
    for body in (*pods, *templates):
        spec = body.get("spec") or {}
        used |= pod_references.pod_reads(spec)
        used.add((SERVICE_ACCOUNT, spec.get("serviceAccountName", "")))
    return used


def merge_live(live: Object, manifest: Manifest) -> Object:
    """Return the body that replaces an object: its manifest, with the size and
    the metadata that the object has.
    """
    body = copy.deepcopy(manifest.body)
    meta = body["metadata"]
    merged = {
        k: v for k, v in live["metadata"].items() if k != "managedFields"
    }
    for name in ("labels", "annotations"):
        values = {**(merged.get(name) or {}), **(meta.get(name) or {})}
        if values:
            merged[name] = values
    if "replicas" in live["spec"]:
        # keep the present size: an autoscaler may have changed it
        body["spec"]["replicas"] = live["spec"]["replicas"]
    return {**body, "metadata": merged}
