"""Pods, workloads and events as an API server returns them."""

from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

#: status of a container that waits, and of one that runs
PULLING: Object = {
    "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such"}}
}
RUNNING: Object = {"state": {"running": {}}}


def a_pod(
    name: str = "web-1",
    vdu: str | None = "web",
    owner: str | None = "ReplicaSet",
    **more: Any,
) -> Object:
    """Build a pod; ``meta`` and ``status`` are merged into the defaults."""
    meta: Object = {"name": name, "uid": f"uid of {name}", "labels": {}}
    if vdu:
        meta["labels"] = {"tacker_vdu_id": vdu}
    if owner:
        meta["ownerReferences"] = [
            {"kind": owner, "name": "x", "uid": "y", "controller": True}
        ]
    return {
        "metadata": meta | more.get("meta", {}),
        "status": {"phase": "Running"} | more.get("status", {}),
    }


def a_ready_pod(name: str = "web-1", vdu: str = "web", **meta: Any) -> Object:
    ready = {"type": "Ready", "status": "True"}
    return a_pod(name, vdu, meta=meta, status={"conditions": [ready]})


def a_faulty_pod(name: str = "web-1", vdu: str = "web") -> Object:
    return a_pod(name, vdu, status={"containerStatuses": [PULLING]})


class EventsOnly:
    """A cluster that returns events, or forbids them."""

    def __init__(
        self,
        *events: Object,
        forbidden: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.cancel_token = CancelToken(clock=clock)
        self._events = list(events)
        self._forbidden = forbidden

    def kind(self, _api_version: str, kind: str) -> str:
        return kind

    def list(self, kind: str, _namespace: str, **_: str) -> Object:
        assert kind == "Event"
        if self._forbidden:
            raise errors.VimRejected("403")
        return {"items": self._events}


def an_event(reason: str, message: str, name: str = "web-1") -> Object:
    about = {"kind": "Pod", "name": name, "uid": f"uid of {name}"}
    return {"reason": reason, "message": message, "involvedObject": about}
