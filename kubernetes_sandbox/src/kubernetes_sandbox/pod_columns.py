"""The columns of ``kubectl get pods``."""

from kubernetes_sandbox.objects import Obj, is_deleting


def _statuses(pod: Obj) -> list[Obj]:
    return list(pod["status"].get("containerStatuses") or ())


def ready(pod: Obj) -> str:
    """Return the READY column."""
    done = sum(1 for one in _statuses(pod) if one.get("ready"))
    return f"{done}/{len(pod['spec'].get('containers') or ())}"


def restarts(pod: Obj) -> int:
    """Return the RESTARTS column."""
    return sum(one.get("restartCount", 0) for one in _statuses(pod))


def _container_reason(statuses: list[Obj]) -> str | None:
    for one in reversed(statuses):
        state = one.get("state") or {}
        waiting = state.get("waiting") or {}
        terminated = state.get("terminated") or {}
        if waiting.get("reason"):
            return str(waiting["reason"])
        if terminated.get("reason"):
            return str(terminated["reason"])
    return None


def _initial_reason(pod: Obj) -> str | None:
    statuses = pod["status"].get("initContainerStatuses") or ()
    for index, one in enumerate(statuses):
        terminated = (one.get("state") or {}).get("terminated")
        if terminated and terminated.get("exitCode") == 0:
            continue
        waiting = (one.get("state") or {}).get("waiting") or {}
        if terminated:
            return f"Init:{terminated.get('reason', 'Error')}"
        if waiting.get("reason") not in {None, "PodInitializing"}:
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{len(statuses)}"
    return None


def status(pod: Obj) -> str:
    """Return the STATUS column."""
    if is_deleting(pod):
        if pod["status"].get("reason") == "NodeLost":
            return "Unknown"
        return "Terminating"
    reason = _initial_reason(pod) or _container_reason(_statuses(pod))
    if reason == "Completed" and any(
        "running" in (one.get("state") or {}) for one in _statuses(pod)
    ):
        return "Running"
    return reason or str(pod["status"].get("reason") or pod["status"]["phase"])
