"""The Node objects of the cluster, identified by their addresses."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import waiting
from tacker_cnf.drivers.kubernetes.lost_nodes import is_lost
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.waiting import Pending
from tacker_cnf.mgmt_drivers.cluster.api import Api
from tacker_cnf.runtime.cancellation import Deadline

INTERNAL_IP: Final = "InternalIP"


def name_of(node: Object) -> str:
    """Return the name of a Node."""
    return str(node["metadata"]["name"])


def pods_on(api: Api, node: Object) -> list[Object]:
    """List the pods that are bound to a Node."""
    pods = api.cluster.kind("v1", "Pod")
    selector = f"spec.nodeName={name_of(node)}"
    found = api.cluster.list(pods, None, field_selector=selector)
    return list(found["items"])


class Nodes:
    """Reads and changes Nodes."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @property
    def _kind(self) -> Any:
        return self._api.cluster.kind("v1", "Node")

    def all(self) -> dict[str, Object]:
        """List the Nodes: address -> Node."""
        return _by_address(self._api.cluster.list(self._kind, None)["items"])

    def ready(self) -> set[str]:
        """List the addresses of the Nodes that are ready."""
        return {
            address
            for address, node in self.all().items()
            if not is_lost(node)
        }

    def cordon(self, node: Object) -> None:
        """Mark a Node as unschedulable."""
        change = {"spec": {"unschedulable": True}}
        self._api.cluster.patch(self._kind, name_of(node), None, change)

    def delete(self, address: str) -> None:
        """Delete the Node of an address, if there is one, and the pods that
        are bound to it: otherwise only the cluster's garbage collection
        deletes them, and their controllers wait for that.
        """
        node = self.all().get(address)
        if node is None:
            return
        self._api.cluster.delete(self._kind, node)
        pods = self._api.cluster.kind("v1", "Pod")
        for pod in pods_on(self._api, node):
            self._api.cluster.delete(pods, pod, grace=0)

    def wait_ready(
        self, addresses: Collection[str], deadline: Deadline
    ) -> None:
        """Wait until each address has a Node that is ready.

        :raises InfraError: a Node was missing or not ready at the deadline
        """
        not_ready: list[str] = []

        def check(found: Iterable[Object]) -> Pending | None:
            nodes = _by_address(found)
            not_ready[:] = _not_ready(nodes, addresses)
            return Pending() if not_ready else None

        cluster = self._api.cluster
        if not waiting.wait(cluster, self._kind, None, check, deadline):
            raise errors.InfraError(
                f"Not all Nodes were ready in time: {', '.join(not_ready)}."
            )


def _not_ready(
    nodes: dict[str, Object], addresses: Iterable[str]
) -> Iterator[str]:
    for address in addresses:
        node = nodes.get(address)
        if node is None:
            yield f"no Node has the InternalIP {address}"
        elif is_lost(node):
            yield f"{name_of(node)} is not ready"


def _by_address(nodes: Iterable[Object]) -> dict[str, Object]:
    return {
        entry["address"]: node
        for node in nodes
        for entry in node.get("status", {}).get("addresses", ())
        if entry["type"] == INTERNAL_IP
    }
