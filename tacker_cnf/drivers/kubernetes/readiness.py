"""When an instance is ready: its pods, then what its workloads say."""

import math
from collections.abc import Iterable
from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import events, finalizers, judges
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.finalizers import Finalizers
from tacker_cnf.drivers.kubernetes.inventory import is_living
from tacker_cnf.drivers.kubernetes.lost_nodes import LostNodes
from tacker_cnf.drivers.kubernetes.manifests import (
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.refusals import Gone
from tacker_cnf.drivers.kubernetes.waiting import NotYet, wait
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.halting import Deadline

Object = dict[str, Any]


def missing(manifest: Manifest) -> errors.NotReady:
    """Tell that a workload has gone, and what makes it again."""
    return errors.NotReady(
        f"{manifest.kind} {manifest.name} no longer exists in the cluster. "
        "Fail this operation; a heal of its VNFCs, or of the whole VNF, "
        "creates it again."
    )


class Waiter:
    """Waits for the parts of one instance."""

    def __init__(
        self,
        cluster: Cluster,
        rendered: Rendered,
        grace: float,
        deadline: Deadline,
        progress: Progress,
        finalizer_timeout: float = math.inf,
    ) -> None:
        self._cluster = cluster
        self._rendered = rendered
        self._grace = self.grace = grace
        self._deadline = self.deadline = deadline
        self._progress = progress
        self._finalizer_timeout = finalizer_timeout

    def all_ready(self, manifests: Iterable[Manifest]) -> None:
        """Wait until these are ready and their former pods have gone.

        :raises NotReady: they do not become so, or not in time
        """
        wanted = [m for m in manifests if m.kind in judges.READY]
        while True:
            self._pods_ready(wanted)
            were_ready = [self._ready(manifest) for manifest in wanted]
            if all(were_ready):
                return

    def _pods_ready(self, manifests: Iterable[Manifest]) -> None:
        """Wait for the pods of the VDUs, or for a sign that none come."""
        expected = {m.vdu_id: self.size(m) for m in manifests if m.vdu_id}
        if not expected:
            return
        pods = judges.PodJudge(
            self._cluster,
            self._rendered.namespace,
            expected,
            self._grace,
            [
                m.vdu_id
                for m in manifests
                if m.kind == "DaemonSet" and m.vdu_id
            ],
        )
        late = Deadline.within(self._grace)
        lost = LostNodes(self._cluster)

        def judge(found: Iterable[Object]) -> NotYet | None:
            mine = pods.mine(found)
            self._progress(pods.progress(mine))
            verdict = pods(mine)
            if verdict is None:
                return None
            if late.passed:
                self._check_stalled(manifests)
            return NotYet(min(verdict.look_again, lost.look(mine)))

        if not self._wait("v1", "Pod", judge, self._rendered.selector):
            raise errors.NotReady(
                "The pods were not ready in time: "
                + events.shortened(self._warnings(manifests))
                + lost.told()
            )

    def size(self, manifest: Manifest) -> int:
        """Tell how many pods a workload is to have, by the cluster's own
        word: an autoscaler may have changed what was asked for.

        :raises NotReady: the workload does not exist
        """
        if manifest.kind == "Pod":
            return 1
        if manifest.kind == "DaemonSet":
            status = self._observed(manifest)["status"]
            return int(status.get("desiredNumberScheduled") or 0)
        resource = self._cluster.kind(manifest.api_version, manifest.kind)
        found = self._cluster.get(
            resource, manifest.name, self._rendered.namespace
        )
        if found is None:
            raise missing(manifest)
        return int(found["spec"].get("replicas", 1))

    def _observed(self, manifest: Manifest) -> Object:
        """Wait until the controller of an object has seen it.

        :raises NotReady: it has not, or the object does not exist
        """
        seen: list[Object] = []
        late = Deadline.within(self._grace)

        def judge(found: Iterable[Object]) -> NotYet | None:
            seen[:] = filter(judges.observed, found)
            if not seen and late.passed:
                self._check_stalled([manifest])
            return None if seen else NotYet(self._grace or 1.0)

        field = f"metadata.name={manifest.name}"
        if self._wait(manifest.api_version, manifest.kind, judge, "", field):
            return seen[0]
        raise errors.NotReady(
            f"{manifest.kind} {manifest.name} does not exist in the cluster, "
            "or its controller does not work."
        )

    def _ready(self, manifest: Manifest) -> bool:
        """Wait until one object is ready; tell whether it was at once."""
        at_once = True
        patience = judges.Patience(self._grace)
        late = Deadline.within(self._grace)

        def judge(found: Iterable[Object]) -> NotYet | None:
            nonlocal at_once
            self._progress(f"Waiting for {manifest.kind} {manifest.name}")
            for body in found:
                if judges.READY[manifest.kind](body):
                    return None
                self._bear(manifest, body, patience)
            at_once = False
            if late.passed and manifest.kind != "Job":  # that tries by itself
                self._check_stalled([manifest])
                self._check_faults(patience)
            return NotYet(self._grace or 1.0)

        field = f"metadata.name={manifest.name}"
        if self._wait(manifest.api_version, manifest.kind, judge, "", field):
            return at_once
        raise errors.NotReady(
            f"{manifest.kind} {manifest.name} was not ready in time: "
            + events.shortened(self._warnings([manifest]))
        )

    def _bear(
        self, manifest: Manifest, body: Object, patience: judges.Patience
    ) -> None:
        for condition in body.get("status", {}).get("conditions", ()):
            failed = condition["type"] in judges.FAILED
            if failed and condition["status"] == "True":
                if patience.left(body["metadata"]["uid"]) > 0:
                    return
                raise errors.NotReady(
                    f"{manifest.kind} {manifest.name} is not ready: "
                    f"{condition.get('reason')}: {condition.get('message')}"
                )

    def _check_faults(self, patience: judges.Patience) -> None:
        """Give up when a pod, be it of a VDU or not, shows a fault for long."""
        for pod in self._owned("v1", "Pod"):
            meta, fault = pod["metadata"], events.fault(pod)
            if not fault or not is_living(pod) or judges.is_ready(pod):
                continue
            if patience.left(meta["uid"], events.sort_of(fault)) <= 0:
                raise errors.NotReady(
                    f"Pod {meta['name']} is not ready: {fault}"
                )

    def _check_stalled(self, manifests: Iterable[Manifest]) -> None:
        """Give up when the cluster refuses to make the pods at all."""
        refused = [w for w in self._warnings(manifests) if "FailedCreate" in w]
        if refused:
            raise errors.NotReady(
                "The cluster makes no pods: " + events.shortened(refused)
            )

    def _warnings(self, manifests: Iterable[Manifest]) -> tuple[str, ...]:
        """Tell the warnings about these objects and all that they made."""
        uids = [p["metadata"]["uid"] for p in self._owned("v1", "Pod")]
        for manifest in manifests:
            kinds = {(manifest.api_version, manifest.kind)}
            if manifest.kind == "Deployment":
                kinds.add((manifest.api_version, "ReplicaSet"))
            for api_version, kind in kinds:
                owned = self._owned(api_version, kind)
                uids += [body["metadata"]["uid"] for body in owned]
        return events.told(self._cluster, self._rendered.namespace, uids)

    def _owned(self, api_version: str, kind: str) -> list[Object]:
        found: list[Object] = self._cluster.list(
            self._cluster.kind(api_version, kind),
            self._rendered.namespace,
            label_selector=self._rendered.selector,
        )["items"]
        return found

    def pods_gone(self, uids: set[str]) -> None:
        """Wait until these pods have gone, and end those by force whose node
        is lost.

        :raises NotReady: they did not go in time
        """
        left: list[Object] = []
        lost = LostNodes(self._cluster)
        held = Finalizers("Pod", self._finalizer_timeout)

        def judge(found: Iterable[Object]) -> NotYet | None:
            left[:] = [p for p in found if p["metadata"]["uid"] in uids]
            self._progress(f"{len(left)} of {len(uids)} pods have to go")
            soonest = min(lost.look(left), held.look(left))
            return NotYet(soonest) if left else None

        if not self._wait("v1", "Pod", judge, self._rendered.selector):
            names = ", ".join(
                f"{finalizers.described(pod)} on node "
                f"{pod['spec'].get('nodeName')}"
                for pod in left
            )
            raise errors.NotReady(
                f"Pods were deleted and did not go in time: {names}."
                + lost.told()
            )

    def all_gone(self, api_version: str, kind: str, uids: set[str]) -> None:
        """Wait until these objects have gone.

        :raises NotReady: they did not go in time
        """
        left: list[Object] = []
        held = Finalizers(kind, self._finalizer_timeout)

        def judge(found: Iterable[Object]) -> NotYet | None:
            left[:] = [b for b in found if b["metadata"]["uid"] in uids]
            names = events.shortened(map(finalizers.described, left))
            self._progress(
                f"{len(left)} of {len(uids)} {kind} have to go"
                + (f": {names}" if left else "")
            )
            return NotYet(held.look(left)) if left else None

        selector = self._rendered.selector
        try:
            in_time = self._wait(api_version, kind, judge, selector)
        except Gone:
            return  # the kind, or the namespace, and all that was in it
        if not in_time:
            names = events.shortened(map(finalizers.described, left))
            raise errors.NotReady(
                f"Objects of kind {kind} were deleted and did not go in time: "
                f"{names}."
            )

    def _wait(
        self,
        api_version: str,
        kind: str,
        judge: Any,
        labels: str,
        fields: str = "",
    ) -> bool:
        resource = self._cluster.kind(api_version, kind)
        namespace = self._rendered.namespace if resource.namespaced else None
        chosen = {"label_selector": labels, "field_selector": fields}
        return wait(
            self._cluster,
            resource,
            namespace,
            judge,
            self._deadline,
            **{name: value for name, value in chosen.items() if value},
        )
