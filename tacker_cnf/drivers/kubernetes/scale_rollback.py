"""Rollback of a scale operation: the previous size, with the previous pods.

To scale in, a controller deletes first pods that are not scheduled, not ready,
or have a low deletion cost, then by node and age. The rollback sets the cost
of new pods, so that they are deleted before the previous ones. A StatefulSet
always deletes the pods with the highest ordinals.
"""

import contextlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    events,
    lost_vnfcs,
    readiness,
    readiness_checks,
)
from tacker_cnf.drivers.kubernetes.api_errors import Forbidden, NotFound
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.inventory import is_living, vdu_of
from tacker_cnf.drivers.kubernetes.lost_nodes import LostNodes
from tacker_cnf.drivers.kubernetes.manifests import Manifest
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.waiting import Pending, wait
from tacker_cnf.runtime.cancellation import Deadline

LOG = log.getLogger(__name__)


DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
LOWEST_COST: Final = str(-(2**31))
#: kinds whose controller regards the deletion cost
ORDERED_BY_COST: Final = frozenset({"Deployment", "ReplicaSet"})


class ScaleRollback:
    """The rollback of a scale operation in one cluster.

    :param previous_uids: uids of the pods that existed before the operation
    """

    def __init__(
        self, cluster_task: ClusterTask, previous_uids: AbstractSet[str]
    ) -> None:
        self._cluster_task = cluster_task
        self._previous_uids = previous_uids

    def restore(self, workloads: Sequence[Manifest]) -> list[str]:
        """Set the previous size, and wait for the pods that can become ready.

        :returns: what is still broken, as sentences
        :raises InfraError: the cluster failed, or was not ready in time
        """
        cluster_task = self._cluster_task
        present = [m for m in workloads if self._exists(m)]
        try:
            for manifest in present:
                self._set_deletion_cost(manifest, self._surplus(manifest))
            cluster_task.scale(present)
        except errors.InfraError:
            for manifest in present:
                with contextlib.suppress(errors.InfraError):
                    self._set_deletion_cost(manifest, ())
            raise
        broken = [
            str(readiness.workload_not_found(m))
            for m in workloads
            if m not in present
        ]
        for manifest in present:
            faults = self._wait_size(manifest)
            broken += faults
            if not faults:
                cluster_task.waiter.wait_ready([manifest])
        return broken

    def _exists(self, manifest: Manifest) -> bool:
        cluster_task = self._cluster_task
        found = lost_vnfcs.read_workload(
            cluster_task.cluster, cluster_task.rendered, manifest
        )
        return found is not None

    def _wait_size(self, manifest: Manifest) -> list[str]:
        """Wait until there are as many pods as before. Faults of previous pods
        end the wait after the grace time; return them.
        """
        cluster_task = self._cluster_task
        size = cluster_task.waiter.desired_size(manifest)
        grace_deadline = Deadline.within(
            cluster_task.waiter.grace, cluster_task.waiter.deadline.clock
        )
        lost_nodes = LostNodes(cluster_task.cluster)
        faults: list[str] = []

        def check(found: Iterable[Object]) -> Pending | None:
            vdu_pods = [p for p in found if vdu_of(p) == manifest.vdu_id]
            living = list(filter(is_living, vdu_pods))
            faults[:] = [
                _fault(pod)
                for pod in living
                if pod["metadata"]["uid"] in self._previous_uids
                and not readiness_checks.is_ready(pod)
            ]
            restored = len(vdu_pods) == len(living) == size
            if faults and not restored:
                faults.append(
                    f"{manifest} has {len(vdu_pods)} pods, not {size}"
                )
            if restored or (faults and grace_deadline.passed):
                return None
            return Pending(
                min(
                    lost_nodes.check(vdu_pods),
                    cluster_task.waiter.grace or 1.0,
                )
            )

        wait(
            cluster_task.cluster,
            cluster_task.cluster.kind("v1", "Pod"),
            cluster_task.rendered.namespace,
            check,
            cluster_task.waiter.deadline,
            label_selector=cluster_task.rendered.selector,
        )
        return faults

    def _surplus(self, manifest: Manifest) -> list[Object]:
        """Return the pods to be deleted. Previous pods are kept, and of the
        new ones as many as have replaced previous ones: the ready first, then
        the oldest.
        """
        living = list(filter(is_living, self._pods_of(manifest)))
        new = [
            p
            for p in living
            if p["metadata"]["uid"] not in self._previous_uids
        ]
        new.sort(
            key=lambda p: str(p["metadata"]["creationTimestamp"]), reverse=True
        )
        new.sort(key=readiness_checks.is_ready)
        size = self._cluster_task.rendered.size_of(manifest)
        surplus = len(living) - size
        return new[: max(surplus, 0)]

    def _set_deletion_cost(
        self, manifest: Manifest, to_delete: Sequence[Object]
    ) -> None:
        """Set the deletion cost of these pods of a workload, and remove it
        from others, to which an earlier rollback may have given it.
        """
        if manifest.kind not in ORDERED_BY_COST:
            return
        uids = {pod["metadata"]["uid"] for pod in to_delete}
        for pod in self._pods_of(manifest):
            meta = pod["metadata"]
            cost = (meta.get("annotations") or {}).get(DELETION_COST)
            is_to_delete = meta["uid"] in uids
            if is_to_delete == (cost == LOWEST_COST):
                continue
            change = {DELETION_COST: LOWEST_COST if is_to_delete else None}
            try:
                self._annotate(meta, change)
            except NotFound:
                continue
            except Forbidden as error:
                LOG.warning("Deletion cost not set: error=%s", error)
                return

    def _annotate(self, meta: Object, annotations: Object) -> None:
        cluster = self._cluster_task.cluster
        cluster.patch(
            cluster.kind("v1", "Pod"),
            meta["name"],
            meta["namespace"],
            {"metadata": {"annotations": annotations}},
        )

    def _pods_of(self, manifest: Manifest) -> list[Object]:
        pods = self._cluster_task.pods()
        return [pod for pod in pods if vdu_of(pod) == manifest.vdu_id]


def _fault(pod: Object) -> str:
    name, fault = pod["metadata"]["name"], events.fault(pod)
    return f"Pod {name} is not ready" + (f": {fault}" if fault else "")
