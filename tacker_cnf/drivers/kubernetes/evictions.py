"""Deletes several pods as their PodDisruptionBudgets allow."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import budgets, judges
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.refusals import (
    BudgetSpent,
    Forbidden,
    Gone,
)
from tacker_cnf.drivers.kubernetes.waiting import NotYet, wait
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.halting import Deadline

LOG = log.getLogger(__name__)

Object = dict[str, Any]

#: seconds between two tries that no budget explains
PAUSE: Final = 1.0


class Evictions:
    """Evicts the pods of one namespace, as many at a time as may be.

    :param patience: seconds for which budgets may allow nothing
    :param deadline: when the operation has to have ended
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        patience: float,
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._patience = patience
        self._deadline = deadline
        self._progress = progress
        #: why the budgets could not be read
        self._unread: Forbidden | None = None
        self._budgets = self._read()
        self._why = ""

    def _read(self) -> list[Object] | None:
        """List the budgets; None: we may not read them."""
        try:
            kind = self._cluster.kind("policy/v1", "PodDisruptionBudget")
            found = self._cluster.list(kind, self._namespace)["items"]
        except Gone:
            return []
        except Forbidden as error:
            LOG.info("Evicting, as budgets cannot be read: %s", error)
            self._unread = error
            return None
        return list(found)

    def concern(self, pods: Iterable[Object]) -> bool:
        """Tell whether these pods are to be evicted, not just deleted.

        :raises VimRefused: one has several budgets, and cannot be evicted
        """
        if self._budgets is None:
            return True
        concerned = False
        for pod in pods:
            found = budgets.covering(self._budgets, pod)
            concerned = concerned or bool(found)
            if len(found) > 1:
                names = ", ".join(sorted(map(budgets.name_of, found)))
                raise errors.VimRefused(
                    f"Pod {pod['metadata']['name']} has more than one "
                    f"PodDisruptionBudget ({names}), so it cannot be evicted. "
                    "A heal of it alone regards no budget."
                )
        return concerned

    def next_batch(
        self, pods: Sequence[Object], evicted: list[Object]
    ) -> None:
        """Evict as many of these pods as may be, those first that serve
        nobody; wait until it is one at least.

        :param evicted: takes the pods that were, one by one
        :raises NotReady: no budget has allowed any for too long, or the time
            of the operation is up
        :raises VimRefused: the cluster refused for another reason
        """
        seconds = min(self._patience, self._deadline.remaining)
        late = Deadline.within(seconds)
        ordered = sorted(pods, key=judges.is_ready)
        while not self._deadline.passed:
            evicted.extend(pod for pod in ordered if self._evict(pod))
            if evicted:
                return
            if late.passed:
                break
            self._await_leave(pods, late)
        raise self._refused(pods, seconds)

    def _evict(self, pod: Object) -> bool:
        resource = self._cluster.kind("v1", "Pod")
        try:
            self._cluster.evict(resource, pod)
        except BudgetSpent as refusal:
            self._why = str(refusal)
            return False
        except Forbidden as error:
            if self._unread is None:
                raise
            raise errors.VimRefused(
                f"Pod {pod['metadata']['name']} cannot be evicted: {error}. "
                "Whether it has a PodDisruptionBudget cannot be seen: "
                f"{self._unread}. A heal of it alone regards no budget."
            ) from error
        return True

    def _await_leave(self, pods: Iterable[Object], late: Deadline) -> None:
        """Wait until a budget of these pods allows a disruption."""
        self._progress(self._why)
        self._cluster.halt.wait(min(PAUSE, late.remaining))
        if self._budgets is None:
            return
        are_ready = all(map(judges.is_ready, pods))

        def judge(found: Iterable[Object]) -> NotYet | None:
            self._budgets = list(found)
            mine = self._covering(pods)
            for budget in mine:
                if budgets.allows(budget, are_ready=are_ready):
                    return None
            return NotYet() if mine else None  # they may have gone

        kind = self._cluster.kind("policy/v1", "PodDisruptionBudget")
        wait(self._cluster, kind, self._namespace, judge, late)

    def _covering(self, pods: Iterable[Object]) -> list[Object]:
        return [
            budget
            for pod in pods
            for budget in budgets.covering(self._budgets or (), pod)
        ]

    def _refused(
        self, pods: Iterable[Object], seconds: float
    ) -> errors.NotReady:
        found = sorted({budgets.name_of(b) for b in self._covering(pods)})
        names = ", ".join(pod["metadata"]["name"] for pod in pods)
        left = f"Left to heal: {names}."
        if not self._why:
            return errors.NotReady(f"The time to heal is up. {left}")
        return errors.NotReady(
            f"PodDisruptionBudget {', '.join(found)} has allowed no "
            f"disruption for {seconds:.3g} seconds: {self._why}. {left} A "
            "heal of one alone regards no budget."
        )
