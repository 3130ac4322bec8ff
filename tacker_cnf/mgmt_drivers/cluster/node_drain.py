"""Evict the pods of nodes, and wait until they run on others."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import readiness_checks, waiting
from tacker_cnf.drivers.kubernetes.inventory import controller_of
from tacker_cnf.drivers.kubernetes.lost_nodes import LostNodes
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.waiting import Pending
from tacker_cnf.mgmt_drivers.cluster.api import Api
from tacker_cnf.mgmt_drivers.cluster.nodes import name_of, pods_on
from tacker_cnf.runtime.cancellation import Deadline

#: kinds of owners whose pods are bound to their node
NODE_BOUND_KINDS: Final = frozenset({"DaemonSet", "Node"})
#: seconds between two attempts to evict the pods that remain
EVICTION_RETRY_DELAY_S: Final = 0.5


class NodeDrain:
    """Evicts pods from nodes, and waits until they run elsewhere.

    :param deadline: of the eviction and the wait together
    :param force: whether to delete pods though a PodDisruptionBudget forbids
        eviction
    """

    def __init__(self, api: Api, deadline: Deadline, *, force: bool) -> None:
        self._api = api
        self._deadline = deadline
        self._force = force

    def drain(self, node: Object) -> None:
        """Evict the pods of a node, but not those of DaemonSets.

        :raises InfraError: pods were still on the node at the deadline
        """
        lost = LostNodes(self._api.cluster)
        rejection = ""
        while remaining_pods := [
            p for p in pods_on(self._api, node) if _is_evictable(p)
        ]:
            if self._deadline.passed:
                raise errors.InfraError(
                    f"pods were not evicted from node {name_of(node)} in time: "
                    f"{', '.join(map(_name, remaining_pods))}. {rejection}".strip()
                )
            rejection = self._evict(remaining_pods) or rejection
            lost.check(remaining_pods)
            seconds = min(EVICTION_RETRY_DELAY_S, self._deadline.remaining)
            self._api.cluster.cancel_token.wait(seconds)

    def _evict(self, pods: Iterable[Object]) -> str:
        """Evict pods that are not terminating yet.

        :return: the last rejection of the API server, or ""
        """
        cluster = self._api.cluster
        kind = cluster.kind("v1", "Pod")
        remove_pod: Callable[[Any, Object], None] = (
            cluster.delete if self._force else cluster.evict
        )
        reason = ""
        for pod in pods:
            if "deletionTimestamp" in pod["metadata"]:
                continue
            try:
                remove_pod(kind, pod)
            except errors.VimRejected as error:
                reason = str(error)
        return reason

    def count_running(self, nodes: Iterable[Object]) -> dict[str, int]:
        """Count the running pods, on any node, of each controller that has
        pods on these nodes: uid -> number.
        """
        names = set(map(name_of, nodes))
        pods = self._api.cluster.kind("v1", "Pod")
        owned = _controlled(self._api.cluster.list(pods, None)["items"])
        owners = {
            uid for uid, pod in owned if pod["spec"].get("nodeName") in names
        }
        return dict(
            Counter(
                uid
                for uid, pod in owned
                if uid in owners and readiness_checks.is_ready(pod)
            )
        )

    def wait_rescheduled(
        self, wanted: Mapping[str, int], nodes: Iterable[Object]
    ) -> None:
        """Wait until as many pods of each controller run on other nodes.

        :param wanted: uid of a controller -> number of pods; a controller
            that was deleted or scaled in meanwhile needs fewer
        :raises InfraError: too few ran on other nodes in time
        """
        names = set(map(name_of, nodes))
        not_running: list[Object] = []

        def check(found: Iterable[Object]) -> Pending | None:
            not_running[:] = _not_running(list(found), wanted, names)
            return Pending() if not_running else None

        cluster = self._api.cluster
        kind = cluster.kind("v1", "Pod")
        if not waiting.wait(cluster, kind, None, check, self._deadline):
            raise errors.InfraError(
                "pods did not run on other nodes in time: "
                f"{', '.join(sorted(map(_name, not_running)))}."
            )


def _not_running(
    pods: Iterable[Object], wanted: Mapping[str, int], names: Collection[str]
) -> list[Object]:
    """Return the pods that do not run on other nodes, of those controllers
    that have too few there.
    """
    owned = [(uid, pod) for uid, pod in _controlled(pods) if uid in wanted]
    total = Counter(uid for uid, _ in owned)
    others = [
        (uid, pod)
        for uid, pod in owned
        if not readiness_checks.is_ready(pod)
        or pod["spec"].get("nodeName") in names
    ]
    missing = Counter(uid for uid, _ in others)
    return [
        pod
        for uid, pod in others
        if total[uid] - missing[uid] < min(wanted[uid], total[uid])
    ]


def _controlled(pods: Iterable[Object]) -> list[tuple[str, Object]]:
    """Return the pods that a controller recreates: its uid, and the pod."""
    found = ((controller_of(pod), pod) for pod in pods)
    return [
        (o["uid"], p)
        for o, p in found
        if o and o["kind"] not in NODE_BOUND_KINDS
    ]


def _is_evictable(pod: Object) -> bool:
    owner = controller_of(pod)
    return owner is None or owner["kind"] not in NODE_BOUND_KINDS


def _name(pod: Object) -> str:
    meta = pod["metadata"]
    return f"{meta['namespace']}/{meta['name']}"
