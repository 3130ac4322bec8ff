"""Recording of Event objects."""

import time

from kubernetes_sandbox.api import Api
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import Obj, name_of, now, now_micro, uid_of

_LEGACY_KEY = "events."


class EventRecorder:
    """Creates events and counts repeated ones."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._kind = api.kinds.stored(_LEGACY_KEY)
        self._recorded: dict[tuple[str, ...], tuple[str, str]] = {}

    def record(
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
        """Record an event in the core/v1 form."""
        kind = "Warning" if warning else "Normal"
        if self._count_again(obj, (reason, message, component)):
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

    def record_scheduling(
        self, obj: Obj, reason: str, message: str, action: str
    ) -> None:
        """Record an event of the scheduler, in the events.k8s.io/v1 form."""
        kind = "Warning" if reason.startswith("Failed") else "Normal"
        event = self._event(obj, reason, message, kind) | {
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "eventTime": now_micro(),
            "action": action,
            "reportingComponent": "default-scheduler",
            "reportingInstance": "default-scheduler-sandbox",
        }
        if not self._count_again(obj, (reason, message, action)):
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

    def _count_again(self, obj: Obj, content: tuple[str, ...]) -> bool:
        place = self._recorded.get((uid_of(obj), *content))
        event = self._api.store.get(_LEGACY_KEY, *place) if place else None
        if event is None:
            return False
        if event.get("eventTime"):
            count = (event.get("series") or {}).get("count", 1) + 1
            series = {"count": count, "lastObservedTime": now_micro()}
            self._api.put(self._kind, {**event, "series": series})
        else:
            again = {"count": event["count"] + 1, "lastTimestamp": now()}
            self._api.put(self._kind, {**event, **again})
        return True

    def _write(self, obj: Obj, content: tuple[str, ...], event: Obj) -> None:
        namespace = event["metadata"]["namespace"]
        try:
            result = self._api.create(self._kind, namespace, event)
        except ApiError:  # The namespace is terminating.
            return
        self._recorded[uid_of(obj), *content] = (namespace, name_of(result))
