"""Pods that nobody ends any more, because their node is lost."""

from collections.abc import Iterable
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.runtime.cancellation import Deadline

LOG = log.getLogger(__name__)

Object = dict[str, Any]

#: seconds that a pod has to go before its node is looked at, and the longest
#: time between two looks
MIN_INTERVAL_S: Final = 1.0
MAX_INTERVAL_S: Final = 5.0


def is_lost(node: Object | None) -> bool:
    """Tell whether a node runs no pods, as far as its cluster knows."""
    conditions = node.get("status", {}).get("conditions", ()) if node else ()
    return not any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in conditions
    )


class LostNodes:
    """Ends the pods that were deleted and whose kubelet cannot say that they
    have ended. Only then does their controller make others elsewhere.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._interval_s = MIN_INTERVAL_S
        self._next_check: Deadline | None = None
        self._node_error: errors.InfraError | None = None

    def check(self, pods: Iterable[Object]) -> float:
        """Force the deletion of those that were deleted and whose node is
        lost; tell after how many seconds to look again.
        """
        deleting = [p for p in pods if "deletionTimestamp" in p["metadata"]]
        if not deleting:
            return MAX_INTERVAL_S
        self._next_check = self._next_check or Deadline.within(
            self._interval_s
        )
        if self._next_check.passed:
            self._delete_from_lost_nodes(deleting)
            self._interval_s = min(self._interval_s * 2, MAX_INTERVAL_S)
            self._next_check = Deadline.within(self._interval_s)
        return self._next_check.remaining

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
        LOG.warning("Pod %s is ended by force: node %s is lost", name, node)
        self._cluster.delete(self._cluster.kind("v1", "Pod"), pod, grace=0)

    def describe_node_error(self) -> str:
        """Tell what could not be seen of the nodes, as a sentence."""
        if self._node_error is None:
            return ""
        return (
            " Whether their nodes are lost cannot be seen, so they were not "
            f"ended by force: {self._node_error}"
        )
