"""The scheduler: binds pods to nodes."""

from collections.abc import Sequence

from kubernetes_sandbox import errors, node_filters, nodes, pods
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.node_filters import NodeUsage
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
from kubernetes_sandbox.store import Change

_CLAIMS = "persistentvolumeclaims."
_Key = tuple[str, str]


class Scheduler:
    """Schedules new pods, and retries when resources may be free."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._store = context.store
        self._kind = context.kind(pods.KEY)
        self._load = NodeUsage()
        self._queue: dict[_Key, None] = {}
        self._unschedulable_pods: dict[_Key, None] = {}
        self._store.subscribe(pods.KEY, self._pod_changed)
        self._store.subscribe(nodes.KEY, self._resource_changed)
        self._store.subscribe(_CLAIMS, self._resource_changed)

    def _pod_changed(self, change: Change) -> None:
        pod = change.entry.obj
        node = pod["spec"].get("nodeName")
        place = (namespace_of(pod), name_of(pod))
        if change.type == "DELETED" or pods.is_finished(pod):
            self._unschedulable_pods.pop(place, None)
            if node:
                self._load.drop(node, uid_of(pod))
                self._retry()
        elif node and not (change.old and change.old["spec"].get("nodeName")):
            self._load.add(node, uid_of(pod), pod["spec"])
        elif change.type == "ADDED" or _lost_gates(change):
            self._add(place)

    def _resource_changed(self, change: Change) -> None:
        del change
        self._retry()

    def _retry(self) -> None:
        unschedulable, self._unschedulable_pods = self._unschedulable_pods, {}
        for place in unschedulable:
            self._add(place)

    def _add(self, place: _Key) -> None:
        if not self._queue:
            self._context.timers.soon(self._process)
        self._queue[place] = None

    def _process(self) -> None:
        queue, self._queue = self._queue, {}
        for place in queue:
            pod = self._store.get(pods.KEY, *place)
            if pod is None or pod["spec"].get("nodeName") or is_deleting(pod):
                continue
            if pod["spec"].get("schedulingGates"):
                continue
            self._schedule(place, pod)

    def _schedule(self, place: _Key, pod: Obj) -> None:
        if failure := self._claim_failure(pod):
            self._mark_unschedulable(place, pod, failure)
            return
        all_nodes = [e.obj for e in self._store.entries(nodes.KEY)]
        feasible: list[Obj] = []
        failures: list[str] = []
        for node in all_nodes:
            message = node_filters.filter_failure(
                node, pod["spec"], self._load
            )
            if message is None:
                feasible.append(node)
            else:
                failures.append(message)
        if not feasible:
            self._mark_unschedulable(
                place, pod, node_filters.unschedulable_message(failures)
            )
            return
        selected = min(feasible, key=lambda n: self._load.count(name_of(n)))
        self._assign(pod, name_of(selected))

    def bind(self, pod: Obj, node: str) -> None:
        """Bind a pod on request of a client.

        :raises ApiError: 409, it is already bound
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
        scheduled = _scheduled_condition()
        conditions = [
            one
            for one in pod["status"].get("conditions") or ()
            if one["type"] != "PodScheduled"
        ]
        bound = with_status(pod, conditions=[*conditions, scheduled])
        spec = {**pod["spec"], "nodeName": node}
        self._context.api.put(self._kind, {**bound, "spec": spec})
        self._context.events.record_scheduling(
            pod,
            "Scheduled",
            f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to"
            f" {node}",
            "Binding",
        )

    def _mark_unschedulable(self, place: _Key, pod: Obj, message: str) -> None:
        self._unschedulable_pods[place] = None
        known = condition(pod, "PodScheduled")
        if known is None or known.get("message") != message:
            new_condition = _unschedulable_condition(pod, message, known)
            status = {**pod["status"], "conditions": [new_condition]}
            self._context.api.set_status(self._kind, pod, status)
            self._context.events.record_scheduling(
                pod, "FailedScheduling", message, "Scheduling"
            )

    def _claim_failure(self, pod: Obj) -> str | None:
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


def _lost_gates(change: Change) -> bool:
    """Return whether the last scheduling gate of a pod was removed."""
    before = change.old is not None and change.old["spec"].get(
        "schedulingGates"
    )
    return bool(before and not change.entry.obj["spec"].get("schedulingGates"))


def _claims_of(pod: Obj) -> Sequence[str]:
    return [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in volume
    ]


def _scheduled_condition() -> Obj:
    return {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now(),
    }


def _unschedulable_condition(pod: Obj, message: str, known: Obj | None) -> Obj:
    since = known["lastTransitionTime"] if known else now()
    return {
        "type": "PodScheduled",
        "observedGeneration": pod["metadata"]["generation"],
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "reason": "Unschedulable",
        "message": message,
    }
