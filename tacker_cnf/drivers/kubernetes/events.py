"""Faults of pods and workloads, as the cluster reports them."""

from collections.abc import Iterable
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.objects import Object

#: reasons of waiting containers that are considered faults
FAULT_REASONS: Final = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)
#: maximum length of the warnings in an error
MAX_TEXT_CHARS: Final = 1500


def fault(pod: Object) -> str | None:
    """Return what keeps a pod from becoming ready; None: no known fault."""
    status = pod.get("status", {})
    if status.get("phase") == "Succeeded":
        return "Completed: it has ended, and no controller restarts it"
    if status.get("phase") == "Failed":
        return f"Failed: {status.get('message') or status.get('reason')}"
    for condition in status.get("conditions", ()):
        unscheduled = condition["type"] == "PodScheduled"
        if unscheduled and condition["status"] == "False":
            return f"{condition.get('reason')}: {condition.get('message')}"
    for container in (
        *status.get("initContainerStatuses", ()),
        *status.get("containerStatuses", ()),
    ):
        if found := _container_fault(container):
            return found
    return None


def fault_category(fault: str) -> str:
    """Return the category of a fault; a fault of another category is a new
    one. A pod that was unschedulable and now crashes has a new fault, one that
    crashes and then waits for its restart has not.
    """
    reason = fault.partition(":")[0]
    return "Unschedulable" if reason == "Unschedulable" else "container"


def _container_fault(container: Object) -> str | None:
    state = container.get("state", {})
    waiting = state.get("waiting", {})
    if waiting.get("reason") in FAULT_REASONS:
        return f"{waiting['reason']}: {waiting.get('message')}"
    ended = state.get("terminated") or {}
    if ended.get("exitCode"):
        return f"{ended.get('reason')}: exit code {ended['exitCode']}"
    return None


def list_warnings(
    cluster: Cluster, namespace: str, uids: Iterable[str]
) -> tuple[str, ...]:
    """Return the warnings about some objects, the last of each reason."""
    wanted = set(uids)
    try:
        found = cluster.list(
            cluster.kind("v1", "Event"),
            namespace,
            field_selector="type=Warning",
        )["items"]
    except errors.InfraError:
        return ()  # events may be forbidden; the fault is reported anyway
    warnings = {
        (event["involvedObject"].get("name"), event.get("reason")): (
            f"{event['involvedObject'].get('kind')} "
            f"{event['involvedObject'].get('name')}: {event.get('reason')}: "
            f"{event.get('message')}"
        )
        for event in found
        if event.get("involvedObject", {}).get("uid") in wanted
    }
    return tuple(warnings.values())


def join_warnings(parts: Iterable[str]) -> str:
    """Join warnings to one text of limited length."""
    text = "; ".join(part.strip() for part in parts)
    return (
        text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}..."
    )
