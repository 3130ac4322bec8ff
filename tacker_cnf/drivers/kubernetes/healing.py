"""Heals: delete pods or all objects, and wait for their replacement."""

from collections.abc import Iterable, Sequence

from tacker_cnf import errors
from tacker_cnf.drivers.base import Checkpoint, TaskContext
from tacker_cnf.drivers.kubernetes import lost_vnfcs
from tacker_cnf.drivers.kubernetes.cluster_session import MAX_REQUESTS
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.evictions import Evictions
from tacker_cnf.drivers.kubernetes.manifests import (
    RETAINED_KINDS,
    VDU_LABEL,
    Manifest,
)
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.runtime.concurrent_calls import call_each
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo


class ObjectsToReplace(Checkpoint, frozen=True):
    """The objects and pods that a heal of the whole VNF deletes."""

    uids: frozenset[str]


class PodsToReplace(Checkpoint, frozen=True):
    """The pods that a heal of VNFCs deletes."""

    #: for lost pods a string that equals no uid
    uids: frozenset[str]


def delete_all(
    cluster_tasks: Sequence[ClusterTask], context: TaskContext
) -> None:
    """Delete all objects without data, for a heal of the whole VNF.

    :raises InfraError: a cluster failed, or did not delete them in time
    """
    found = [cluster_task.all_owned() for cluster_task in cluster_tasks]
    pods = [cluster_task.pods() for cluster_task in cluster_tasks]
    checkpoint = context.checkpoint(ObjectsToReplace)
    if checkpoint is None:
        checkpoint = ObjectsToReplace(
            frozenset(
                body["metadata"]["uid"]
                for objects, own_pods in zip(found, pods, strict=True)
                for body in [
                    *(b for m, b in objects if m.kind not in RETAINED_KINDS),
                    *own_pods,
                ]
            )
        )
        context.save_checkpoint(checkpoint)
    to_delete = checkpoint.uids
    for cluster_task, objects, own_pods in zip(
        cluster_tasks, found, pods, strict=True
    ):
        cluster_task.remove(
            [
                (manifest, body)
                for manifest, body in objects
                if body["metadata"]["uid"] in to_delete
            ],
            [pod for pod in own_pods if pod["metadata"]["uid"] in to_delete],
            None,
        )


def replace_pods(
    cluster_tasks: Sequence[ClusterTask],
    vnfcs: Sequence[VnfcResourceInfo],
    context: TaskContext,
    budget_timeout: float,
) -> None:
    """Heal single VNFCs.

    :param budget_timeout: seconds after which budgets that allow no eviction
        are an error
    :raises InfraError: a cluster failed, or was not ready in time
    """
    uids = pods_to_replace(cluster_tasks, vnfcs, context)
    if context.checkpoint(PodsToReplace) is None:
        context.save_checkpoint(PodsToReplace(uids))
    for healing in _heals(cluster_tasks, vnfcs, budget_timeout):
        healing.replace_pods(uids)


def pods_to_replace(
    cluster_tasks: Sequence[ClusterTask],
    vnfcs: Sequence[VnfcResourceInfo],
    context: TaskContext,
) -> frozenset[str]:
    """Return the uids of the pods that a heal deletes, by the checkpoint of an
    earlier attempt, if there is one.

    :raises InfraError: a pod no longer exists, and is not lost
    """
    checkpoint = context.checkpoint(PodsToReplace)
    if checkpoint is not None:
        return checkpoint.uids
    return _pods_of(vnfcs, _heals(cluster_tasks, vnfcs, 0.0))


def _heals(
    cluster_tasks: Sequence[ClusterTask],
    vnfcs: Sequence[VnfcResourceInfo],
    budget_timeout: float,
) -> list["Healing"]:
    vdus = {vnfc.vdu_id for vnfc in vnfcs}
    return [
        Healing(cluster_task, vdus, budget_timeout)
        for cluster_task in cluster_tasks
        if vdus & cluster_task.rendered.workloads.keys()
    ]


class Healing:
    """A heal of single VNFCs in one cluster."""

    def __init__(
        self,
        cluster_task: ClusterTask,
        vdus: Iterable[str],
        budget_timeout: float,
    ) -> None:
        self._cluster_task = cluster_task
        self._budget_timeout = budget_timeout
        self._healed = self._workloads(vdus)

    def _workloads(self, vdus: Iterable[str]) -> list[Manifest]:
        wanted = set(vdus)
        return [
            manifest
            for vdu, manifest in self._cluster_task.rendered.workloads.items()
            if vdu in wanted
        ]

    def lost(self, vnfcs: Iterable[VnfcResourceInfo]) -> set[tuple[str, str]]:
        """Find the VNFCs whose object is lost; return (VDU, name) of each."""
        cluster_task = self._cluster_task
        found = lost_vnfcs.find(
            cluster_task.cluster, cluster_task.rendered, vnfcs, ()
        )
        return {(vnfc.vdu_id, vnfc.id) for vnfc in found}

    def uids(self) -> dict[tuple[str, str], str]:
        """Return the pods of the VDUs: (VDU, name) -> uid."""
        vdus = {manifest.vdu_id for manifest in self._healed}
        return {
            (pod["metadata"]["labels"].get(VDU_LABEL), meta["name"]): meta[
                "uid"
            ]
            for pod in self._cluster_task.pods()
            if (meta := pod["metadata"])["labels"].get(VDU_LABEL) in vdus
        }

    def replace_pods(self, to_delete: frozenset[str]) -> None:
        """Delete pods, recreate bare Pods, and wait until all are ready.

        A single pod is deleted, as it is assumed to be broken. Several are
        evicted, in batches that their budgets allow; also the last one, even
        if a retry finds it alone.

        :param to_delete: uids of the pods
        :raises InfraError: the cluster failed, or was not ready in time
        """
        found = self._cluster_task.pods()
        own_pods = [
            pod for pod in found if pod["metadata"]["uid"] in to_delete
        ]
        is_batch = bool(own_pods) and len(to_delete) > 1
        if is_batch and (evictions := self._evictions(own_pods)):
            self._evict_in_batches(own_pods, evictions)
        else:
            self._delete(own_pods)
        self._cluster_task.waiter.wait_pods_deleted(to_delete)
        self._wait_ready(self._healed)

    def _delete(self, pods: Iterable[Object]) -> None:
        deleted_uids: set[str] = set()
        cluster_task = self._cluster_task

        def delete(pod: Object) -> None:
            cluster_task.delete_pods([pod])
            deleted_uids.add(pod["metadata"]["uid"])

        with cluster_task.finish_on_cancel(
            lambda: cluster_task.waiter.wait_pods_deleted(deleted_uids)
        ):
            call_each(delete, list(pods), MAX_REQUESTS)

    def _evictions(self, pods: Iterable[Object]) -> Evictions | None:
        """Prepare evictions; None: no budget covers these pods."""
        cluster_task = self._cluster_task
        evictions = Evictions(
            cluster_task.cluster,
            cluster_task.rendered.namespace,
            self._budget_timeout,
            cluster_task.waiter.deadline,
            cluster_task.progress,
        )
        return evictions if evictions.eviction_required(pods) else None

    def _evict_in_batches(
        self, pods: Sequence[Object], evictions: Evictions
    ) -> None:
        remaining = list(pods)
        while remaining:
            self._cluster_task.progress(
                f"{len(remaining)} of {len(pods)} pods to heal"
            )
            batch: list[Object] = []
            with self._cluster_task.finish_on_cancel(
                lambda: self._wait_replaced(batch)  # noqa: B023
            ):
                evictions.next_batch(remaining, batch)
            self._wait_replaced(batch)
            remaining = [pod for pod in remaining if pod not in batch]

    def _wait_replaced(self, pods: Sequence[Object]) -> None:
        """Wait until pods are deleted, and their replacements are ready."""
        uids = {pod["metadata"]["uid"] for pod in pods}
        self._cluster_task.waiter.wait_pods_deleted(uids)
        labels = [pod["metadata"]["labels"] for pod in pods]
        self._wait_ready(self._workloads(pod[VDU_LABEL] for pod in labels))

    def _wait_ready(self, workloads: Sequence[Manifest]) -> None:
        self._cluster_task.apply_manifests(
            filter(self._must_be_created, workloads)
        )
        self._cluster_task.waiter.wait_ready(workloads)

    def _must_be_created(self, manifest: Manifest) -> bool:
        """Return whether an object is a bare Pod or a lost workload. A workload
        that exists is not applied, so that it keeps its size.
        """
        cluster_task = self._cluster_task
        return manifest.kind == "Pod" or not lost_vnfcs.read_workload(
            cluster_task.cluster, cluster_task.rendered, manifest
        )


def _pods_of(
    vnfcs: Sequence[VnfcResourceInfo], pod_heals: Sequence[Healing]
) -> frozenset[str]:
    """Return the uids of the pods of the VNFCs to be healed; for lost ones a
    string that equals no uid.

    :raises InfraError: a pod no longer exists, and is not lost
    """
    uids: dict[tuple[str, str], str] = {}
    for healing in pod_heals:
        uids |= healing.uids()
    absent = [v for v in vnfcs if (v.vdu_id, v.id) not in uids]
    lost = set().union(*(healing.lost(absent) for healing in pod_heals))
    missing = [v.id for v in absent if (v.vdu_id, v.id) not in lost]
    if missing:
        raise errors.InfraError(
            f"Pod {', '.join(missing)} no longer exists in the cluster. Fail "
            "this operation, synchronize the VNF instance (POST .../sync), "
            "and heal by the new ids."
        )
    found = {uids.get((v.vdu_id, v.id)) for v in vnfcs} - {None}
    return frozenset(map(str, found)).union(
        f"lost: {vdu} {name}" for vdu, name in lost
    )
