"""The scheduler: binds pods to nodes, or says why it cannot."""

from collections.abc import Sequence

from kubernetes_sandbox import errors, nodes, placement, pods
from kubernetes_sandbox.objects import (
    Obj,
    condition,
    is_deleting,
    name_of,
    namespace_of,
    now,
    uid_of,
    with_status,
)
from kubernetes_sandbox.placement import Load
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change

_CLAIMS = "persistentvolumeclaims."
_Place = tuple[str, str]


class Scheduler:
    """Looks at a pod when it appears, and again when room may have come."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._store = plane.store
        self._kind = plane.kind(pods.KEY)
        self._load = Load()
        self._queue: dict[_Place, None] = {}
        self._parked: dict[_Place, None] = {}
        self._store.subscribe(pods.KEY, self._pod_changed)
        self._store.subscribe(nodes.KEY, self._room_changed)
        self._store.subscribe(_CLAIMS, self._room_changed)

    def _pod_changed(self, change: Change) -> None:
        pod = change.entry.obj
        node = pod["spec"].get("nodeName")
        place = (namespace_of(pod), name_of(pod))
        if change.type == "DELETED" or pods.is_over(pod):
            self._parked.pop(place, None)
            if node:
                self._load.drop(node, uid_of(pod))
                self._look_again()
        elif node and not (change.old and change.old["spec"].get("nodeName")):
            self._load.add(node, uid_of(pod), pod["spec"])
        elif change.type == "ADDED":
            self._add(place)

    def _room_changed(self, change: Change) -> None:
        del change
        self._look_again()

    def _look_again(self) -> None:
        parked, self._parked = self._parked, {}
        for place in parked:
            self._add(place)

    def _add(self, place: _Place) -> None:
        if not self._queue:
            self._plane.timers.soon(self._drain)
        self._queue[place] = None

    def _drain(self) -> None:
        queue, self._queue = self._queue, {}
        for place in queue:
            pod = self._store.get(pods.KEY, *place)
            if pod is None or pod["spec"].get("nodeName") or is_deleting(pod):
                continue
            if pod["spec"].get("schedulingGates"):
                continue
            self._schedule(place, pod)

    def _schedule(self, place: _Place, pod: Obj) -> None:
        if fault := self._claim_fault(pod):
            self._park(place, pod, fault)
            return
        everywhere = [e.obj for e in self._store.entries(nodes.KEY)]
        fitting: list[Obj] = []
        obstacles: list[str] = []
        for node in everywhere:
            why = placement.obstacle(node, pod["spec"], self._load)
            if why is None:
                fitting.append(node)
            else:
                obstacles.append(why)
        if not fitting:
            self._park(place, pod, placement.explain(obstacles))
            return
        best = min(fitting, key=lambda n: self._load.count(name_of(n)))
        self._assign(pod, name_of(best))

    def bind(self, pod: Obj, node: str) -> None:
        """Bind a pod as a client of its own asks.

        :raises ApiError: it is bound already
        """
        if pod["spec"].get("nodeName"):
            raise errors.conflict(
                "pods/binding",
                "",
                name_of(pod),
                f"pod {name_of(pod)} is already assigned to node"
                f' "{pod["spec"]["nodeName"]}"',
            )
        self._assign(pod, node)

    def _assign(self, pod: Obj, node: str) -> None:
        scheduled = _scheduled()
        conditions = [
            one
            for one in pod["status"].get("conditions") or ()
            if one["type"] != "PodScheduled"
        ]
        bound = with_status(pod, conditions=[*conditions, scheduled])
        spec = {**pod["spec"], "nodeName": node}
        self._plane.api.put(self._kind, {**bound, "spec": spec})
        self._plane.events.tell_scheduling(
            pod,
            "Scheduled",
            f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to"
            f" {node}",
            "Binding",
        )

    def _park(self, place: _Place, pod: Obj, why: str) -> None:
        self._parked[place] = None
        known = condition(pod, "PodScheduled")
        if known is None or known.get("message") != why:
            told = _unschedulable(pod, why, known)
            status = {**pod["status"], "conditions": [told]}
            self._plane.api.set_status(self._kind, pod, status)
            self._plane.events.tell_scheduling(
                pod, "FailedScheduling", why, "Scheduling"
            )

    def _claim_fault(self, pod: Obj) -> str | None:
        unbound = False
        for name in _claims_of(pod):
            claim = self._store.get(_CLAIMS, namespace_of(pod), name)
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            unbound = unbound or claim["status"].get("phase") != "Bound"
        if not unbound:
            return None
        total = len(self._store.entries(nodes.KEY))
        head = f"0/{total} nodes are available"
        return (
            f"{head}: pod has unbound immediate PersistentVolumeClaims. no new"
            f" claims to deallocate, preemption: {head}: {total} Preemption is"
            " not helpful for scheduling."
        )


def _claims_of(pod: Obj) -> Sequence[str]:
    return [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in volume
    ]


def _scheduled() -> Obj:
    return {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now(),
    }


def _unschedulable(pod: Obj, why: str, known: Obj | None) -> Obj:
    since = known["lastTransitionTime"] if known else now()
    return {
        "type": "PodScheduled",
        "observedGeneration": pod["metadata"]["generation"],
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "reason": "Unschedulable",
        "message": why,
    }
