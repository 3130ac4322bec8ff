"""One task in one cluster: make, scale, replace, remove."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    inventory,
    lost_vnfcs,
    ownership,
    readiness,
)
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import (
    INSTANCE_LABEL,
    KEPT,
    UNCHANGEABLE,
    Manifest,
    Rendered,
    in_order,
    without_labels,
)
from tacker_cnf.drivers.kubernetes.readiness import Waiter
from tacker_cnf.drivers.kubernetes.refusals import AlreadyExists, Gone
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

Object = dict[str, Any]

PODS: Final = ("v1", "Pod")
#: how often an object is read again when somebody else changes it, too
TRIES: Final = 5


class Work:
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
        self, known: Iterable[VnfcResourceInfo]
    ) -> tuple[VnfcResourceInfo, ...]:
        """List the VNFCs: those of living pods, then those that are lost.

        :param known: what the instance had
        """
        found = inventory.read(self.cluster, self.rendered, self._key)
        lost = lost_vnfcs.find(self.cluster, self.rendered, known, found)
        return (*found, *lost)

    def make(self, objects: Iterable[Manifest]) -> None:
        """Make what is missing, and what is ours as the manifest says."""
        made: list[Manifest] = []
        wanted = tuple(objects)
        with self.ends_what_began(lambda: self.waiter.all_ready(made)):
            for manifest in wanted:
                self.cluster.halt.check()
                self.progress(
                    f"Making {manifest.kind} {manifest.name}, {len(made)} of "
                    f"{len(wanted)} objects are made"
                )
                with manifest.named():
                    self._make(manifest)
                made.append(manifest)

    def _make(self, manifest: Manifest) -> None:
        resource = self._kind(manifest)
        body = manifest.body
        if not _is_stored(resource):
            body = without_labels(body)
        try:
            self.cluster.create(resource, body, self._place(resource))
        except AlreadyExists:
            self._take_over(resource, manifest)
        if manifest.kind == "CustomResourceDefinition":
            self.waiter.all_ready([manifest])

    @contextlib.contextmanager
    def ends_what_began(self, wait: Callable[[], None]) -> Iterator[None]:
        """When the work is called off between two changes of this block,
        wait for those that were made (SOL003 5.4.17, GRACEFUL).
        """
        try:
            yield
        except errors.VnfmError as why:
            if self.cluster.halt.called_off is why:
                with contextlib.suppress(errors.InfraError):
                    wait()
            raise

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
        if manifest.kind not in KEPT and not _is_settled(manifest, found):
            self._apply(resource, manifest, found)

    def _apply(self, resource: Any, manifest: Manifest, found: Object) -> None:
        """Make an object as its manifest says; what we made it with and the
        manifest no longer has goes.
        """
        place = self._place(resource)
        live: Object | None = found
        for attempt in range(1, TRIES + 1):
            owners = live and ownership.as_applied(live)
            if not live or not owners:
                break
            try:
                self.cluster.set_owners(resource, live, owners)
                break
            except AlreadyExists:  # so 409 is told: it has just changed
                if attempt == TRIES:
                    raise
            live = self.cluster.get(resource, manifest.name, place)
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

    def own(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """Choose what of these manifests is in this cluster."""
        return [m for m in manifests if m in self.rendered.objects]

    def scale(self, workloads: Iterable[Manifest]) -> None:
        """Set the replicas of workloads, and touch nothing else."""
        done: list[Manifest] = []
        with self.ends_what_began(lambda: self.waiter.all_ready(done)):
            for manifest in workloads:
                self._scale(manifest)
                done.append(manifest)

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
        except Gone:
            raise readiness.missing(manifest) from None

    def owned(
        self, objects: Iterable[Manifest]
    ) -> list[tuple[Manifest, Object]]:
        """Find what is ours and of the kinds of the manifests, the last made
        first, and the claims that StatefulSets made.
        """
        found: list[tuple[Manifest, Object]] = []
        seen: set[tuple[str, str]] = set()
        for manifest in reversed([*_claims(objects), *objects]):
            key = (manifest.api_version, manifest.kind)
            if key not in seen:
                seen.add(key)
                found += ((manifest, body) for body in self._list(manifest))
        return found

    def all_owned(self) -> list[tuple[Manifest, Object]]:
        """Find all that is ours, whatever package it is of."""
        objects = self.rendered.objects
        former = [_of_kind(*kind) for kind in self.rendered.former_kinds]
        return self.owned([*in_order(former), *objects])

    def _list(self, manifest: Manifest) -> list[Object]:
        try:
            resource = self._kind(manifest)
            if not _is_stored(resource):
                return []
            found: list[Object] = self.cluster.list(
                resource,
                self._place(resource),
                label_selector=self.rendered.selector,
            )["items"]
        except Gone:
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
        with self.ends_what_began(lambda: self._await_all_gone(uids)):
            for manifest, body in found:
                self.cluster.delete(self._kind(manifest), body, grace=grace)
                key = (manifest.api_version, manifest.kind)
                uids.setdefault(key, set()).add(body["metadata"]["uid"])
            if grace is not None:
                # a workload's own deletion leaves its pods their full time
                self.delete_pods(pods, grace)
        uids[PODS].update(pod["metadata"]["uid"] for pod in pods)
        self._await_all_gone(uids)

    def _await_all_gone(
        self, uids: Mapping[tuple[str, str], set[str]]
    ) -> None:
        # the others wait for their pods, and these may have to be ended
        self.waiter.pods_gone(uids[PODS])
        for key, doomed in uids.items():
            if key != PODS:
                self.waiter.all_gone(*key, doomed)

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


def _is_settled(manifest: Manifest, found: Object) -> bool:
    """Check whether an object that cannot change is as its manifest says."""
    if manifest.kind not in UNCHANGEABLE:
        return False
    return all(
        found.get(name) == value
        for name, value in manifest.body.items()
        if name != "metadata"
    )


def _claims(objects: Iterable[Manifest]) -> list[Manifest]:
    """Stand for the claims that the StatefulSets among these make."""
    if not any(m.kind == "StatefulSet" for m in objects):
        return []
    return [_of_kind("v1", "PersistentVolumeClaim")]


def _of_kind(api_version: str, kind: str) -> Manifest:
    """Stand for all objects of a kind."""
    return Manifest({"apiVersion": api_version, "kind": kind, "metadata": {}})
