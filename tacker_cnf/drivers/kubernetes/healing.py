"""Heals: ends pods or all objects, and waits for those in their place."""

from collections.abc import Iterable, Sequence
from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes import lost_vnfcs
from tacker_cnf.drivers.kubernetes.evictions import Evictions
from tacker_cnf.drivers.kubernetes.manifests import KEPT, VDU_LABEL, Manifest
from tacker_cnf.drivers.kubernetes.work import Work
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

Object = dict[str, Any]


def replace_all(works: Sequence[Work], task: InfraTask) -> None:
    """Heal the whole VNF: delete what holds no data, and make it anew.

    :raises InfraError: a cluster could not, or not in time
    """
    found = [work.all_owned() for work in works]
    pods = [work.pods() for work in works]
    doomed = set(task.notes)
    if not doomed:
        doomed = {
            body["metadata"]["uid"]
            for pairs, mine in zip(found, pods, strict=True)
            for body in [*(b for m, b in pairs if m.kind not in KEPT), *mine]
        }
        task.note(tuple(sorted(doomed)))
    for work, pairs, mine in zip(works, found, pods, strict=True):
        work.remove(
            [
                (manifest, body)
                for manifest, body in pairs
                if body["metadata"]["uid"] in doomed
            ],
            [pod for pod in mine if pod["metadata"]["uid"] in doomed],
            None,
        )
    for work in works:
        work.make(work.rendered.objects)
    for work in works:
        work.waiter.all_ready(work.rendered.objects)


def replace_pods(
    works: Sequence[Work], task: InfraTask, patience: float
) -> None:
    """Heal named VNFCs.

    :param patience: seconds for which budgets may allow nothing
    :raises InfraError: a cluster could not, or not in time
    """
    vdus = {vnfc.vdu_id for vnfc in task.vnfcs}
    healings = [
        Healing(work, vdus, patience)
        for work in works
        if vdus & work.rendered.workloads.keys()
    ]
    noted = set(task.notes)
    if not noted:
        noted = _pods_of(task, healings)
        task.note(tuple(sorted(noted)))
    for healing in healings:
        healing.replace_pods(noted)


class Healing:
    """One heal of named VNFCs in one cluster."""

    def __init__(
        self, work: Work, vdus: Iterable[str], patience: float
    ) -> None:
        self._work = work
        self._patience = patience
        self._healed = self._workloads(vdus)

    def _workloads(self, vdus: Iterable[str]) -> list[Manifest]:
        wanted = set(vdus)
        return [
            manifest
            for vdu, manifest in self._work.rendered.workloads.items()
            if vdu in wanted
        ]

    def lost(self, vnfcs: Iterable[VnfcResourceInfo]) -> set[tuple[str, str]]:
        """Find the VNFCs whose object is lost: (VDU, name)."""
        work = self._work
        found = lost_vnfcs.find(work.cluster, work.rendered, vnfcs, ())
        return {(vnfc.vdu_id, vnfc.id) for vnfc in found}

    def uids(self) -> dict[tuple[str, str], str]:
        """List the pods of the VDUs: (VDU, name) -> uid."""
        vdus = {manifest.vdu_id for manifest in self._healed}
        return {
            (pod["metadata"]["labels"].get(VDU_LABEL), meta["name"]): meta[
                "uid"
            ]
            for pod in self._work.pods()
            if (meta := pod["metadata"])["labels"].get(VDU_LABEL) in vdus
        }

    def replace_pods(self, doomed: set[str]) -> None:
        """End the pods, make singletons again, and wait until all is ready.

        One pod alone is deleted, as a heal is asked for what is broken.
        Several are evicted, in batches that their budgets allow; the last of
        them too, which a retry may find alone.

        :raises InfraError: the cluster could not, or not in time
        """
        found = self._work.pods()
        mine = [pod for pod in found if pod["metadata"]["uid"] in doomed]
        several = bool(mine) and len(doomed) > 1
        if several and (evictions := self._evictions(mine)):
            self._in_batches(mine, evictions)
        else:
            self._delete(mine)
        self._work.waiter.pods_gone(doomed)
        self._await_ready(self._healed)

    def _delete(self, pods: Iterable[Object]) -> None:
        going: set[str] = set()
        work = self._work
        with work.ends_what_began(lambda: work.waiter.pods_gone(going)):
            for pod in pods:
                work.delete_pods([pod])
                going.add(pod["metadata"]["uid"])

    def _evictions(self, pods: Iterable[Object]) -> Evictions | None:
        """Prepare evictions; None when no budget concerns these pods."""
        work = self._work
        evictions = Evictions(
            work.cluster,
            work.rendered.namespace,
            self._patience,
            work.waiter.deadline,
            work.progress,
        )
        return evictions if evictions.concern(pods) else None

    def _in_batches(
        self, pods: Sequence[Object], evictions: Evictions
    ) -> None:
        left = list(pods)
        while left:
            self._work.progress(f"{len(left)} of {len(pods)} pods to heal")
            batch: list[Object] = []
            with self._work.ends_what_began(lambda: self._replaced(batch)):  # noqa: B023
                evictions.next_batch(left, batch)
            self._replaced(batch)
            left = [pod for pod in left if pod not in batch]

    def _replaced(self, pods: Sequence[Object]) -> None:
        """Wait until these have gone, and others serve in their place."""
        uids = {pod["metadata"]["uid"] for pod in pods}
        self._work.waiter.pods_gone(uids)
        labels = [pod["metadata"]["labels"] for pod in pods]
        self._await_ready(self._workloads(one[VDU_LABEL] for one in labels))

    def _await_ready(self, workloads: Sequence[Manifest]) -> None:
        self._work.make(filter(self._is_to_be_made, workloads))
        self._work.waiter.all_ready(workloads)

    def _is_to_be_made(self, manifest: Manifest) -> bool:
        """Check whether an object is a bare Pod, or a workload that is lost;
        one that exists keeps the size that it has.
        """
        work = self._work
        return manifest.kind == "Pod" or not lost_vnfcs.existing(
            work.cluster, work.rendered, manifest
        )


def _pods_of(task: InfraTask, healings: Iterable[Healing]) -> set[str]:
    """Find the pods of the VNFCs that are to be healed: their uids, and of
    those that are lost, names that no uid equals.

    :raises InfraError: one of them no longer exists, and is not lost
    """
    uids: dict[tuple[str, str], str] = {}
    for healing in healings:
        uids |= healing.uids()
    absent = [v for v in task.vnfcs if (v.vdu_id, v.id) not in uids]
    lost = set().union(*(healing.lost(absent) for healing in healings))
    missing = [v.id for v in absent if (v.vdu_id, v.id) not in lost]
    if missing:
        raise errors.InfraError(
            f"Pod {', '.join(missing)} no longer exists in the cluster. Fail "
            "this operation, synchronize the VNF instance (POST .../sync), "
            "and heal by the new ids."
        )
    found = {uids.get((v.vdu_id, v.id)) for v in task.vnfcs} - {None}
    return {*map(str, found), *(f"lost: {vdu} {name}" for vdu, name in lost)}
