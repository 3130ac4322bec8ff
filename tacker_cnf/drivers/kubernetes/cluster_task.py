"""A task in one cluster: create, scale and delete the objects."""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    inventory,
    lost_vnfcs,
    managed_fields,
    readiness,
    resource_progress,
)
from tacker_cnf.drivers.kubernetes.api_errors import Conflict, NotFound
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.cluster_session import MAX_REQUESTS
from tacker_cnf.drivers.kubernetes.manifests import (
    IMMUTABLE_KINDS,
    INSTANCE_LABEL,
    RETAINED_KINDS,
    STOPPED_SELECTOR,
    Manifest,
    Rendered,
    sort_for_creation,
    without_labels,
)
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.plan import ManifestChange
from tacker_cnf.drivers.kubernetes.readiness import ObjectWaiter
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.runtime.concurrent_calls import call_each
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

PODS: Final = ("v1", "Pod")
#: attempts to change an object that other clients change too
MAX_ATTEMPTS: Final = 5

K = TypeVar("K", Manifest, ManifestChange)


class ClusterTask:
    """A task in one cluster."""

    def __init__(
        self,
        key: str,
        cluster: Cluster,
        rendered: Rendered,
        waiter: ObjectWaiter,
        progress: Progress,
    ) -> None:
        #: of the cluster in vimConnectionInfo
        self.key = key
        self.cluster = cluster
        self.rendered = rendered
        self.waiter = waiter
        self.progress = progress

    def vnfcs(
        self, previous_vnfcs: Iterable[VnfcResourceInfo]
    ) -> tuple[VnfcResourceInfo, ...]:
        """Return the VNFCs: those of living pods, then the lost ones.

        :param previous_vnfcs: VNFCs of the instance before the task
        """
        found = inventory.list_vnfcs(self.cluster, self.rendered, self.key)
        lost = lost_vnfcs.find(
            self.cluster, self.rendered, previous_vnfcs, found
        )
        return (*found, *lost)

    def apply_manifests(self, objects: Iterable[Manifest]) -> None:
        """Create missing objects, and apply manifests to existing ones, those
        of one kind that follow each other at the same time.

        :raises VimRejected: an object is not valid, or exists without the
            label of the instance
        """
        applied: list[Manifest] = []
        wanted = tuple(objects)

        def create(manifest: Manifest) -> None:
            self.cluster.cancel_token.check()
            self.progress(
                f"Creating {manifest.kind} {manifest.name}, {len(applied)} "
                f"of {len(wanted)} objects are created"
            )
            with (
                manifest.locate_errors(),
                resource_progress.changing(self.progress, manifest),
            ):
                self._create_or_adopt(manifest)
            applied.append(manifest)

        with self.finish_on_cancel(lambda: self.waiter.wait_ready(applied)):
            for group in _independent(wanted):
                with group[0].locate_errors():
                    self._kind(group[0])  # discovered once
                call_each(create, group, MAX_REQUESTS)

    def _create_or_adopt(self, manifest: Manifest) -> None:
        resource = self._kind(manifest)
        body = manifest.body
        if not _is_stored(resource):
            body = without_labels(body)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                self.cluster.create(
                    resource, body, self._namespace_of(resource)
                )
                break
            except Conflict:  # it exists, or its ResourceQuota has changed
                if self._adopt(resource, manifest):
                    break
                if attempt == MAX_ATTEMPTS:
                    raise
        if manifest.kind == "CustomResourceDefinition":
            self.waiter.wait_ready([manifest])

    @contextlib.contextmanager
    def finish_on_cancel(self, wait: Callable[[], None]) -> Iterator[None]:
        """If the task is cancelled between two changes within this block, wait
        for those already made (SOL003 5.4.17, GRACEFUL).
        """
        try:
            yield
        except errors.VnfmError as error:
            if self.cluster.cancel_token.reason is error:
                with contextlib.suppress(errors.InfraError):
                    wait()
            raise

    def _adopt(self, resource: Any, manifest: Manifest) -> bool:
        """Apply the manifest of an object that exists; return False if there
        is none, after the end of one that is being deleted.
        """
        namespace = self._namespace_of(resource)
        found = self.cluster.get(resource, manifest.name, namespace)
        if found is None or "deletionTimestamp" in found["metadata"]:
            self._wait_deleted(manifest, found)
            return False
        if not self._is_ours(found):
            raise errors.VimRejected(
                f"{manifest.kind} {manifest.name} exists in the cluster and "
                "does not belong to this VNF instance."
            )
        if needs_apply(manifest, found):
            self._apply(resource, manifest, found)
        return True

    def _apply(self, resource: Any, manifest: Manifest, found: Object) -> None:
        """Apply the manifest of an object. Fields that an earlier manifest set
        and this one does not have are removed.
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
            except Conflict:  # 409: another client has changed the object
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

    def select_own(self, manifests: Iterable[K]) -> list[K]:
        """Return those of these manifests, or changes of manifests, whose
        objects are in this cluster.
        """
        keys = {manifest.key for manifest in self.rendered.objects}
        return [manifest for manifest in manifests if manifest.key in keys]

    def read(self, workload: Manifest) -> Object:
        """Read a workload.

        :raises NotReady: it does not exist
        """
        live = self.cluster.get(
            self._kind(workload), workload.name, self.rendered.namespace
        )
        if live is None:
            raise readiness.workload_not_found(workload)
        return live

    def scale(self, workloads: Iterable[Manifest]) -> None:
        """Set the replicas of workloads, and change nothing else."""
        scaled: list[Manifest] = []
        with self.finish_on_cancel(lambda: self.waiter.wait_ready(scaled)):
            for manifest in workloads:
                self._scale(manifest)
                scaled.append(manifest)

    def _scale(self, manifest: Manifest) -> None:
        if manifest.kind == "Pod":
            if self.rendered.exists(manifest):
                self.apply_manifests([manifest])
            return  # else stop_pods() deletes it
        count = self.rendered.size_of(manifest)
        self.progress(f"Scaling {manifest.kind} {manifest.name} to {count}")
        place = (self._kind(manifest), manifest.name, self.rendered.namespace)
        try:
            with resource_progress.changing(self.progress, manifest):
                if manifest.kind == "DaemonSet":
                    self.cluster.patch(*place, self._node_selector())
                else:
                    self.cluster.scale(*place, count)
        except NotFound:
            raise readiness.workload_not_found(manifest) from None

    def _node_selector(self) -> Object:
        """Return the patch of a DaemonSet that is stopped or started."""
        value = "true" if self.rendered.is_stopped else None
        pod_spec = {"nodeSelector": {STOPPED_SELECTOR: value}}
        return {"spec": {"template": {"spec": pod_spec}}}

    def stop_pods(
        self, workloads: Iterable[Manifest], grace: int | None
    ) -> set[str]:
        """Delete the pods of workloads that shall have none, without waiting.

        :param grace: grace period in seconds; None: that of the pod
        :returns: the uids of the pods
        """
        vdus = {manifest.vdu_id for manifest in workloads}
        pods = [pod for pod in self.pods() if inventory.vdu_of(pod) in vdus]
        self.delete_pods(pods, grace)
        return {pod["metadata"]["uid"] for pod in pods}

    def owned(
        self, objects: Iterable[Manifest]
    ) -> list[tuple[Manifest, Object]]:
        """Find the instance's objects of the kinds of some manifests, in
        reverse order of creation, and the claims of StatefulSets.

        :returns: (manifest of the kind, body) of each object
        """
        found: list[tuple[Manifest, Object]] = []
        seen: set[tuple[str, str]] = set()
        for manifest in reversed([*_claim_manifests(objects), *objects]):
            key = _kind_of(manifest)
            if key not in seen:
                seen.add(key)
                found += ((manifest, body) for body in self._list(manifest))
        return found

    def all_owned(self) -> list[tuple[Manifest, Object]]:
        """Find all objects of the instance, also of its earlier packages."""
        objects = self.rendered.objects
        previous = [
            _kind_manifest(*kind) for kind in self.rendered.previous_kinds
        ]
        return self.owned([*sort_for_creation(previous), *objects])

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
        """Delete objects, those of one kind at the same time, and wait until
        they and some pods are deleted.

        :param grace: grace period of the pods in seconds; None: their own
        """
        uids: dict[tuple[str, str], set[str]] = {PODS: set()}

        def delete(entry: tuple[Manifest, Object]) -> None:
            manifest, body = entry
            self.cluster.cancel_token.check()
            self.progress.resource(
                resource_progress.of_deleted(manifest.kind, body)
            )
            self.cluster.delete(self._kind(manifest), body, grace=grace)
            uids.setdefault(_kind_of(manifest), set()).add(
                body["metadata"]["uid"]
            )

        with self.finish_on_cancel(lambda: self._wait_all_deleted(uids)):
            kinds = itertools.groupby(found, lambda entry: _kind_of(entry[0]))
            for _, of_kind in kinds:
                call_each(delete, list(of_kind), MAX_REQUESTS)
            if grace is not None:
                # deleting the workload would leave the pods their own period
                self.delete_pods(pods, grace)
        uids[PODS].update(pod["metadata"]["uid"] for pod in pods)
        self._wait_all_deleted(uids)

    def _wait_all_deleted(
        self, uids: Mapping[tuple[str, str], set[str]]
    ) -> None:
        # pods first: other objects wait for theirs, which may need force
        self.waiter.wait_pods_deleted(uids[PODS])
        for key, deleted in uids.items():
            if key != PODS:
                self.waiter.wait_deleted(*key, deleted)

    def pods(self) -> list[Object]:
        """Return the pods of the instance."""
        found: list[Object] = self.cluster.list(
            self.cluster.kind("v1", "Pod"),
            self.rendered.namespace,
            label_selector=self.rendered.selector,
        )["items"]
        return found

    def delete_pods(
        self, pods: Iterable[Object], grace: int | None = None
    ) -> None:
        """Delete pods, without waiting.

        :param grace: grace period in seconds; None: that of the pod
        """
        resource = self.cluster.kind("v1", "Pod")

        def delete(pod: Object) -> None:
            self.cluster.cancel_token.check()
            self.progress.resource(resource_progress.of_deleted("Pod", pod))
            self.cluster.delete(resource, pod, grace=grace)

        call_each(delete, list(pods), MAX_REQUESTS)


def _kind_of(manifest: Manifest) -> tuple[str, str]:
    return manifest.api_version, manifest.kind


def _independent(manifests: Iterable[Manifest]) -> Iterator[list[Manifest]]:
    """Yield the manifests of one kind that follow each other; two of the same
    object, of which the later one is valid, are in two lists.
    """
    for _, of_kind in itertools.groupby(manifests, _kind_of):
        group: dict[str, Manifest] = {}
        for manifest in of_kind:
            if manifest.name in group:
                yield [*group.values()]
                group = {}
            group[manifest.name] = manifest
        yield [*group.values()]


def _is_stored(resource: Any) -> bool:
    """Return whether objects of a kind are stored. Others are answered at once:
    reviews (TokenReview, SubjectAccessReview) and commands (Binding).
    """
    return {"list", "delete"} <= set(resource.verbs)


def needs_apply(manifest: Manifest, found: Object) -> bool:
    """Return whether the manifest of an existing object is applied."""
    return manifest.kind not in RETAINED_KINDS and not _is_up_to_date(
        manifest, found
    )


def _is_up_to_date(manifest: Manifest, found: Object) -> bool:
    """Return whether an immutable object matches its manifest."""
    if manifest.kind not in IMMUTABLE_KINDS:
        return False
    return all(
        found.get(name) == value
        for name, value in manifest.body.items()
        if name != "metadata"
    )


def _claim_manifests(objects: Iterable[Manifest]) -> list[Manifest]:
    """Return a manifest for the claims of the StatefulSets, if there are any."""
    if not any(m.kind == "StatefulSet" for m in objects):
        return []
    return [_kind_manifest("v1", "PersistentVolumeClaim")]


def _kind_manifest(api_version: str, kind: str) -> Manifest:
    """Build a manifest that represents all objects of a kind."""
    return Manifest({"apiVersion": api_version, "kind": kind, "metadata": {}})
