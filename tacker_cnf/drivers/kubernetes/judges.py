"""When a pod is ready, and when what makes pods is."""

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import events
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.inventory import (
    controller_of,
    is_living,
    vdu_of,
)
from tacker_cnf.drivers.kubernetes.waiting import NotYet

Object = dict[str, Any]


def is_ready(pod: Object) -> bool:
    """Tell whether a pod serves."""
    return is_living(pod) and any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in pod.get("status", {}).get("conditions", ())
    )


def has_succeeded(pod: Object) -> bool:
    """Tell whether a pod has done what it was to do, as a Job does."""
    return bool(pod.get("status", {}).get("phase") == "Succeeded")


class Patience:
    """How long each object has shown a fault."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._since: dict[tuple[str, str], float] = {}

    def left(self, uid: str, fault: str = "") -> float:
        """Tell for how many seconds more a fault of an object is borne."""
        now = time.monotonic()
        return self._since.setdefault((uid, fault), now) + self._grace - now

    def forget(self, uid: str) -> None:
        """Note that the object is well."""
        for key in [key for key in self._since if key[0] == uid]:
            del self._since[key]


class PodJudge:
    """Waits for the pods of some VDUs: as many as asked, ready, no others.

    :param expected: VDU -> number of pods
    :param daemons: VDUs that may have others: a DaemonSet leaves those be
        whose nodes it wants no longer, such as one that is lost
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
        self._patience = Patience(grace)
        self._grace = grace

    def __call__(self, pods: Iterable[Object]) -> NotYet | None:
        """Judge.

        :raises NotReady: a pod has shown a fault for too long
        """
        mine = self.mine(pods)
        look_again = self._worst(filter(_is_waited_for, mine))
        ready = Counter(vdu_of(p) for p in mine if is_ready(p))
        staying = Counter(vdu_of(p) for p in mine if is_living(p))
        going = any("deletionTimestamp" in p["metadata"] for p in mine)
        complete = all(
            ready[vdu] >= count
            if vdu in self._daemons
            else ready[vdu] == staying[vdu] == count
            for vdu, count in self._expected.items()
        )
        return None if complete and not going else NotYet(look_again)

    def mine(self, pods: Iterable[Object]) -> list[Object]:
        """Choose the pods that are waited for."""
        return [pod for pod in pods if vdu_of(pod) in self._expected]

    def progress(self, pods: Iterable[Object]) -> str:
        """Tell how many of the pods are ready."""
        ready = Counter(vdu_of(pod) for pod in pods if is_ready(pod))
        found = sum(
            min(ready[vdu], count) for vdu, count in self._expected.items()
        )
        wanted = sum(self._expected.values())
        return f"{found} of {wanted} pods are ready"

    def _worst(self, pods: Iterable[Object]) -> float:
        """Tell when the next pod has shown its fault for too long."""
        soonest = self._grace or 1.0
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if is_ready(pod):
                self._patience.forget(uid)
            elif fault := events.fault(pod):
                left = self._patience.left(uid, events.sort_of(fault))
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


def _is_waited_for(pod: Object) -> bool:
    """Tell whether a pod has to become ready; one that has ended has to, if
    nobody makes another in its place.
    """
    meta = pod["metadata"]
    alone = controller_of(pod) is None
    return is_living(pod) or (alone and "deletionTimestamp" not in meta)


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
    """Tell whether all is ready, and of the newest template, as far as the
    StatefulSet itself replaces its pods.
    """
    strategy = body["spec"].get("updateStrategy") or {}
    status = body.get("status", {})
    if not _replicas_ready(body):
        return False
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return True
    kept = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    if kept:
        wanted = max(body["spec"].get("replicas", 1) - kept, 0)
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
    "StatefulSet": _stateful_set_ready,
    "DaemonSet": _daemon_set_ready,
    "Job": lambda body: _has_condition(body, "Complete"),
    "Pod": lambda body: is_ready(body) or has_succeeded(body),
    "CustomResourceDefinition": lambda b: _has_condition(b, "Established"),
}
#: conditions that say that an object will not become ready by itself
FAILED: Final = ("ReplicaFailure", "Failed")
