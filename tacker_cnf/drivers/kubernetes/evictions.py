"""Eviction of several pods, as their PodDisruptionBudgets allow."""

from collections.abc import Iterable, Sequence
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import budgets, readiness_checks
from tacker_cnf.drivers.kubernetes.api_errors import (
    DisruptionNotAllowed,
    Forbidden,
)
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.waiting import Pending, wait
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.runtime.cancellation import Deadline

LOG = log.getLogger(__name__)


#: interval of retries that do not depend on a change of a budget
RETRY_DELAY_S: Final = 1.0


class Evictions:
    """Evicts pods of a namespace in batches as large as budgets allow.

    :param budget_timeout: seconds after which a batch without a single
        eviction fails
    :param deadline: that of the operation
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        budget_timeout: float,
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._budget_timeout = budget_timeout
        self._deadline = deadline
        self._progress = progress
        #: why the budgets cannot be read
        self._list_error: Forbidden | None = None
        self._budgets = self._list_budgets()
        self._last_refusal = ""

    def _list_budgets(self) -> list[Object] | None:
        """List the budgets; None: the credentials do not allow it."""
        try:
            return budgets.list_all(self._cluster, self._namespace)
        except Forbidden as error:
            LOG.info("Budgets not readable, evicting: error=%s", error)
            self._list_error = error
            return None

    def eviction_required(self, pods: Iterable[Object]) -> bool:
        """Return whether pods have to be evicted, instead of just deleted.

        :raises VimRejected: a pod has several budgets; it cannot be evicted
        """
        if self._budgets is None:
            return True
        required = False
        for pod in pods:
            found = budgets.covering(self._budgets, pod)
            required = required or bool(found)
            if len(found) > 1:
                names = ", ".join(sorted(map(budgets.name_of, found)))
                raise errors.VimRejected(
                    f"Pod {pod['metadata']['name']} has more than one "
                    f"PodDisruptionBudget ({names}), so it cannot be evicted. "
                    "A heal of this pod alone ignores budgets."
                )
        return required

    def next_batch(
        self, pods: Sequence[Object], evicted: list[Object]
    ) -> None:
        """Evict as many of these pods as budgets allow, first those that are
        not ready; wait until at least one is evicted.

        :param evicted: each evicted pod is appended to this list
        :raises NotReady: the budgets allowed no eviction in time, or the
            deadline of the operation has passed
        :raises VimRejected: the cluster rejects an eviction for another reason
        """
        timeout = min(self._budget_timeout, self._deadline.remaining)
        budget_deadline = self._deadline.limited(timeout)
        ordered = sorted(pods, key=readiness_checks.is_ready)
        while not self._deadline.passed:
            evicted.extend(pod for pod in ordered if self._evict(pod))
            if evicted:
                return
            if budget_deadline.passed:
                break
            self._wait_for_budget(pods, budget_deadline)
        raise self._not_ready_error(pods, timeout)

    def _evict(self, pod: Object) -> bool:
        resource = self._cluster.kind("v1", "Pod")
        try:
            self._cluster.evict(resource, pod)
        except DisruptionNotAllowed as error:
            self._last_refusal = str(error)
            return False
        except Forbidden as error:
            if self._list_error is None:
                raise
            raise errors.VimRejected(
                f"Pod {pod['metadata']['name']} cannot be evicted: {error}. "
                "Its PodDisruptionBudgets cannot be read: "
                f"{self._list_error}. A heal of this pod alone ignores budgets."
            ) from error
        return True

    def _wait_for_budget(
        self, pods: Iterable[Object], budget_deadline: Deadline
    ) -> None:
        """Wait until a budget of these pods allows a disruption."""
        self._progress(self._last_refusal)
        self._cluster.cancel_token.wait(
            min(RETRY_DELAY_S, budget_deadline.remaining)
        )
        if self._budgets is None:
            return
        are_ready = all(map(readiness_checks.is_ready, pods))

        def check(found: Iterable[Object]) -> Pending | None:
            self._budgets = list(found)
            relevant = self._covering(pods)
            for budget in relevant:
                if budgets.allows(budget, are_ready=are_ready):
                    return None
            return Pending() if relevant else None  # all were deleted

        kind = self._cluster.kind("policy/v1", "PodDisruptionBudget")
        wait(self._cluster, kind, self._namespace, check, budget_deadline)

    def _covering(self, pods: Iterable[Object]) -> list[Object]:
        return [
            budget
            for pod in pods
            for budget in budgets.covering(self._budgets or (), pod)
        ]

    def _not_ready_error(
        self, pods: Iterable[Object], timeout: float
    ) -> errors.NotReady:
        found = sorted({budgets.name_of(b) for b in self._covering(pods)})
        names = ", ".join(pod["metadata"]["name"] for pod in pods)
        remaining = f"Left to heal: {names}."
        if not self._last_refusal:
            return errors.NotReady(f"The time to heal is up. {remaining}")
        return errors.NotReady(
            f"PodDisruptionBudget {', '.join(found)} has allowed no "
            f"disruption for {timeout:.3g} seconds: {self._last_refusal}. {remaining} A "
            "heal of one pod alone ignores budgets."
        )
