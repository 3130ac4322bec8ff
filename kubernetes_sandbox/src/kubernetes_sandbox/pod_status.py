"""The status a kubelet reports: phase, conditions, containers."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubernetes_sandbox import nodes
from kubernetes_sandbox.objects import Obj, condition, now, uid_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the conditions of a pod are to say."""

    started: bool = True
    initialized: bool = True
    ready: bool = True
    completed: bool = False
    failed: bool = False
    #: The containers that are not ready, when some are not.
    unready: tuple[str, ...] = ()


_TYPES = (
    "PodReadyToStartContainers",
    "Initialized",
    "ContainersReady",
    "Ready",
)


def _reason(kind: str, verdict: Verdict) -> Obj:
    if kind == "PodReadyToStartContainers":
        return {}
    if verdict.completed:
        return {"reason": "PodCompleted"}
    if verdict.failed:
        return {} if kind == "Initialized" else {"reason": "PodFailed"}
    if kind == "Initialized":
        if verdict.initialized:
            return {}
        told, why = "incomplete", "ContainersNotInitialized"
    elif verdict.ready:
        return {}
    else:
        told, why = "unready", "ContainersNotReady"
    listed = " ".join(verdict.unready)
    return {
        "reason": why,
        "message": f"containers with {told} status: [{listed}]",
    }


def _truth(kind: str, verdict: Verdict) -> bool:
    if kind == "PodReadyToStartContainers":
        return verdict.started
    if kind == "Initialized":
        return verdict.initialized
    return verdict.ready


def conditions(pod: Obj, verdict: Verdict) -> list[Obj]:
    """Build a pod's conditions; times change only with the truth."""
    told = []
    for kind in _TYPES:
        status = "True" if _truth(kind, verdict) else "False"
        known = condition(pod, kind)
        same = known is not None and known["status"] == status
        since = known["lastTransitionTime"] if known and same else now()
        told.append(
            {
                "type": kind,
                "observedGeneration": pod["metadata"]["generation"],
                "status": status,
                "lastProbeTime": None,
                "lastTransitionTime": since,
                **_reason(kind, verdict),
            }
        )
    scheduled = condition(pod, "PodScheduled")
    return [*told, scheduled] if scheduled else told


def container_id(pod: Obj, name: str, restarts: int) -> str:
    """Name one run of a container."""
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
    """Report a container that cannot start."""
    told: Obj = {"reason": reason}
    if message:
        told["message"] = message
    return _base(container, {"waiting": told})


def running(
    pod: Obj, container: Obj, restarts: int, last: Obj, *, ready: bool = True
) -> Obj:
    """Report a container that runs."""
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
    """Build the state of a container that ended."""
    began = (status["state"].get("running") or {}).get("startedAt") or now()
    told: Obj = {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": began,
        "finishedAt": now(),
    }
    if named and "containerID" in status:
        told["containerID"] = status["containerID"]
    return {"terminated": told}


def ended(status: Obj, exit_code: int, reason: str) -> Obj:
    """Report a container that ended and stays so."""
    return {
        **status,
        "state": terminated(status, exit_code, reason),
        "ready": False,
        "started": False,
    }


def never_ran(status: Obj) -> Obj:
    """Report the end of a container that was not yet started, such as one
    whose image cannot be pulled; others stay as they are.
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
    verdict: Verdict,
    containers: Sequence[Obj],
    addresses: tuple[str, str] | None = None,
) -> Obj:
    """Build the whole status; ``addresses`` are the node's and the pod's."""
    status = {
        **pod["status"],
        "observedGeneration": pod["metadata"]["generation"],
        "phase": phase,
        "conditions": conditions(pod, verdict),
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
    """Read the address of a pod's node."""
    return nodes.internal_address(node) if node else ""
