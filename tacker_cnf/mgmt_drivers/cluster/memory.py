"""The data of a cluster that the management driver stores between hooks."""

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

MASTER: Final = "master"
WORKER: Final = "worker"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A VM of the VNF that is a node, or is to become one.

    A node is identified by its address, never by its name.
    """

    #: vnfcResourceInfo.id, which is the server's id
    vnfc: str
    #: MASTER or WORKER
    role: str
    #: address for SSH
    ssh: str
    #: address that the other nodes use (InternalIP)
    address: str

    def __str__(self) -> str:
        return f"{self.role} {self.address}"


class Memory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Stored encrypted with the VNF instance, also when a hook fails."""

    #: k8s_cluster_installation_param of the requests so far
    parameters: dict[str, Any] = {}
    #: VNFC id -> node that is in the cluster, or has begun to join it
    nodes: dict[str, Node] = {}
    #: VNFC id -> host key of the first contact
    host_keys: dict[str, str] = {}
    #: id of the VNFC that is the first master
    first: str | None = None
    #: credentials of the Kubernetes API: bearer_token, ssl_ca_cert
    credentials: dict[str, str] | None = None
    #: name under which the cluster is registered as a VIM
    vim_name: str | None = None
    #: id of the last operation
    operation: str | None = None
    #: ids of the VNFCs when it began
    before: tuple[str, ...] = ()
    #: names of the steps that it has completed
    done: list[str] = []
    #: uid of a controller -> number of its pods that ran before the drain
    moving: dict[str, int] | None = None
    #: whether the operation builds the cluster from scratch
    given_up: bool = False

    def begin(self, operation: str, vnfcs: Iterable[str]) -> None:
        """Record the operation that runs; reset its progress unless it is
        retried.
        """
        if self.operation != operation:
            self.operation = operation
            self.before = tuple(vnfcs)
            self.done = []
            self.moving = None
            self.given_up = False

    def nodes_with_role(self, role: str) -> list[Node]:
        """List the nodes of one role that are in the cluster."""
        return [node for node in self.nodes.values() if node.role == role]

    def retain_nodes(self, nodes: Collection[Node]) -> None:
        """Delete the data of all nodes but these."""
        vnfcs = {node.vnfc for node in nodes}
        self.nodes = {v: n for v, n in self.nodes.items() if v in vnfcs}
        self.host_keys = {
            v: key for v, key in self.host_keys.items() if v in vnfcs
        }
        if self.first not in vnfcs:
            self.first = None

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Record that VMs begin to join: even if that fails, they have to be
        removed from the cluster before they are deleted.
        """
        self.nodes |= {node.vnfc: node for node in nodes}

    def remove_node(self, node: Node) -> None:
        """Delete the data of a node that was removed from the cluster."""
        self.nodes.pop(node.vnfc, None)
        self.host_keys.pop(node.vnfc, None)

    @classmethod
    def from_dict(cls, stored: dict[str, Any] | None) -> "Memory":
        return msgspec.convert(stored or {}, cls)

    def to_dict(self) -> dict[str, Any]:
        """Convert to the JSON object to store."""
        return dict(msgspec.to_builtins(self))
