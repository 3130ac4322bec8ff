"""The Job controller."""

from collections.abc import Sequence

from kubernetes_sandbox import pods
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import (
    Obj,
    condition,
    is_deleting,
    name_of,
    namespace_of,
    now,
    uid_of,
)

_COMPONENT = "job-controller"


class Jobs(Controller):
    """Creates pods until enough of them have succeeded or too many failed."""

    key = "jobs.batch"
    children = (pods.KEY,)

    def sync(self, obj: Obj) -> None:
        """Create the next pods and set the status."""
        owned = self.store.owned(uid_of(obj), pods.KEY)
        active = [pod for pod in owned if pods.is_active(pod)]
        succeeded = _in_phase(owned, "Succeeded")
        failed = _in_phase(owned, "Failed")
        ending = self._ending(obj, succeeded, failed)
        if ending is not None:
            self._end(obj, active)
            active = []
        elif not is_deleting(obj) and not obj["spec"].get("suspend"):
            self._set_pod_count(obj, len(active), succeeded)
        self._report(obj, (len(active), succeeded, failed), ending)

    @staticmethod
    def _ending(obj: Obj, succeeded: int, failed: int) -> Obj | None:
        for kind in ("Complete", "Failed"):
            if known := condition(obj, kind):
                return known
        wanted = obj["spec"].get("completions")
        done = succeeded >= (1 if wanted is None else wanted)
        if done:
            reason = "CompletionsReached"
            message = "Reached expected number of succeeded pods"
            return _condition("Complete", reason, message)
        if failed > obj["spec"].get("backoffLimit", 6):
            message = "Job has reached the specified backoff limit"
            return _condition("Failed", "BackoffLimitExceeded", message)
        return None

    def _set_pod_count(self, obj: Obj, active: int, succeeded: int) -> None:
        wanted = obj["spec"].get("completions")
        room = obj["spec"]["parallelism"] - active
        if wanted is not None:
            room = min(room, wanted - succeeded - active)
        kind = self.context.kind(pods.KEY)
        for _ in range(room):
            pod = pods.from_template(obj, obj["spec"]["template"])
            result = self.context.api.create(kind, namespace_of(obj), pod)
            message = f"Created pod: {name_of(result)}"
            self.context.events.record(
                obj, "SuccessfulCreate", message, _COMPONENT
            )

    def _end(self, obj: Obj, active: Sequence[Obj]) -> None:
        del obj
        kind = self.context.kind(pods.KEY)
        for pod in active:
            self.context.deletion.delete(kind, pod)

    def _report(
        self, obj: Obj, counts: tuple[int, int, int], ending: Obj | None
    ) -> None:
        active, succeeded, failed = counts
        known = obj["status"]
        status: Obj = {
            "startTime": known.get("startTime") or now(),
            "terminating": 0,
            "uncountedTerminatedPods": {},
            "ready": active,
        }
        counted = {"active": active, "succeeded": succeeded, "failed": failed}
        status.update({k: count for k, count in counted.items() if count})
        if ending is not None:
            status["conditions"] = [ending]
            if ending["type"] == "Complete":
                moment = known.get("completionTime") or now()
                status["completionTime"] = moment
        self.set_status(obj, status)
        if ending is not None and not known.get("conditions"):
            self._announce(obj, ending)

    def _announce(self, obj: Obj, ending: Obj) -> None:
        if ending["type"] == "Complete":
            event = ("Completed", "Job completed")
        else:
            event = (ending["reason"], ending["message"])
        failed = ending["type"] == "Failed"
        self.context.events.record(obj, *event, _COMPONENT, warning=failed)


def _in_phase(owned: Sequence[Obj], phase: str) -> int:
    return sum(1 for pod in owned if pod["status"].get("phase") == phase)


def _condition(kind: str, reason: str, message: str) -> Obj:
    moment = now()
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }
