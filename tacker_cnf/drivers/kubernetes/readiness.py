"""When an instance is ready: its pods, then what its workloads say."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.base import Deadline
from tacker_cnf.drivers.kubernetes import events
from tacker_cnf.drivers.kubernetes.client import Cluster, Gone
from tacker_cnf.drivers.kubernetes.inventory import is_living
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_LABEL,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.waiting import NotYet, wait

Object = dict[str, Any]


def is_ready(pod: Object) -> bool:
    """Tell whether a pod serves."""
    return is_living(pod) and any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in pod.get("status", {}).get("conditions", ())
    )


class Patience:
    """How long each object has shown a fault."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._since: dict[str, float] = {}

    def left(self, uid: str) -> float:
        """Tell for how many seconds more the fault is borne."""
        now = time.monotonic()
        return self._since.setdefault(uid, now) + self._grace - now

    def forget(self, uid: str) -> None:
        """Note that the object is well."""
        self._since.pop(uid, None)


class PodJudge:
    """Waits for the pods of some VDUs: as many as asked, ready, no others.

    :param expected: VDU -> number of pods
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        expected: Mapping[str, int],
        grace: float,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._expected = expected
        self._patience = Patience(grace)
        self._grace = grace

    def __call__(self, pods: Iterable[Object]) -> NotYet | None:
        """Judge.

        :raises NotReady: a pod has shown a fault for too long
        """
        mine = [p for p in pods if _vdu(p) in self._expected]
        look_again = self._worst(p for p in mine if is_living(p))
        ready = Counter(_vdu(p) for p in mine if is_ready(p))
        staying = Counter(_vdu(p) for p in mine if is_living(p))
        going = any("deletionTimestamp" in p["metadata"] for p in mine)
        complete = all(
            ready[vdu] == staying[vdu] == count
            for vdu, count in self._expected.items()
        )
        return None if complete and not going else NotYet(look_again)

    def _worst(self, pods: Iterable[Object]) -> float:
        """Tell when the next pod has shown its fault for too long."""
        soonest = self._grace or 1.0
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if is_ready(pod):
                self._patience.forget(uid)
            elif fault := events.fault(pod):
                left = self._patience.left(uid)
                if left <= 0:
                    self._give_up(pod, fault)
                soonest = min(soonest, left)
        return soonest

    def _give_up(self, pod: Object, fault: str) -> None:
        name = pod["metadata"]["name"]
        warnings = events.told(
            self._cluster, self._namespace, [pod["metadata"]["uid"]]
        )
        raise errors.NotReady(
            events.shortened([f"Pod {name} is not ready: {fault}", *warnings])
        )


def _vdu(pod: Object) -> str | None:
    vdu: str | None = pod["metadata"].get("labels", {}).get(VDU_LABEL)
    return vdu


def _numbers(body: Object, *names: str) -> set[int]:
    status = body.get("status", {})
    return {status.get(name) or 0 for name in names}


def _replicas_ready(body: Object) -> bool:
    wanted = body["spec"].get("replicas", 1)
    numbers = _numbers(body, "replicas", "readyReplicas")
    return _observed(body) and numbers == {wanted}


def _deployment_ready(body: Object) -> bool:
    wanted = body["spec"].get("replicas", 1)
    return _replicas_ready(body) and _numbers(body, "updatedReplicas") == {
        wanted
    }


def _daemon_set_ready(body: Object) -> bool:
    numbers = _numbers(
        body,
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
    )
    return _observed(body) and len(numbers) == 1


def _observed(body: Object) -> bool:
    seen = body.get("status", {}).get("observedGeneration") or 0
    return bool(seen >= body["metadata"].get("generation", 0))


def _has_condition(body: Object, kind: str) -> bool:
    return any(
        condition["type"] == kind and condition["status"] == "True"
        for condition in body.get("status", {}).get("conditions", ())
    )


#: kind -> whether an object of it is ready; other kinds are once they exist
READY: Final[Mapping[str, Callable[[Object], bool]]] = {
    "Deployment": _deployment_ready,
    "ReplicaSet": _replicas_ready,
    "StatefulSet": _replicas_ready,
    "DaemonSet": _daemon_set_ready,
    "Job": lambda body: _has_condition(body, "Complete"),
    "Pod": is_ready,
    "CustomResourceDefinition": lambda b: _has_condition(b, "Established"),
}
#: conditions that say that an object will not become ready by itself
FAILED: Final = ("ReplicaFailure", "Failed")


class Waiter:
    """Waits for the parts of one instance."""

    def __init__(
        self,
        cluster: Cluster,
        rendered: Rendered,
        grace: float,
        deadline: Deadline,
    ) -> None:
        self._cluster = cluster
        self._rendered = rendered
        self._grace = grace
        self._deadline = deadline

    def all_ready(self, manifests: Iterable[Manifest]) -> None:
        """Wait until these are ready and their former pods have gone.

        :raises NotReady: they do not become so, or not in time
        """
        wanted = [m for m in manifests if m.kind in READY]
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
        pods = PodJudge(
            self._cluster, self._rendered.namespace, expected, self._grace
        )
        late = Deadline.within(self._grace)

        def judge(found: Iterable[Object]) -> NotYet | None:
            verdict = pods(found)
            if verdict and late.passed:
                self._check_stalled(manifests)
            return verdict

        if not self._wait("v1", "Pod", judge, self._rendered.selector):
            raise errors.NotReady(
                "The pods were not ready in time: "
                + events.shortened(self._warnings(manifests))
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
            raise errors.NotReady(
                f"{manifest.kind} {manifest.name} no longer exists in the "
                "cluster."
            )
        return int(found["spec"].get("replicas", 1))

    def _observed(self, manifest: Manifest) -> Object:
        """Wait until the controller of an object has seen it.

        :raises NotReady: it has not, or the object does not exist
        """
        seen: list[Object] = []

        def judge(found: Iterable[Object]) -> NotYet | None:
            seen[:] = filter(_observed, found)
            return None if seen else NotYet()

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
        patience = Patience(self._grace)

        def judge(found: Iterable[Object]) -> NotYet | None:
            nonlocal at_once
            for body in found:
                if READY[manifest.kind](body):
                    return None
                self._bear(manifest, body, patience)
            at_once = False
            return NotYet(self._grace or 1.0)

        field = f"metadata.name={manifest.name}"
        if self._wait(manifest.api_version, manifest.kind, judge, "", field):
            return at_once
        raise errors.NotReady(
            f"{manifest.kind} {manifest.name} was not ready in time: "
            + events.shortened(self._warnings([manifest]))
        )

    def _bear(
        self, manifest: Manifest, body: Object, patience: Patience
    ) -> None:
        for condition in body.get("status", {}).get("conditions", ()):
            failed = condition["type"] in FAILED
            if failed and condition["status"] == "True":
                if patience.left(body["metadata"]["uid"]) > 0:
                    return
                raise errors.NotReady(
                    f"{manifest.kind} {manifest.name} is not ready: "
                    f"{condition.get('reason')}: {condition.get('message')}"
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

    def all_gone(self, api_version: str, kind: str, uids: set[str]) -> None:
        """Wait until these objects have gone.

        :raises NotReady: they did not go in time
        """

        def judge(found: Iterable[Object]) -> NotYet | None:
            left = uids & {body["metadata"]["uid"] for body in found}
            return NotYet() if left else None

        selector = self._rendered.selector
        try:
            in_time = self._wait(api_version, kind, judge, selector)
        except Gone:
            return  # the kind, or the namespace, and all that was in it
        if not in_time:
            raise errors.NotReady(
                f"Objects of kind {kind} were deleted and did not go in time."
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
