"""Remove nodes from a cluster that keeps running."""

import functools
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.lost_nodes import is_lost
from tacker_cnf.mgmt_drivers import remote
from tacker_cnf.mgmt_drivers.cluster import etcd, haproxy, snapshots
from tacker_cnf.mgmt_drivers.cluster.api import Api
from tacker_cnf.mgmt_drivers.cluster.etcd import Etcd
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, WORKER, Node
from tacker_cnf.mgmt_drivers.cluster.node_drain import NodeDrain
from tacker_cnf.mgmt_drivers.cluster.nodes import Nodes
from tacker_cnf.mgmt_drivers.cluster.task import Task
from tacker_cnf.runtime.cancellation import Deadline

#: makes keepalived release the cluster's address at once
STOP_KEEPALIVED: Final = "service keepalived stop"


class NodeRemoval:
    """Removes nodes, through the masters that stay.

    :param is_heal: whether their VMs are replaced: then a worker is removed
        even if its pods cannot be evicted, and masters are removed only if a
        majority stays
    """

    def __init__(self, task: Task, api: Api, *, is_heal: bool) -> None:
        self._task = task
        self._api = api
        self._nodes = Nodes(api)
        self._is_heal = is_heal
        self._memory = task.memory
        self._steps = task.steps

    def remove_nodes(self, leaving: Sequence[Node]) -> None:
        """Remove nodes; drain the workers first.

        :raises InfraError: no master would stay, etcd would lose its quorum,
            or a step failed
        """
        masters = [node for node in leaving if node.role == MASTER]
        workers = [node for node in leaving if node.role == WORKER]
        if not leaving:
            return
        remaining = self._remaining_masters(masters)
        if masters:
            self._remove_masters(masters, remaining)
        if workers:
            self._remove_workers(workers)
        for node in leaving:
            self._memory.remove_node(node)

    def _remaining_masters(self, masters: Sequence[Node]) -> list[Node]:
        remaining = [
            m for m in self._memory.nodes_with_role(MASTER) if m not in masters
        ]
        if not remaining:
            raise errors.InfraError(
                "No master would stay in the cluster without "
                f"{', '.join(map(str, masters)) or 'the nodes to be removed'}. "
                "Nothing was changed. To replace all masters, heal the whole "
                "VNF, without vnfcInstanceId."
            )
        return remaining

    # masters

    def _remove_masters(
        self, masters: Sequence[Node], remaining: Sequence[Node]
    ) -> None:
        self._task.connect_all(remaining)
        first = self._steps.run(
            "check the quorum of etcd without",
            masters,
            lambda: self._check_quorum(masters, remaining),
        )
        etcd_client = self._task.etcd(first)
        self._steps.run_once(
            "save a snapshot of etcd",
            [first],
            lambda: etcd_client.save_snapshot(str(self._memory.operation)),
        )
        self._steps.run_once(
            "copy the snapshot off the cluster",
            [first],
            lambda: self._copy_snapshot(first),
        )
        self._steps.run_on_each(
            "release the cluster's address", masters, self._release_address
        )
        addresses = frozenset(master.address for master in masters)
        self._steps.run_on_each(
            f"remove {_join_names(masters)} from HAProxy",
            remaining,
            lambda node: self._update_haproxy(node, addresses),
        )
        self._steps.run_once(
            "remove from etcd",
            masters,
            lambda: self._remove(etcd_client, masters),
        )
        for master in masters:
            self._delete(master)

    def _copy_snapshot(self, master: Node) -> None:
        copied = snapshots.copy(
            self._task.host(master),
            etcd.snapshot(str(self._memory.operation)),
            self._task.snapshots,
        )
        hostname = socket.gethostname()
        self._task.log(
            f"Snapshot of etcd copied: path={copied} conductor={hostname}"
        )

    def _check_quorum(
        self, masters: Sequence[Node], remaining: Sequence[Node]
    ) -> Node:
        """Check that etcd keeps its quorum, before anything is changed.

        :return: a master whose etcd member serves
        """
        serving = self._find_serving_master(remaining)
        etcd_client = self._task.etcd(serving)
        members = etcd_client.members()
        healthy = etcd_client.healthy(member.address for member in members)
        leaving = frozenset(master.address for master in masters)
        etcd.plan_removal(members, healthy, leaving)
        if self._is_heal:
            etcd.check_redundancy(members, healthy, leaving)
        return serving

    def _find_serving_master(self, remaining: Sequence[Node]) -> Node:
        first_etcd = self._task.etcd(remaining[0])
        healthy = first_etcd.healthy(master.address for master in remaining)
        for master in remaining:
            if master.address in healthy:
                return master
        raise errors.InfraError(
            f"etcd has no quorum: it serves on none of {_join_names(remaining)}. "
            "No member was removed. Heal the whole VNF."
        )

    def _release_address(self, node: Node) -> None:
        """Make a master release the cluster's address, if it is reachable;
        otherwise keepalived fails over some seconds after it is deleted.
        """
        try:
            self._task.ssh_pool.run_if_reachable(node, STOP_KEEPALIVED)
        except errors.RemoteFailed as error:
            self._task.log(f"Cluster address not released: {node}: {error}")

    def _update_haproxy(self, node: Node, addresses: frozenset[str]) -> None:
        haproxy.update_configuration(
            self._task.host(node),
            lambda text: haproxy.remove_servers(text, addresses),
            self._task.command_timeout,
        )

    def _remove(self, etcd_client: Etcd, masters: Sequence[Node]) -> None:
        plan = self._removals(etcd_client, masters)
        for member in plan.members:
            if plan.successor and etcd_client.leader() == member.id:
                self._move_leader(etcd_client, member, plan.successor)
            etcd_client.remove(member, self._task.deadline)
            etcd_client.wait_healthy(self._task.deadline)

    def _move_leader(
        self, etcd_client: Etcd, leader: etcd.Member, successor: etcd.Member
    ) -> None:
        """Transfer leadership to a member that stays. Without it etcd elects
        a leader, and API servers do not respond for a second or more.
        """
        try:
            etcd_client.move_leader(leader, successor)
            message = f"Leader of etcd moved: {successor.address}"
        except errors.RemoteFailed as error:
            message = f"Leader of etcd not moved, etcd elects one: {error}"
        self._task.log(message)

    def _removals(
        self, etcd_client: Etcd, masters: Iterable[Node]
    ) -> etcd.RemovalPlan:
        members = etcd_client.members()
        return etcd.plan_removal(
            members,
            etcd_client.healthy(member.address for member in members),
            frozenset(master.address for master in masters),
        )

    # workers

    def _remove_workers(self, workers: Sequence[Node]) -> None:
        found = self._steps.run("find the nodes", workers, self._nodes.all)
        present = {w: found[w.address] for w in workers if w.address in found}
        lost = [worker for worker, node in present.items() if is_lost(node)]
        for worker in lost:
            self._task.log(
                f"Node not ready, deleted without a drain: {worker}"
            )
            self._delete(worker)
        alive = {w: node for w, node in present.items() if w not in lost}
        # cordon all first, so that none receives the pods of another
        for worker, node in alive.items():
            self._steps.run_once(
                "cordon the node",
                [worker],
                functools.partial(self._nodes.cordon, node),
            )
        if alive:
            self._drain(alive)
        for worker in alive:
            self._delete(worker)

    def _drain(self, nodes: Mapping[Node, dict[str, Any]]) -> None:
        drain_parameters = self._task.parameters.drain
        seconds = min(drain_parameters.timeout, self._task.deadline.remaining)
        pods = NodeDrain(
            self._api,
            Deadline.within(seconds),
            force=drain_parameters.disable_eviction,
        )
        if self._memory.moving is None:
            # counted before the first attempt, for all retries
            self._memory.moving = pods.count_running(nodes.values())
        wanted = self._memory.moving
        remote.at_once(
            tuple(nodes),
            lambda worker: self._attempt(
                "drain the node", [worker], lambda: pods.drain(nodes[worker])
            ),
        )
        if all(node in nodes for node in self._memory.nodes_with_role(WORKER)):
            return  # no worker stays on which the pods could run
        self._attempt(
            "wait until the pods run elsewhere",
            tuple(nodes),
            lambda: pods.wait_rescheduled(wanted, nodes.values()),
        )

    def _attempt(
        self, what: str, nodes: Sequence[Node], work: Callable[[], None]
    ) -> None:
        """Run a step whose failure a heal ignores: the VM is replaced because
        it is broken, whatever still runs there.
        """
        try:
            self._steps.run_once(what, nodes, work)
        except errors.InfraError as error:
            if not self._is_heal:
                raise
            self._task.log(f"Warning: {error} The heal continues.")

    def _delete(self, node: Node) -> None:
        self._steps.run_once(
            "delete the node",
            [node],
            functools.partial(self._nodes.delete, node.address),
        )


def _join_names(nodes: Iterable[Node]) -> str:
    return ", ".join(map(str, nodes))
