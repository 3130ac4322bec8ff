"""The pod status that a kubelet reports: phase, conditions, containers."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubernetes_sandbox import nodes
from kubernetes_sandbox.objects import Obj, condition, now, uid_of


@dataclass(frozen=True, slots=True)
class PodState:
    """The state of a pod from which its conditions are built."""

    started: bool = True
    initialized: bool = True
    ready: bool = True
    completed: bool = False
    failed: bool = False
    #: Names of the containers that are not ready.
    unready: tuple[str, ...] = ()


_TYPES = (
    "PodReadyToStartContainers",
    "Initialized",
    "ContainersReady",
    "Ready",
)


def _reason(kind: str, state: PodState) -> Obj:
    if kind == "PodReadyToStartContainers":
        return {}
    if state.completed:
        return {"reason": "PodCompleted"}
    if state.failed:
        return {} if kind == "Initialized" else {"reason": "PodFailed"}
    if kind == "Initialized":
        if state.initialized:
            return {}
        status, reason = "incomplete", "ContainersNotInitialized"
    elif state.ready:
        return {}
    else:
        status, reason = "unready", "ContainersNotReady"
    listed = " ".join(state.unready)
    return {
        "reason": reason,
        "message": f"containers with {status} status: [{listed}]",
    }


def _truth(kind: str, state: PodState) -> bool:
    if kind == "PodReadyToStartContainers":
        return state.started
    if kind == "Initialized":
        return state.initialized
    return state.ready


def conditions(pod: Obj, state: PodState) -> list[Obj]:
    """Build the conditions; a transition time changes with the status."""
    found = []
    for kind in _TYPES:
        status = "True" if _truth(kind, state) else "False"
        known = condition(pod, kind)
        same = known is not None and known["status"] == status
        since = known["lastTransitionTime"] if known and same else now()
        found.append(
            {
                "type": kind,
                "observedGeneration": pod["metadata"]["generation"],
                "status": status,
                "lastProbeTime": None,
                "lastTransitionTime": since,
                **_reason(kind, state),
            }
        )
    scheduled = condition(pod, "PodScheduled")
    return [*found, scheduled] if scheduled else found


def container_id(pod: Obj, name: str, restarts: int) -> str:
    """Return the ID of one run of a container."""
    return f"sandbox://{uid_of(pod)}-{name}-{restarts}"


def _base(container: Obj, state: Obj, **more: object) -> Obj:
    return {
        "name": container["name"],
        "state": state,
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": container["image"],
        "imageID": "",
        "started": False,
        **more,
    }


def waiting(container: Obj, reason: str, message: str = "") -> Obj:
    """Build the status of a container that cannot start."""
    waiting_state: Obj = {"reason": reason}
    if message:
        waiting_state["message"] = message
    return _base(container, {"waiting": waiting_state})


def running(
    pod: Obj, container: Obj, restarts: int, last: Obj, *, ready: bool = True
) -> Obj:
    """Build the status of a running container."""
    status = _base(
        container,
        {"running": {"startedAt": now()}},
        lastState=last,
        ready=ready,
        restartCount=restarts,
        imageID=f"sandbox://{container['image']}",
        started=ready,
    )
    status["containerID"] = container_id(pod, container["name"], restarts)
    return status


def terminated(
    status: Obj, exit_code: int, reason: str, *, named: bool = False
) -> Obj:
    """Build the state of a terminated container."""
    began = (status["state"].get("running") or {}).get("startedAt") or now()
    terminated_state: Obj = {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": began,
        "finishedAt": now(),
    }
    if named and "containerID" in status:
        terminated_state["containerID"] = status["containerID"]
    return {"terminated": terminated_state}


def ended(status: Obj, exit_code: int, reason: str) -> Obj:
    """Build the status of a container that terminated for good."""
    return {
        **status,
        "state": terminated(status, exit_code, reason),
        "ready": False,
        "started": False,
    }


def never_started(status: Obj) -> Obj:
    """Terminate the status of a container that was never started.

    Other statuses are returned unchanged.
    """
    if "waiting" not in status["state"] or status["restartCount"]:
        return status
    unknown = {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "startedAt": None,
        "finishedAt": None,
    }
    return {**status, "state": {"terminated": unknown}, "started": False}


def of(
    pod: Obj,
    phase: str,
    state: PodState,
    containers: Sequence[Obj],
    addresses: tuple[str, str] | None = None,
) -> Obj:
    """Build the status; ``addresses`` are those of the node and the pod."""
    status = {
        **pod["status"],
        "observedGeneration": pod["metadata"]["generation"],
        "phase": phase,
        "conditions": conditions(pod, state),
        "containerStatuses": list(containers),
    }
    status.setdefault("startTime", now())
    if addresses is not None:
        host, own = addresses
        if host:
            status["hostIP"] = host
            status["hostIPs"] = [{"ip": host}]
        if own and "podIP" not in status:
            status["podIP"] = own
            status["podIPs"] = [{"ip": own}]
    return status


def host_address(node: Obj | None) -> str:
    """Return the address of a pod's node."""
    return nodes.internal_address(node) if node else ""
