"""Events: what the cluster's parts tell about objects."""

import time

from kubernetes_sandbox.api import Api
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import Obj, name_of, now, now_exactly, uid_of

_LEGACY_KEY = "events."


class EventRecorder:
    """Writes events, and counts those that repeat."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._kind = api.kinds.stored(_LEGACY_KEY)
        self._known: dict[tuple[str, ...], tuple[str, str]] = {}

    def tell(
        self,
        obj: Obj,
        reason: str,
        message: str,
        component: str,
        *,
        warning: bool = False,
        host: str = "",
        container: str = "",
    ) -> None:
        """Write an event as the older recorder does, or count it up."""
        kind = "Warning" if warning else "Normal"
        if self._repeat(obj, (reason, message, component)):
            return
        source = {"component": component}
        if host:
            source["host"] = host
        event = self._event(obj, reason, message, kind) | {
            "source": source,
            "firstTimestamp": now(),
            "lastTimestamp": now(),
            "count": 1,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": host,
        }
        if container:
            path = f"spec.containers{{{container}}}"
            event["involvedObject"]["fieldPath"] = path
        self._write(obj, (reason, message, component), event)

    def tell_scheduling(
        self, obj: Obj, reason: str, message: str, action: str
    ) -> None:
        """Write an event as the scheduler does."""
        kind = "Warning" if reason.startswith("Failed") else "Normal"
        event = self._event(obj, reason, message, kind) | {
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "eventTime": now_exactly(),
            "action": action,
            "reportingComponent": "default-scheduler",
            "reportingInstance": "default-scheduler-sandbox",
        }
        if not self._repeat(obj, (reason, message, action)):
            self._write(obj, (reason, message, action), event)

    @staticmethod
    def _event(obj: Obj, reason: str, message: str, kind: str) -> Obj:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        involved = {
            "kind": obj["kind"],
            "namespace": metadata.get("namespace"),
            "name": name_of(obj),
            "uid": uid_of(obj),
            "apiVersion": obj["apiVersion"],
            "resourceVersion": metadata.get("resourceVersion"),
        }
        return {
            "metadata": {
                "name": f"{name_of(obj)}.{time.time_ns():x}",
                "namespace": namespace,
            },
            "involvedObject": {k: v for k, v in involved.items() if v},
            "reason": reason,
            "message": message,
            "type": kind,
        }

    def _repeat(self, obj: Obj, told: tuple[str, ...]) -> bool:
        place = self._known.get((uid_of(obj), *told))
        event = self._api.store.get(_LEGACY_KEY, *place) if place else None
        if event is None:
            return False
        if event.get("eventTime"):
            count = (event.get("series") or {}).get("count", 1) + 1
            series = {"count": count, "lastObservedTime": now_exactly()}
            self._api.put(self._kind, {**event, "series": series})
        else:
            again = {"count": event["count"] + 1, "lastTimestamp": now()}
            self._api.put(self._kind, {**event, **again})
        return True

    def _write(self, obj: Obj, told: tuple[str, ...], event: Obj) -> None:
        namespace = event["metadata"]["namespace"]
        try:
            made = self._api.create(self._kind, namespace, event)
        except ApiError:  # its namespace goes, nobody will read it
            return
        self._known[uid_of(obj), *told] = (namespace, name_of(made))
