"""Turn VMs into nodes, of a new cluster or of an existing one."""

from collections.abc import Sequence

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import haproxy, installation
from tacker_cnf.mgmt_drivers.cluster.api import Api
from tacker_cnf.mgmt_drivers.cluster.etcd import Etcd
from tacker_cnf.mgmt_drivers.cluster.installation import (
    JoinCredentials,
    NodeInstaller,
)
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, WORKER, Node
from tacker_cnf.mgmt_drivers.cluster.nodes import Nodes, name_of
from tacker_cnf.mgmt_drivers.cluster.task import Task


class NodeJoin:
    """Adds nodes to a cluster."""

    def __init__(self, task: Task, installer: NodeInstaller, api: Api) -> None:
        self._task = task
        self._installer = installer
        self._api = api
        self._nodes = Nodes(api)
        self._memory = task.memory
        self._steps = task.steps

    def build(self, nodes: Sequence[Node]) -> None:
        """Create a cluster of VMs that are not in one.

        :raises InfraError: there is no master, or a step failed
        """
        masters = [node for node in nodes if node.role == MASTER]
        if not masters:
            raise errors.InfraError(
                "The VNF has no VM of the VDU of master_node: a cluster needs "
                "one master at least."
            )
        self._memory.retain_nodes(nodes)
        self._task.connect_all(nodes)
        # a retry uses the same first master
        self._memory.first = self._memory.first or masters[0].vnfc
        masters.sort(key=lambda master: master.vnfc != self._memory.first)
        first = masters[0]
        self._memory.add_nodes([first])
        self._steps.run_once(
            "install the first master",
            [first],
            lambda: self._installer.install(
                self._task.host(first), first, masters, None
            ),
        )
        # stored credentials may be of the cluster that this one replaces
        self._steps.run(
            "create credentials for the API", [first], self._api.renew
        )
        self._add([node for node in nodes if node != first], masters)

    def join(self, nodes: Sequence[Node]) -> None:
        """Join VMs to an existing cluster.

        :raises InfraError: the cluster has no ready master, or a step failed
        """
        existing = [
            m for m in self._memory.nodes_with_role(MASTER) if m not in nodes
        ]
        if not existing:
            raise errors.InfraError(
                "The cluster has no master that new nodes could join. Heal the "
                "whole VNF, without vnfcInstanceId."
            )
        new = [node for node in nodes if node.role == MASTER]
        # a new master has to be added to HAProxy on all existing ones
        self._task.connect_all([*nodes, *existing] if new else nodes)
        first = self._steps.run(
            "find a ready master",
            existing,
            lambda: self._find_ready_master(existing),
        )
        existing.remove(first)
        self._add(nodes, [first, *existing, *new])

    def _find_ready_master(self, masters: Sequence[Node]) -> Node:
        ready = self._nodes.ready()
        alive = [master for master in masters if master.address in ready]
        if not alive:
            raise errors.InfraError(
                "No master is Ready, so no node can join. Heal the masters "
                "first, or the whole VNF."
            )
        return self._task.connect_any(alive)

    def _add(self, nodes: Sequence[Node], masters: Sequence[Node]) -> None:
        """Join nodes.

        :param masters: all masters, the new ones too; the first one is in the
            cluster
        """
        first = masters[0]
        self._memory.add_nodes(nodes)
        new = [node for node in nodes if node.role == MASTER]
        workers = [node for node in nodes if node.role == WORKER]
        for master in new:  # etcd accepts one new member at a time
            self._join(master, masters)
        if new:
            self._wait_ready(new)
            self._add_to_haproxy(new, masters)
        if workers:
            self._join_workers(first, workers)
            self._wait_ready(workers)

    def _wait_ready(self, nodes: Sequence[Node]) -> None:
        self._steps.run_once(
            "wait until the nodes are ready",
            nodes,
            lambda: self._nodes.wait_ready(
                [node.address for node in nodes], self._task.deadline
            ),
        )

    def _join(self, master: Node, masters: Sequence[Node]) -> None:
        first = masters[0]
        self._steps.run_once(
            "install the master",
            [master],
            lambda: self._install(master, masters),
        )
        self._steps.run_once(
            "check the etcd member",
            [master],
            lambda: _check_member(self._task.etcd(first), master),
        )

    def _install(self, master: Node, masters: Sequence[Node]) -> None:
        """Install a master, also after an interrupted attempt. Remove the
        etcd member which that has left, before the script runs; or after it,
        if the member served until the script undid the earlier attempt.
        """
        etcd = self._task.etcd(masters[0])
        etcd.remove_dead(master.address, self._task.deadline)
        try:
            self._run_script(master, masters)
        except errors.RemoteFailed as error:
            if not etcd.remove_dead(master.address, self._task.deadline):
                raise
            self._task.log(
                f"Dead etcd member removed, retrying: {master}: {error}"
            )
            self._run_script(master, masters)

    def _run_script(self, master: Node, masters: Sequence[Node]) -> None:
        self._installer.install(
            self._task.host(master),
            master,
            masters,
            # created when needed, because they expire
            self._create_credentials(masters[0], as_master=True),
        )

    def _join_workers(self, first: Node, workers: Sequence[Node]) -> None:
        credentials = self._steps.run(
            "create join credentials for workers",
            [first],
            lambda: self._create_credentials(first, as_master=False),
        )
        self._steps.run_on_each(
            "install the worker",
            workers,
            lambda node: self._installer.install_worker(
                self._task.host(node), node, credentials
            ),
        )

    def _create_credentials(
        self, first: Node, *, as_master: bool
    ) -> JoinCredentials:
        host = self._task.host(first)
        return installation.create_join_credentials(
            host, self._task.command_timeout, as_master=as_master
        )

    def _add_to_haproxy(
        self, new: Sequence[Node], masters: Sequence[Node]
    ) -> None:
        """Add new masters to HAProxy on every master."""
        nodes = self._nodes.all()
        names = {node.address: name_of(nodes[node.address]) for node in new}
        description = ", ".join(map(str, new))
        self._steps.run_on_each(
            f"add {description} to HAProxy",
            masters,
            lambda node: self._update_haproxy(node, names),
        )
        self._steps.run_on_each(
            f"probe HAProxy with {description}", masters, self._probe
        )

    def _update_haproxy(self, node: Node, names: dict[str, str]) -> None:
        haproxy.update_configuration(
            self._task.host(node),
            lambda text: haproxy.add_servers(text, names),
            self._task.command_timeout,
        )

    def _probe(self, node: Node) -> None:
        kubectl = self._task.kubectl(node)
        name = self._installer.address
        for port in (haproxy.API_PORT, haproxy.PORT):
            kubectl.wait_api(node.address, port, name, self._task.deadline)


def _check_member(etcd: Etcd, master: Node) -> None:
    addresses = {member.address for member in etcd.members()}
    if master.address not in addresses:
        raise errors.InfraError(
            f"{master} is not a member of etcd; the members are "
            f"{', '.join(sorted(addresses))}."
        )
    if master.address not in etcd.healthy([master.address]):
        raise errors.InfraError(f"The etcd member of {master} does not serve.")
