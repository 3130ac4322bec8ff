"""Readiness of pods, and of the workloads that create them."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import events
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.inventory import (
    controller_of,
    is_living,
    vdu_of,
)
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.waiting import Pending
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import Clock


def is_ready(pod: Object) -> bool:
    """Return whether a pod is living and has the condition Ready."""
    return is_living(pod) and any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in pod.get("status", {}).get("conditions", ())
    )


def has_succeeded(pod: Object) -> bool:
    """Return whether a pod has completed successfully, as one of a Job."""
    return bool(pod.get("status", {}).get("phase") == "Succeeded")


class FaultGrace:
    """Measures for how long each object has had a fault."""

    def __init__(self, grace: float, clock: Clock) -> None:
        self._grace = grace
        self._clock = clock
        self._deadlines: dict[tuple[str, str], Deadline] = {}

    def remaining(self, uid: str, fault: str = "") -> float:
        """Return the seconds for which a fault is still tolerated."""
        deadline = Deadline.within(self._grace, self._clock)
        return self._deadlines.setdefault((uid, fault), deadline).remaining

    def clear(self, uid: str) -> None:
        """Forget the faults of an object that is ready."""
        for key in [key for key in self._deadlines if key[0] == uid]:
            del self._deadlines[key]


class PodReadiness:
    """Check of the pods of some VDUs: the expected number, all ready.

    :param expected: VDU -> number of pods
    :param daemons: VDUs that may have further pods: a DaemonSet keeps pods on
        nodes that it no longer selects, such as lost ones
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        expected: Mapping[str, int],
        grace: float,
        daemons: Container[str] = (),
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._expected = expected
        self._daemons = daemons
        self._fault_grace = FaultGrace(grace, cluster.cancel_token.clock)
        self._grace = grace

    def __call__(self, pods: Iterable[Object]) -> Pending | None:
        """Check the pods; None: they are ready.

        :raises NotReady: a pod has had a fault for too long
        """
        vdu_pods = self.select(pods)
        recheck_after_s = self._check_faults(
            filter(_must_become_ready, vdu_pods)
        )
        ready = Counter(vdu_of(p) for p in vdu_pods if is_ready(p))
        living = Counter(vdu_of(p) for p in vdu_pods if is_living(p))
        deleting = any("deletionTimestamp" in p["metadata"] for p in vdu_pods)
        complete = all(
            ready[vdu] >= count
            if vdu in self._daemons
            else ready[vdu] == living[vdu] == count
            for vdu, count in self._expected.items()
        )
        return None if complete and not deleting else Pending(recheck_after_s)

    def select(self, pods: Iterable[Object]) -> list[Object]:
        """Return the pods of the expected VDUs."""
        return [pod for pod in pods if vdu_of(pod) in self._expected]

    def progress(self, pods: Iterable[Object]) -> str:
        """Return how many of the pods are ready, as a line of progress."""
        ready = Counter(vdu_of(pod) for pod in pods if is_ready(pod))
        found = sum(
            min(ready[vdu], count) for vdu, count in self._expected.items()
        )
        wanted = sum(self._expected.values())
        return f"{found} of {wanted} pods are ready"

    def _check_faults(self, pods: Iterable[Object]) -> float:
        """Return the seconds until a pod has had its fault for too long."""
        next_check_s = self._grace or 1.0
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if is_ready(pod):
                self._fault_grace.clear(uid)
            elif fault := events.fault(pod):
                remaining_s = self._fault_grace.remaining(
                    uid, events.fault_category(fault)
                )
                if remaining_s <= 0:
                    self._fail(pod, fault)
                next_check_s = min(next_check_s, remaining_s)
        return next_check_s

    def _fail(self, pod: Object, fault: str) -> None:
        name = pod["metadata"]["name"]
        warnings = events.list_warnings(
            self._cluster, self._namespace, [pod["metadata"]["uid"]]
        )
        raise errors.NotReady(
            events.join_warnings(
                [f"Pod {name} is not ready: {fault}", *warnings]
            )
        )


def _must_become_ready(pod: Object) -> bool:
    """Return whether a pod has to become ready. A pod that has ended has to,
    if it has no controller that replaces it.
    """
    meta = pod["metadata"]
    has_no_controller = controller_of(pod) is None
    return is_living(pod) or (
        has_no_controller and "deletionTimestamp" not in meta
    )


def _numbers(body: Object, *names: str) -> set[int]:
    status = body.get("status", {})
    return {status.get(name) or 0 for name in names}


def _replicas_ready(body: Object) -> bool:
    wanted = body["spec"].get("replicas", 1)
    numbers = _numbers(body, "replicas", "readyReplicas")
    return observed(body) and numbers == {wanted}


def _deployment_ready(body: Object) -> bool:
    wanted = body["spec"].get("replicas", 1)
    return _replicas_ready(body) and _numbers(body, "updatedReplicas") == {
        wanted
    }


def _stateful_set_ready(body: Object) -> bool:
    """Return whether all pods are ready, and have the newest template as far
    as the StatefulSet replaces them itself.
    """
    strategy = body["spec"].get("updateStrategy") or {}
    status = body.get("status", {})
    if not _replicas_ready(body):
        return False
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return True
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    if partition:
        wanted = max(body["spec"].get("replicas", 1) - partition, 0)
        return bool((status.get("updatedReplicas") or 0) >= wanted)
    return bool(status.get("updateRevision") == status.get("currentRevision"))


def _daemon_set_ready(body: Object) -> bool:
    numbers = _numbers(
        body,
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
    )
    return observed(body) and len(numbers) == 1


def observed(body: Object) -> bool:
    observed_generation = body.get("status", {}).get("observedGeneration") or 0
    return bool(observed_generation >= body["metadata"].get("generation", 0))


def _has_condition(body: Object, kind: str) -> bool:
    return any(
        condition["type"] == kind and condition["status"] == "True"
        for condition in body.get("status", {}).get("conditions", ())
    )


#: kind -> whether an object is ready; other kinds are ready once they exist
READY_CHECKS: Final[Mapping[str, Callable[[Object], bool]]] = {
    "Deployment": _deployment_ready,
    "ReplicaSet": _replicas_ready,
    "StatefulSet": _stateful_set_ready,
    "DaemonSet": _daemon_set_ready,
    "Job": lambda body: _has_condition(body, "Complete"),
    "Pod": lambda body: is_ready(body) or has_succeeded(body),
    "CustomResourceDefinition": lambda b: _has_condition(b, "Established"),
}
#: conditions of objects that do not become ready without intervention
FAILED_CONDITIONS: Final = ("ReplicaFailure", "Failed")
