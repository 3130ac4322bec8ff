"""PodDisruptionBudgets and evictions."""

from kubernetes_sandbox import errors, pods, selectors
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.errors import Cause
from kubernetes_sandbox.objects import (
    Obj,
    condition,
    controller_uid,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    now,
)
from kubernetes_sandbox.quantities import resolve_int_or_percent
from kubernetes_sandbox.store import Change

_VIOLATION = (
    "Cannot evict pod as it would violate the pod's disruption budget."
)


class Disruption(Controller):
    """Sets the status of budgets and checks evictions."""

    key = "poddisruptionbudgets.policy"
    children = (pods.KEY,)

    def _child_changed(self, change: Change) -> None:
        pod = change.entry.obj
        for budget in self._budgets(pod):
            self.enqueue(namespace_of(budget), name_of(budget))

    def _budgets(self, pod: Obj) -> list[Obj]:
        namespace = namespace_of(pod)
        if not self.store.count(self.key, namespace):
            return []
        return [
            budget
            for budget in self.store.objects(self.key, namespace)
            if selectors.matches(
                budget["spec"].get("selector"), labels_of(pod)
            )
        ]

    def sync(self, obj: Obj) -> None:
        """Set the status of a budget."""
        selector = obj["spec"].get("selector")
        counted = [
            pod
            for pod in self.store.objects(pods.KEY, namespace_of(obj))
            if not pods.is_finished(pod)
            and selectors.matches(selector, labels_of(pod))
        ]
        healthy = sum(
            1 for p in counted if pods.is_ready(p) and not is_deleting(p)
        )
        expected = self._expected(counted)
        desired = _desired(obj["spec"], expected)
        allowed = max(healthy - desired, 0) if expected else 0
        generation = obj["metadata"]["generation"]
        present = {name_of(pod) for pod in counted}
        disrupted = {
            name: time
            for name, time in (
                obj["status"].get("disruptedPods") or {}
            ).items()
            if name in present
        }
        self.set_status(
            obj,
            {
                "observedGeneration": generation,
                **({"disruptedPods": disrupted} if disrupted else {}),
                "disruptionsAllowed": allowed,
                "currentHealthy": healthy,
                "desiredHealthy": desired,
                "expectedPods": expected,
                "conditions": [_user_info(obj, allowed, generation)],
            },
        )

    def _expected(self, counted: list[Obj]) -> int:
        owners = {controller_uid(pod) for pod in counted}
        total = sum(1 for pod in counted if not controller_uid(pod))
        for uid in owners - {""}:
            entry = self.store.of_uid(uid)
            if entry is not None:
                total += self._wanted_by(entry.obj, counted)
        return total

    @staticmethod
    def _wanted_by(owner: Obj, counted: list[Obj]) -> int:
        wanted = (owner.get("spec") or {}).get("replicas")
        if wanted is not None:
            return int(wanted)
        uid = owner["metadata"]["uid"]
        return sum(1 for pod in counted if controller_uid(pod) == uid)

    def check_eviction(self, pod: Obj, *, dry_run: bool) -> None:
        """Reject an eviction that a budget does not allow.

        :raises ApiError: 429
        """
        if _is_not_counted(pod):
            return
        budgets = self._budgets(pod)
        if len(budgets) > 1:
            raise errors.ApiError(
                500,
                "",
                "This pod has more than one PodDisruptionBudget, which the"
                " eviction subresource does not support.",
            )
        for budget in budgets:
            status = budget["status"]
            if not pods.is_ready(pod) and _may_evict_unhealthy(budget):
                return
            if _is_stale(budget):
                raise errors.too_many_requests(
                    _VIOLATION, [_not_observed(budget)]
                )
            if not status["disruptionsAllowed"]:
                raise errors.too_many_requests(
                    _VIOLATION, [_insufficient_pods(budget, status)]
                )
            if not dry_run:
                remaining = status["disruptionsAllowed"] - 1
                disrupted = {
                    **(status.get("disruptedPods") or {}),
                    name_of(pod): now(),
                }
                changed = {
                    "disruptionsAllowed": remaining,
                    "disruptedPods": disrupted,
                }
                self.set_status(budget, {**status, **changed})


def _is_not_counted(pod: Obj) -> bool:
    pending = pod["status"].get("phase") == "Pending"
    return pending or pods.is_finished(pod) or is_deleting(pod)


def _may_evict_unhealthy(budget: Obj) -> bool:
    """Return whether a pod that is not ready may be evicted."""
    policy = budget["spec"].get("unhealthyPodEvictionPolicy")
    status = budget["status"]
    healthy, desired = status["currentHealthy"], status["desiredHealthy"]
    return bool(policy == "AlwaysAllow" or healthy >= desired > 0)


def _is_stale(budget: Obj) -> bool:
    seen = budget["status"].get("observedGeneration", 0)
    return bool(seen < budget["metadata"]["generation"])


def _not_observed(budget: Obj) -> Cause:
    return Cause(
        "",
        "DisruptionBudget",
        f"The disruption budget {name_of(budget)} is still being processed by"
        " the server.",
    )


def _insufficient_pods(budget: Obj, status: Obj) -> Cause:
    return Cause(
        "",
        "DisruptionBudget",
        f"The disruption budget {name_of(budget)} needs"
        f" {status['desiredHealthy']} healthy pods and has"
        f" {status['currentHealthy']} currently",
    )


def _desired(spec: Obj, expected: int) -> int:
    if "maxUnavailable" in spec:
        less = resolve_int_or_percent(
            spec["maxUnavailable"], expected, round_up=True
        )
        return max(expected - less, 0)
    return resolve_int_or_percent(
        spec.get("minAvailable", 1), expected, round_up=True
    )


def _user_info(obj: Obj, allowed: int, generation: int) -> Obj:
    status = "True" if allowed else "False"
    known = condition(obj, "DisruptionAllowed")
    same = known is not None and known["status"] == status
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "observedGeneration": generation,
        "lastTransitionTime": known["lastTransitionTime"]
        if known and same
        else now(),
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
