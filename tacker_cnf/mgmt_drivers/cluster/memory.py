"""What the management driver keeps of a cluster between its hooks."""

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

MASTER: Final = "master"
WORKER: Final = "worker"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A VM of the VNF that is a node, or is to become one.

    A node is known by its address, never by its name.
    """

    #: vnfcResourceInfo.id: that of the server
    vnfc: str
    role: str
    #: where SSH goes
    ssh: str
    #: by which the other nodes know it
    address: str

    def __str__(self) -> str:
        return f"{self.role} {self.address}"


class Memory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Kept encrypted with the VNF instance, also when a hook fails."""

    #: k8s_cluster_installation_param, as it was told last
    parameters: dict[str, Any] = {}
    #: VNFC -> those that are in the cluster, or have begun to join it
    nodes: dict[str, Node] = {}
    #: VNFC -> the host key of the first contact
    host_keys: dict[str, str] = {}
    #: the VNFC by which the cluster began
    first: str | None = None
    #: what logs in to the Kubernetes API: bearer_token, ssl_ca_cert
    credentials: dict[str, str] | None = None
    #: under which the cluster is registered as a VIM
    vim_name: str | None = None
    #: the operation that was at work last, the VNFCs that there were when it
    #: began, and the steps that it has done
    operation: str | None = None
    before: tuple[str, ...] = ()
    done: list[str] = []
    #: controller -> how many of its pods ran before nodes were drained
    moving: dict[str, int] | None = None
    #: whether it makes the cluster anew
    given_up: bool = False

    def begin(self, operation: str, vnfcs: Iterable[str]) -> None:
        """Note which operation is at work; one that is tried again goes on
        where it stood.
        """
        if self.operation != operation:
            self.operation = operation
            self.before = tuple(vnfcs)
            self.done = []
            self.moving = None
            self.given_up = False

    def nodes_with_role(self, role: str) -> list[Node]:
        """Give the nodes of one role that are in the cluster."""
        return [node for node in self.nodes.values() if node.role == role]

    def retain_nodes(self, nodes: Collection[Node]) -> None:
        """Forget all that is of VMs which are no more."""
        vnfcs = {node.vnfc for node in nodes}
        self.nodes = {v: n for v, n in self.nodes.items() if v in vnfcs}
        self.host_keys = {
            v: key for v, key in self.host_keys.items() if v in vnfcs
        }
        if self.first not in vnfcs:
            self.first = None

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Note that VMs begin to join: whatever becomes of it, they have to
        be taken out before they go.
        """
        self.nodes |= {node.vnfc: node for node in nodes}

    def remove_node(self, node: Node) -> None:
        """Note that a node is in the cluster no more."""
        self.nodes.pop(node.vnfc, None)
        self.host_keys.pop(node.vnfc, None)

    @classmethod
    def from_dict(cls, stored: dict[str, Any] | None) -> "Memory":
        return msgspec.convert(stored or {}, cls)

    def to_dict(self) -> dict[str, Any]:
        """Give what is to be kept."""
        return dict(msgspec.to_builtins(self))
