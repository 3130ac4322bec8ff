"""One task in one cluster: make, scale, replace, remove."""

from collections.abc import Iterable
from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes import inventory, readiness
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import (
    INSTANCE_LABEL,
    KEPT,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.readiness import Waiter
from tacker_cnf.drivers.kubernetes.refusals import AlreadyExists, Gone
from tacker_cnf.lcm.outcome import InfraResult

Object = dict[str, Any]


class Work:
    """One task in one cluster."""

    def __init__(
        self, cluster: Cluster, rendered: Rendered, waiter: Waiter
    ) -> None:
        self.cluster = cluster
        self.rendered = rendered
        self.waiter = waiter

    def inventory(self) -> InfraResult:
        return inventory.read(self.cluster, self.rendered)

    def make(self, objects: Iterable[Manifest]) -> None:
        """Make what is missing, and what is ours as the manifest says."""
        for manifest in objects:
            resource = self._kind(manifest)
            try:
                self.cluster.create(
                    resource, manifest.body, self._place(resource)
                )
            except AlreadyExists:
                self._take_over(resource, manifest)
            if manifest.kind == "CustomResourceDefinition":
                self.waiter.all_ready([manifest])

    def _take_over(self, resource: Any, manifest: Manifest) -> None:
        place = self._place(resource)
        found = self.cluster.get(resource, manifest.name, place)
        if found is None or "deletionTimestamp" in found["metadata"]:
            # it is on its way out, and then ours can come
            self._await_gone(manifest, found)
            self.cluster.create(resource, manifest.body, place)
            return
        if not self._is_ours(found):
            raise errors.VimRefused(
                f"{manifest.kind} {manifest.name} exists in the cluster and "
                "does not belong to this VNF instance."
            )
        if manifest.kind not in KEPT:
            self.cluster.apply(resource, manifest.body, place)

    def _await_gone(self, manifest: Manifest, found: Object | None) -> None:
        if found:
            self.waiter.all_gone(
                manifest.api_version,
                manifest.kind,
                {found["metadata"]["uid"]},
            )

    def _kind(self, manifest: Manifest) -> Any:
        return self.cluster.kind(manifest.api_version, manifest.kind)

    def _place(self, resource: Any) -> str | None:
        return self.rendered.namespace if resource.namespaced else None

    def _is_ours(self, found: Object) -> bool:
        labels = found["metadata"].get("labels", {})
        return bool(labels.get(INSTANCE_LABEL) == self.rendered.instance_id)

    def scale(self, workloads: Iterable[Manifest]) -> None:
        """Set the replicas of workloads, and touch nothing else."""
        for manifest in workloads:
            try:
                self.cluster.scale(
                    self._kind(manifest),
                    manifest.name,
                    self.rendered.namespace,
                    self.rendered.counts[manifest.vdu_id or ""],
                )
            except Gone:
                raise readiness.missing(manifest) from None

    def owned(
        self, objects: Iterable[Manifest]
    ) -> list[tuple[Manifest, Object]]:
        """Find what of the manifests is there and ours, the last made first,
        and the claims that StatefulSets made.
        """
        found: list[tuple[Manifest, Object]] = []
        seen: set[tuple[str, str]] = set()
        for manifest in reversed([*_claims(objects), *objects]):
            key = (manifest.api_version, manifest.kind)
            if key not in seen:
                seen.add(key)
                found += ((manifest, body) for body in self._list(manifest))
        return found

    def _list(self, manifest: Manifest) -> list[Object]:
        try:
            resource = self._kind(manifest)
            if not {"list", "delete"} <= set(resource.verbs):
                return []  # a question, such as a TokenReview: it never was
            found: list[Object] = self.cluster.list(
                resource,
                self._place(resource),
                label_selector=self.rendered.selector,
            )["items"]
        except Gone:
            return []
        return [body for body in found if not _has_controller(body)]

    def remove(
        self,
        found: Iterable[tuple[Manifest, Object]],
        pods: Iterable[Object],
        grace: int | None,
    ) -> None:
        """Delete objects and wait until they and their pods have gone.

        :param grace: seconds the pods may take to end; None: what they say
        """
        uids: dict[tuple[str, str], set[str]] = {}
        for manifest, body in found:
            self.cluster.delete(self._kind(manifest), body, grace=grace)
            key = (manifest.api_version, manifest.kind)
            uids.setdefault(key, set()).add(body["metadata"]["uid"])
        for pod in pods:
            if grace is not None:
                # a workload's own deletion leaves its pods their full time
                self._delete_pods([pod], grace)
            uids.setdefault(("v1", "Pod"), set()).add(pod["metadata"]["uid"])
        for (api_version, kind), doomed in uids.items():
            self.waiter.all_gone(api_version, kind, doomed)

    def pods(self) -> list[Object]:
        """List the pods of the instance."""
        found: list[Object] = self.cluster.list(
            self.cluster.kind("v1", "Pod"),
            self.rendered.namespace,
            label_selector=self.rendered.selector,
        )["items"]
        return found

    def _delete_pods(
        self, pods: Iterable[Object], grace: int | None = None
    ) -> None:
        resource = self.cluster.kind("v1", "Pod")
        for pod in pods:
            self.cluster.delete(resource, pod, grace=grace)

    def replace_pods(self, task: InfraTask) -> None:
        """Heal VNFCs: delete their pods, make singletons again, wait."""
        vdus = {vnfc.vdu_id for vnfc in task.vnfcs}
        healed = [
            m for vdu, m in self.rendered.workloads.items() if vdu in vdus
        ]
        pods = self.pods()
        doomed = set(task.notes)
        if not doomed:
            for manifest in healed:
                self.waiter.size(manifest)  # who will make them anew is there
            doomed = _uids_of(task, pods)
            task.note(tuple(sorted(doomed)))
        self._delete_pods(p for p in pods if p["metadata"]["uid"] in doomed)
        self.waiter.all_gone("v1", "Pod", doomed)
        self.make(m for m in healed if m.kind == "Pod")
        self.waiter.all_ready(healed)

    def replace_all(self, task: InfraTask) -> None:
        """Heal the whole VNF: delete what holds no data, and make it anew."""
        found = [
            (manifest, body)
            for manifest, body in self.owned(self.rendered.objects)
            if manifest.kind not in KEPT
        ]
        pods = self.pods()
        doomed = set(task.notes)
        if not doomed:
            bodies = [*(body for _, body in found), *pods]
            doomed = {body["metadata"]["uid"] for body in bodies}
            task.note(tuple(sorted(doomed)))
        self.remove(
            [(m, b) for m, b in found if b["metadata"]["uid"] in doomed],
            [pod for pod in pods if pod["metadata"]["uid"] in doomed],
            None,
        )
        self.make(self.rendered.objects)
        self.waiter.all_ready(self.rendered.objects)


def _claims(objects: Iterable[Manifest]) -> list[Manifest]:
    """Stand for the claims that the StatefulSets among these make."""
    if not any(m.kind == "StatefulSet" for m in objects):
        return []
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return [Manifest({**kind, "metadata": {}})]


def _has_controller(body: Object) -> bool:
    """Tell whether another object made this one, and takes it along."""
    owners = body["metadata"].get("ownerReferences", ())
    return any(owner.get("controller") for owner in owners)


def _uids_of(task: InfraTask, pods: Iterable[Object]) -> set[str]:
    """Find the pods of the VNFCs that are to be healed.

    :raises InfraError: one of them no longer exists
    """
    uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}
    missing = [v.id for v in task.vnfcs if v.id not in uids]
    if missing:
        raise errors.InfraError(
            f"Pod {', '.join(missing)} no longer exists in the cluster. Fail "
            "this operation, synchronize the VNF instance (POST .../sync), "
            "and heal by the new ids."
        )
    return {uids[vnfc.id] for vnfc in task.vnfcs}
