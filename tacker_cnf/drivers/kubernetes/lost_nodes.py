"""Deletion of pods on lost nodes, where no kubelet confirms it."""

from collections.abc import Iterable
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.runtime.cancellation import Deadline

LOG = log.getLogger(__name__)


#: delay until the nodes of deleted pods are checked first, and the longest
#: interval of checks
MIN_INTERVAL_S: Final = 1.0
MAX_INTERVAL_S: Final = 5.0


def is_lost(node: Object | None) -> bool:
    """Return whether a node is not ready, or does not exist."""
    conditions = node.get("status", {}).get("conditions", ()) if node else ()
    return not any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in conditions
    )


class LostNodes:
    """Force-deletes pods that were deleted on lost nodes. Their controller
    creates others elsewhere only afterwards.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._interval_s = MIN_INTERVAL_S
        self._next_check: Deadline | None = None
        self._node_error: errors.InfraError | None = None

    def check(self, pods: Iterable[Object]) -> float:
        """Force the deletion of deleted pods whose node is lost.

        :returns: seconds until the next check
        """
        deleting = [p for p in pods if "deletionTimestamp" in p["metadata"]]
        if not deleting:
            return MAX_INTERVAL_S
        self._next_check = self._next_check or self._build_next_check()
        if self._next_check.passed:
            self._delete_from_lost_nodes(deleting)
            self._interval_s = min(self._interval_s * 2, MAX_INTERVAL_S)
            self._next_check = self._build_next_check()
        return self._next_check.remaining

    def _build_next_check(self) -> Deadline:
        clock = self._cluster.cancel_token.clock
        return Deadline.within(self._interval_s, clock)

    def _delete_from_lost_nodes(self, pods: Iterable[Object]) -> None:
        nodes: dict[str, list[Object]] = {}
        for pod in pods:
            nodes.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        for name, node_pods in nodes.items():
            if name and self._is_lost(name):
                for pod in node_pods:
                    self._force_delete(pod, name)

    def _is_lost(self, name: str) -> bool:
        try:
            nodes = self._cluster.kind("v1", "Node")
            return is_lost(self._cluster.get(nodes, name, None))
        except errors.VimRejected as error:
            self._node_error = error
            return False

    def _force_delete(self, pod: Object, node: str) -> None:
        name = pod["metadata"]["name"]
        LOG.warning(
            "Node lost, force-deleting pod: pod=%s node=%s", name, node
        )
        self._cluster.delete(self._cluster.kind("v1", "Pod"), pod, grace=0)

    def describe_node_error(self) -> str:
        """Return why nodes could not be read, as a sentence."""
        if self._node_error is None:
            return ""
        return (
            " Their nodes cannot be read, so they were not force-deleted: "
            f"{self._node_error}"
        )
