"""The status of a Deployment: counters and conditions."""

from collections.abc import Sequence

from kubernetes_sandbox.clock import seconds_since
from kubernetes_sandbox.objects import Obj, condition, name_of, now

_AVAILABLE = "NewReplicaSetAvailable"


def _condition(kind: str, status: str, reason: str, message: str) -> Obj:
    moment = now()
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def _find(conditions: Sequence[Obj], kind: str) -> Obj | None:
    return next((one for one in conditions if one["type"] == kind), None)


def _set(conditions: list[Obj], new: Obj, *, always: bool = False) -> None:
    current = _find(conditions, new["type"])
    if current is not None:
        same = (current["status"], current["reason"])
        if same == (new["status"], new["reason"]) and not always:
            return
        if current["status"] == new["status"]:
            new = {**new, "lastTransitionTime": current["lastTransitionTime"]}
        conditions.remove(current)
    conditions.append(new)


def _remove(conditions: list[Obj], kind: str) -> None:
    current = _find(conditions, kind)
    if current is not None:
        conditions.remove(current)


def created(obj: Obj, set_name: str) -> Obj:
    """Compute the status after a new ReplicaSet was created."""
    conditions = list(obj["status"].get("conditions") or ())
    message = f'Created new replica set "{set_name}"'
    _set(
        conditions,
        _condition("Progressing", "True", "NewReplicaSetCreated", message),
    )
    return {**obj["status"], "conditions": conditions}


def _counts(obj: Obj, new: Obj | None, owned: Sequence[Obj]) -> Obj:
    def total(field: str) -> int:
        return sum(one["status"].get(field, 0) for one in owned)

    available = total("availableReplicas")
    planned = sum(one["spec"]["replicas"] for one in owned)
    updated = new["status"].get("replicas", 0) if new is not None else 0
    counted = {
        "replicas": total("replicas"),
        "updatedReplicas": updated,
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(planned - available, 0),
    }
    status: Obj = {"observedGeneration": obj["metadata"]["generation"]}
    status.update({name: count for name, count in counted.items() if count})
    status["terminatingReplicas"] = total("terminatingReplicas")
    if "collisionCount" in obj["status"]:
        status["collisionCount"] = obj["status"]["collisionCount"]
    return status


def _is_complete(obj: Obj, status: Obj) -> bool:
    wanted = obj["spec"]["replicas"]
    fields = ("updatedReplicas", "replicas", "availableReplicas")
    return all(status.get(field, 0) == wanted for field in fields)


def _progressed(before: Obj, after: Obj) -> bool:
    def stale(status: Obj) -> int:
        whole: int = status.get("replicas", 0)
        return whole - int(status.get("updatedReplicas", 0))

    fields = ("updatedReplicas", "readyReplicas", "availableReplicas")
    more = any(after.get(f, 0) > before.get(f, 0) for f in fields)
    return more or stale(after) < stale(before)


def _seconds_left(obj: Obj, current: Obj) -> float:
    deadline = obj["spec"].get("progressDeadlineSeconds", 600)
    return float(deadline - seconds_since(current["lastUpdateTime"]))


def _progress(
    obj: Obj, new: Obj | None, status: Obj, conditions: list[Obj]
) -> None:
    current = _find(conditions, "Progressing")
    is_rolled_out = status.get("replicas", 0) == status.get(
        "updatedReplicas", 0
    )
    if (
        is_rolled_out
        and current is not None
        and current["reason"] == _AVAILABLE
    ):
        return
    subject = (
        f'ReplicaSet "{name_of(new)}"' if new is not None else "Deployment"
    )
    if _is_complete(obj, status):
        message = f"{subject} has successfully progressed."
        found = _condition("Progressing", "True", _AVAILABLE, message)
        _set(conditions, found)
    elif _progressed(obj["status"], status):
        message = f"{subject} is progressing."
        found = _condition("Progressing", "True", "ReplicaSetUpdated", message)
        _set(conditions, found, always=True)
    elif current is not None and _seconds_left(obj, current) <= 0:
        message = f"{subject} has timed out progressing."
        reason = "ProgressDeadlineExceeded"
        _set(conditions, _condition("Progressing", "False", reason, message))


def _availability(status: Obj, least: int, conditions: list[Obj]) -> None:
    if status.get("availableReplicas", 0) >= least:
        found = _condition(
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    else:
        found = _condition(
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    _set(conditions, found)


def of(obj: Obj, new: Obj | None, owned: Sequence[Obj], least: int) -> Obj:
    """Compute the status from the ReplicaSets."""
    status = _counts(obj, new, owned)
    conditions = [dict(c) for c in obj["status"].get("conditions") or ()]
    _availability(status, least, conditions)
    if obj["spec"].get("paused"):
        message = "Deployment is paused"
        _set(
            conditions,
            _condition("Progressing", "Unknown", "DeploymentPaused", message),
        )
    else:
        if (_find(conditions, "Progressing") or {}).get("reason") == (
            "DeploymentPaused"
        ):
            message = "Deployment is resumed"
            _set(
                conditions,
                _condition(
                    "Progressing", "Unknown", "DeploymentResumed", message
                ),
            )
        _progress(obj, new, status, conditions)
    failures = [condition(one, "ReplicaFailure") for one in owned]
    failure = next((one for one in failures if one), None)
    if failure is None:
        _remove(conditions, "ReplicaFailure")
    else:
        _set(
            conditions,
            _condition(
                "ReplicaFailure",
                "True",
                failure["reason"],
                failure["message"],
            ),
        )
    return {**status, "conditions": conditions}


def deadline_in(obj: Obj, status: Obj) -> float | None:
    """Return the seconds until the progress deadline has to be checked."""
    current = _find(status.get("conditions") or (), "Progressing")
    if current is None or current["status"] != "True":
        return None
    if current["reason"] == _AVAILABLE:
        return None
    return max(_seconds_left(obj, current), 0.0) + 1.0
