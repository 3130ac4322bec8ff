"""Pods that nobody ends any more, because their node is lost."""

from collections.abc import Iterable
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.halting import Deadline

LOG = log.getLogger(__name__)

Object = dict[str, Any]

#: seconds that a pod has to go before its node is looked at, and the longest
#: time between two looks
FIRST: Final = 1.0
LONGEST: Final = 5.0


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
        self._pause = FIRST
        self._next: Deadline | None = None
        self._unseen: errors.InfraError | None = None

    def look(self, pods: Iterable[Object]) -> float:
        """Force the deletion of those that were deleted and whose node is
        lost; tell after how many seconds to look again.
        """
        going = [p for p in pods if "deletionTimestamp" in p["metadata"]]
        if not going:
            return LONGEST
        self._next = self._next or Deadline.within(self._pause)
        if self._next.passed:
            self._end(going)
            self._pause = min(self._pause * 2, LONGEST)
            self._next = Deadline.within(self._pause)
        return self._next.remaining

    def _end(self, pods: Iterable[Object]) -> None:
        nodes: dict[str, list[Object]] = {}
        for pod in pods:
            nodes.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        for name, mine in nodes.items():
            if name and self._is_lost(name):
                for pod in mine:
                    self._force(pod, name)

    def _is_lost(self, name: str) -> bool:
        try:
            nodes = self._cluster.kind("v1", "Node")
            return is_lost(self._cluster.get(nodes, name, None))
        except errors.VimRefused as error:
            self._unseen = error
            return False

    def _force(self, pod: Object, node: str) -> None:
        name = pod["metadata"]["name"]
        LOG.warning("Pod %s is ended by force: node %s is lost", name, node)
        self._cluster.delete(self._cluster.kind("v1", "Pod"), pod, grace=0)

    def told(self) -> str:
        """Tell what could not be seen of the nodes, as a sentence."""
        if self._unseen is None:
            return ""
        return (
            " Whether their nodes are lost cannot be seen, so they were not "
            f"ended by force: {self._unseen}"
        )
