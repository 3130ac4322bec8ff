"""Rolls a scale operation back: the former number, and the former pods.

A cluster that takes pods away chooses those first that are not scheduled, not
ready, of the lowest deletion cost, then by node and age. The cost lets the new
ones go before the former ones. A StatefulSet has no choice: the highest number
goes.
"""

import contextlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import events, judges, lost_vnfcs, readiness
from tacker_cnf.drivers.kubernetes.inventory import is_living, vdu_of
from tacker_cnf.drivers.kubernetes.lost_nodes import LostNodes
from tacker_cnf.drivers.kubernetes.manifests import Manifest
from tacker_cnf.drivers.kubernetes.refusals import Forbidden, Gone
from tacker_cnf.drivers.kubernetes.waiting import NotYet, wait
from tacker_cnf.drivers.kubernetes.work import Work
from tacker_cnf.halting import Deadline

LOG = log.getLogger(__name__)

Object = dict[str, Any]

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
LOWEST_COST: Final = str(-(2**31))
#: kinds whose pods the cost orders
ORDERED_BY_COST: Final = frozenset({"Deployment", "ReplicaSet"})


class ScaleBack:
    """The rollback of one scale operation in one cluster.

    :param former: uids of the pods that were there before the operation
    """

    def __init__(self, work: Work, former: AbstractSet[str]) -> None:
        self._work = work
        self._former = former

    def restore(self, workloads: Sequence[Manifest]) -> list[str]:
        """Set the former replicas, and wait for what can become ready;
        return what is still broken, as sentences.

        :raises InfraError: the cluster could not, or not in time
        """
        work = self._work
        present = [m for m in workloads if self._exists(m)]
        try:
            for manifest in present:
                self._mark(manifest, self._surplus(manifest))
            work.scale(present)
        except errors.InfraError:
            for manifest in present:
                with contextlib.suppress(errors.InfraError):
                    self._mark(manifest, ())
            raise
        broken = [
            str(readiness.missing(m)) for m in workloads if m not in present
        ]
        for manifest in present:
            faults = self._await_size(manifest)
            broken += faults
            if not faults:
                work.waiter.all_ready([manifest])
        return broken

    def _exists(self, manifest: Manifest) -> bool:
        work = self._work
        found = lost_vnfcs.existing(work.cluster, work.rendered, manifest)
        return found is not None

    def _await_size(self, manifest: Manifest) -> list[str]:
        """Wait until there are as many pods as before; return what is wrong
        with the former ones, which hold up nothing for long.
        """
        work = self._work
        size = work.waiter.size(manifest)
        late = Deadline.within(work.waiter.grace)
        lost = LostNodes(work.cluster)
        faults: list[str] = []

        def judge(found: Iterable[Object]) -> NotYet | None:
            mine = [p for p in found if vdu_of(p) == manifest.vdu_id]
            living = list(filter(is_living, mine))
            faults[:] = [
                _fault(pod)
                for pod in living
                if pod["metadata"]["uid"] in self._former
                and not judges.is_ready(pod)
            ]
            restored = len(mine) == len(living) == size
            if faults and not restored:
                faults.append(f"{manifest} has {len(mine)} pods, not {size}")
            if restored or (faults and late.passed):
                return None
            return NotYet(min(lost.look(mine), work.waiter.grace or 1.0))

        wait(
            work.cluster,
            work.cluster.kind("v1", "Pod"),
            work.rendered.namespace,
            judge,
            work.waiter.deadline,
            label_selector=work.rendered.selector,
        )
        return faults

    def _surplus(self, manifest: Manifest) -> list[Object]:
        """List the pods that have to go: not former ones, of which as many
        stay as their controller has created in place of former ones; those
        that are ready stay, and the oldest.
        """
        living = list(filter(is_living, self._pods_of(manifest)))
        new = [p for p in living if p["metadata"]["uid"] not in self._former]
        new.sort(
            key=lambda p: str(p["metadata"]["creationTimestamp"]), reverse=True
        )
        new.sort(key=judges.is_ready)
        size = self._work.rendered.counts[manifest.vdu_id or ""]
        surplus = len(living) - size
        return new[: max(surplus, 0)]

    def _mark(self, manifest: Manifest, first: Sequence[Object]) -> None:
        """Set the deletion cost of these pods of a workload, and remove it
        from others, where an earlier rollback may have left it.
        """
        if manifest.kind not in ORDERED_BY_COST:
            return
        uids = {pod["metadata"]["uid"] for pod in first}
        for pod in self._pods_of(manifest):
            meta = pod["metadata"]
            cost = (meta.get("annotations") or {}).get(DELETION_COST)
            is_first = meta["uid"] in uids
            if is_first == (cost == LOWEST_COST):
                continue
            change = {DELETION_COST: LOWEST_COST if is_first else None}
            try:
                self._annotate(meta, change)
            except Gone:
                continue
            except Forbidden as error:
                LOG.warning("Deletion cost not set: %s", error)
                return

    def _annotate(self, meta: Object, annotations: Object) -> None:
        cluster = self._work.cluster
        cluster.patch(
            cluster.kind("v1", "Pod"),
            meta["name"],
            meta["namespace"],
            {"metadata": {"annotations": annotations}},
        )

    def _pods_of(self, manifest: Manifest) -> list[Object]:
        pods = self._work.pods()
        return [pod for pod in pods if vdu_of(pod) == manifest.vdu_id]


def _fault(pod: Object) -> str:
    name, fault = pod["metadata"]["name"], events.fault(pod)
    return f"Pod {name} is not ready" + (f": {fault}" if fault else "")
