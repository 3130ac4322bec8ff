"""One task in one cluster: make, scale, replace, remove."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    inventory,
    lost_vnfcs,
    managed_fields,
    readiness,
)
from tacker_cnf.drivers.kubernetes.api_errors import Conflict, NotFound
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import (
    IMMUTABLE_KINDS,
    INSTANCE_LABEL,
    RETAINED_KINDS,
    Manifest,
    Rendered,
    sort_for_creation,
    without_labels,
)
from tacker_cnf.drivers.kubernetes.readiness import Waiter
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

Object = dict[str, Any]

PODS: Final = ("v1", "Pod")
#: how often an object is read again when somebody else changes it, too
MAX_ATTEMPTS: Final = 5


class ClusterTask:
    """One task in one cluster."""

    def __init__(
        self,
        key: str,
        cluster: Cluster,
        rendered: Rendered,
        waiter: Waiter,
        progress: Progress,
    ) -> None:
        self._key = key
        self.cluster = cluster
        self.rendered = rendered
        self.waiter = waiter
        self.progress = progress

    def vnfcs(
        self, previous_vnfcs: Iterable[VnfcResourceInfo]
    ) -> tuple[VnfcResourceInfo, ...]:
        """List the VNFCs: those of living pods, then those that are lost.

        :param previous_vnfcs: what the instance had
        """
        found = inventory.list_vnfcs(self.cluster, self.rendered, self._key)
        lost = lost_vnfcs.find(
            self.cluster, self.rendered, previous_vnfcs, found
        )
        return (*found, *lost)

    def apply_manifests(self, objects: Iterable[Manifest]) -> None:
        """Make what is missing, and what is ours as the manifest says."""
        applied: list[Manifest] = []
        wanted = tuple(objects)
        with self.finish_on_cancel(lambda: self.waiter.wait_ready(applied)):
            for manifest in wanted:
                self.cluster.cancel_token.check()
                self.progress(
                    f"Making {manifest.kind} {manifest.name}, {len(applied)} of "
                    f"{len(wanted)} objects are made"
                )
                with manifest.locate_errors():
                    self._create_or_adopt(manifest)
                applied.append(manifest)

    def _create_or_adopt(self, manifest: Manifest) -> None:
        resource = self._kind(manifest)
        body = manifest.body
        if not _is_stored(resource):
            body = without_labels(body)
        try:
            self.cluster.create(resource, body, self._namespace_of(resource))
        except Conflict:
            self._adopt(resource, manifest)
        if manifest.kind == "CustomResourceDefinition":
            self.waiter.wait_ready([manifest])

    @contextlib.contextmanager
    def finish_on_cancel(self, wait: Callable[[], None]) -> Iterator[None]:
        """When the work is called off between two changes of this block,
        wait for those that were made (SOL003 5.4.17, GRACEFUL).
        """
        try:
            yield
        except errors.VnfmError as error:
            if self.cluster.cancel_token.reason is error:
                with contextlib.suppress(errors.InfraError):
                    wait()
            raise

    def _adopt(self, resource: Any, manifest: Manifest) -> None:
        namespace = self._namespace_of(resource)
        found = self.cluster.get(resource, manifest.name, namespace)
        if found is None or "deletionTimestamp" in found["metadata"]:
            # it is on its way out, and then ours can come
            self._wait_deleted(manifest, found)
            self.cluster.create(resource, manifest.body, namespace)
            return
        if not self._is_ours(found):
            raise errors.VimRejected(
                f"{manifest.kind} {manifest.name} exists in the cluster and "
                "does not belong to this VNF instance."
            )
        if manifest.kind not in RETAINED_KINDS and not _is_up_to_date(
            manifest, found
        ):
            self._apply(resource, manifest, found)

    def _apply(self, resource: Any, manifest: Manifest, found: Object) -> None:
        """Make an object as its manifest says; what we made it with and the
        manifest no longer has goes.
        """
        namespace = self._namespace_of(resource)
        live: Object | None = found
        for attempt in range(1, MAX_ATTEMPTS + 1):
            owners = live and managed_fields.entries_for_apply(live)
            if not live or not owners:
                break
            try:
                self.cluster.set_managed_fields(resource, live, owners)
                break
            except Conflict:  # so 409 is told: it has just changed
                if attempt == MAX_ATTEMPTS:
                    raise
            live = self.cluster.get(resource, manifest.name, namespace)
        self.cluster.apply(resource, manifest.body, namespace)

    def _wait_deleted(self, manifest: Manifest, found: Object | None) -> None:
        if found:
            self.waiter.wait_deleted(
                manifest.api_version,
                manifest.kind,
                {found["metadata"]["uid"]},
            )

    def _kind(self, manifest: Manifest) -> Any:
        return self.cluster.kind(manifest.api_version, manifest.kind)

    def _namespace_of(self, resource: Any) -> str | None:
        return self.rendered.namespace if resource.namespaced else None

    def _is_ours(self, found: Object) -> bool:
        labels = found["metadata"].get("labels", {})
        return bool(labels.get(INSTANCE_LABEL) == self.rendered.instance_id)

    def select_own(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """Choose what of these manifests is in this cluster."""
        return [m for m in manifests if m in self.rendered.objects]

    def scale(self, workloads: Iterable[Manifest]) -> None:
        """Set the replicas of workloads, and touch nothing else."""
        scaled: list[Manifest] = []
        with self.finish_on_cancel(lambda: self.waiter.wait_ready(scaled)):
            for manifest in workloads:
                self._scale(manifest)
                scaled.append(manifest)

    def _scale(self, manifest: Manifest) -> None:
        count = self.rendered.counts[manifest.vdu_id or ""]
        self.progress(f"Scaling {manifest.kind} {manifest.name} to {count}")
        try:
            self.cluster.scale(
                self._kind(manifest),
                manifest.name,
                self.rendered.namespace,
                count,
            )
        except NotFound:
            raise readiness.workload_not_found(manifest) from None

    def owned(
        self, objects: Iterable[Manifest]
    ) -> list[tuple[Manifest, Object]]:
        """Find what is ours and of the kinds of the manifests, the last made
        first, and the claims that StatefulSets made.
        """
        found: list[tuple[Manifest, Object]] = []
        seen: set[tuple[str, str]] = set()
        for manifest in reversed([*_claim_manifests(objects), *objects]):
            key = (manifest.api_version, manifest.kind)
            if key not in seen:
                seen.add(key)
                found += ((manifest, body) for body in self._list(manifest))
        return found

    def all_owned(self) -> list[tuple[Manifest, Object]]:
        """Find all that is ours, whatever package it is of."""
        objects = self.rendered.objects
        former = [
            _kind_manifest(*kind) for kind in self.rendered.previous_kinds
        ]
        return self.owned([*sort_for_creation(former), *objects])

    def _list(self, manifest: Manifest) -> list[Object]:
        try:
            resource = self._kind(manifest)
            if not _is_stored(resource):
                return []
            found: list[Object] = self.cluster.list(
                resource,
                self._namespace_of(resource),
                label_selector=self.rendered.selector,
            )["items"]
        except NotFound:
            return []
        return [body for body in found if not inventory.controller_of(body)]

    def remove(
        self,
        found: Iterable[tuple[Manifest, Object]],
        pods: Sequence[Object],
        grace: int | None,
    ) -> None:
        """Delete objects and wait until they and their pods have gone.

        :param grace: seconds the pods may take to end; None: what they say
        """
        uids: dict[tuple[str, str], set[str]] = {PODS: set()}
        with self.finish_on_cancel(lambda: self._wait_all_deleted(uids)):
            for manifest, body in found:
                self.cluster.delete(self._kind(manifest), body, grace=grace)
                key = (manifest.api_version, manifest.kind)
                uids.setdefault(key, set()).add(body["metadata"]["uid"])
            if grace is not None:
                # a workload's own deletion leaves its pods their full time
                self.delete_pods(pods, grace)
        uids[PODS].update(pod["metadata"]["uid"] for pod in pods)
        self._wait_all_deleted(uids)

    def _wait_all_deleted(
        self, uids: Mapping[tuple[str, str], set[str]]
    ) -> None:
        # the others wait for their pods, and these may have to be ended
        self.waiter.wait_pods_deleted(uids[PODS])
        for key, deleted in uids.items():
            if key != PODS:
                self.waiter.wait_deleted(*key, deleted)

    def pods(self) -> list[Object]:
        """List the pods of the instance."""
        found: list[Object] = self.cluster.list(
            self.cluster.kind("v1", "Pod"),
            self.rendered.namespace,
            label_selector=self.rendered.selector,
        )["items"]
        return found

    def delete_pods(
        self, pods: Iterable[Object], grace: int | None = None
    ) -> None:
        """Delete pods, and wait for none.

        :param grace: seconds they may take to end; None: what they say
        """
        resource = self.cluster.kind("v1", "Pod")
        for pod in pods:
            self.cluster.delete(resource, pod, grace=grace)


def _is_stored(resource: Any) -> bool:
    """Check whether objects of a kind are kept; the others are questions
    (TokenReview, access reviews) or commands (Binding), answered at once.
    """
    return {"list", "delete"} <= set(resource.verbs)


def _is_up_to_date(manifest: Manifest, found: Object) -> bool:
    """Check whether an object that cannot change is as its manifest says."""
    if manifest.kind not in IMMUTABLE_KINDS:
        return False
    return all(
        found.get(name) == value
        for name, value in manifest.body.items()
        if name != "metadata"
    )


def _claim_manifests(objects: Iterable[Manifest]) -> list[Manifest]:
    """Stand for the claims that the StatefulSets among these make."""
    if not any(m.kind == "StatefulSet" for m in objects):
        return []
    return [_kind_manifest("v1", "PersistentVolumeClaim")]


def _kind_manifest(api_version: str, kind: str) -> Manifest:
    """Stand for all objects of a kind."""
    return Manifest({"apiVersion": api_version, "kind": kind, "metadata": {}})
