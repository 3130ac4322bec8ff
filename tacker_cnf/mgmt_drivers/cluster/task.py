"""The context that the parts of one hook share."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers import remote
from tacker_cnf.mgmt_drivers.cluster.etcd import Etcd
from tacker_cnf.mgmt_drivers.cluster.installation_parameters import (
    InstallationParameters,
)
from tacker_cnf.mgmt_drivers.cluster.kubectl import Kubectl
from tacker_cnf.mgmt_drivers.cluster.memory import Memory, Node
from tacker_cnf.mgmt_drivers.cluster.ssh_pool import SshPool
from tacker_cnf.mgmt_drivers.cluster.steps import Steps
from tacker_cnf.mgmt_drivers.remote import Host
from tacker_cnf.runtime.cancellation import Deadline


@dataclasses.dataclass(frozen=True)
class Task:
    """The context of one hook that works on a cluster."""

    parameters: InstallationParameters
    memory: Memory
    ssh_pool: SshPool
    steps: Steps
    deadline: Deadline
    #: directory of the copies of etcd snapshots
    snapshots: Path
    #: writes a line to the log of the operation
    log: Callable[[str], None]

    @property
    def command_timeout(self) -> float:
        """Seconds for a command that waits for nothing."""
        return self.parameters.command_timeout

    def host(self, node: Node) -> Host:
        """Return the connection to a node; connect at the first call."""
        return self.ssh_pool.host(node)

    def connect_all(self, nodes: Sequence[Node]) -> None:
        """Connect to all nodes, before anything is changed."""
        self.steps.run(
            "connect to",
            nodes,
            lambda: remote.at_once(nodes, self.ssh_pool.host),
        )

    def connect_any(self, masters: Sequence[Node]) -> Node:
        """Return a master that is reachable.

        :raises InfraError: no master is; the message is about the last one
        """
        *others, last = masters
        for master in others:
            with contextlib.suppress(errors.RemoteFailed):
                self.host(master)
                return master
        self.connect_all([last])
        return last

    def kubectl(self, master: Node) -> Kubectl:
        return Kubectl(self.host(master), master.address, self.command_timeout)

    def etcd(self, master: Node) -> Etcd:
        return Etcd(self.host(master), self.command_timeout)
