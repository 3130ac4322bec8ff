"""What the parts of one hook share."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from tacker_cnf import errors
from tacker_cnf.halting import Deadline
from tacker_cnf.mgmt_drivers import remote
from tacker_cnf.mgmt_drivers.cluster.etcd import Etcd
from tacker_cnf.mgmt_drivers.cluster.kubectl import Kubectl
from tacker_cnf.mgmt_drivers.cluster.machines import Machines
from tacker_cnf.mgmt_drivers.cluster.memory import Memory, Node
from tacker_cnf.mgmt_drivers.cluster.parameters import Parameters
from tacker_cnf.mgmt_drivers.cluster.steps import Steps
from tacker_cnf.mgmt_drivers.remote import Host


@dataclasses.dataclass(frozen=True)
class Task:
    """One hook at work on a cluster."""

    parameters: Parameters
    memory: Memory
    machines: Machines
    steps: Steps
    deadline: Deadline
    #: where copies of etcd's snapshots are kept
    snapshots: Path
    #: tells the operator something beside the steps
    log: Callable[[str], None]

    @property
    def seconds(self) -> float:
        """How long a command may take that waits for nothing."""
        return self.parameters.command_timeout

    def host(self, node: Node) -> Host:
        """Connect to a node, unless that was done."""
        return self.machines.host(node)

    def reach(self, nodes: Sequence[Node]) -> None:
        """See that all answer, before anything is changed."""
        self.steps.ask(
            "connect to",
            nodes,
            lambda: remote.at_once(nodes, self.machines.host),
        )

    def any_of(self, masters: Sequence[Node]) -> Node:
        """Find a master that answers.

        :raises InfraError: none does; it tells of the last one
        """
        *others, last = masters
        for master in others:
            with contextlib.suppress(errors.RemoteFailed):
                self.host(master)
                return master
        self.reach([last])
        return last

    def kubectl(self, master: Node) -> Kubectl:
        return Kubectl(self.host(master), master.address, self.seconds)

    def etcd(self, master: Node) -> Etcd:
        return Etcd(self.host(master), self.seconds)
