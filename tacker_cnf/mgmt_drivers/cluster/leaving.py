"""Takes nodes out of a cluster that goes on."""

import functools
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.lost_nodes import is_lost
from tacker_cnf.halting import Deadline
from tacker_cnf.mgmt_drivers import remote
from tacker_cnf.mgmt_drivers.cluster import etcd, haproxy, snapshots
from tacker_cnf.mgmt_drivers.cluster.api import Api
from tacker_cnf.mgmt_drivers.cluster.draining import Draining
from tacker_cnf.mgmt_drivers.cluster.etcd import Etcd
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, WORKER, Node
from tacker_cnf.mgmt_drivers.cluster.nodes import Nodes
from tacker_cnf.mgmt_drivers.cluster.task import Task

#: what lets keepalived tell the others at once
STOP_KEEPALIVED: Final = "service keepalived stop"


class Leaving:
    """One departure of some nodes, by the masters that stay.

    :param heals: whether their VMs are replaced: a worker whose pods cannot
        leave it goes all the same, and masters go only where most of them
        stay
    """

    def __init__(self, task: Task, api: Api, *, heals: bool) -> None:
        self._task = task
        self._api = api
        self._nodes = Nodes(api)
        self._heals = heals
        self._memory = task.memory
        self._steps = task.steps

    def take_out(self, leaving: Sequence[Node]) -> None:
        """Take nodes out: the workers when their pods have left them.

        :raises InfraError: no master would stay, etcd would lose its quorum,
            or a step failed
        """
        masters = [node for node in leaving if node.role == MASTER]
        workers = [node for node in leaving if node.role == WORKER]
        if not leaving:
            return
        staying = self._staying(masters)
        if masters:
            self._take_out_masters(masters, staying)
        if workers:
            self._take_out_workers(workers)
        for node in leaving:
            self._memory.forget(node)

    def _staying(self, masters: Sequence[Node]) -> list[Node]:
        staying = [m for m in self._memory.of_role(MASTER) if m not in masters]
        if not staying:
            raise errors.InfraError(
                "No master would stay: "
                f"{', '.join(map(str, masters)) or 'none is known'}. A cluster "
                "that loses all its masters is healed as a whole VNF, without "
                "vnfcInstanceId."
            )
        return staying

    # masters

    def _take_out_masters(
        self, masters: Sequence[Node], staying: Sequence[Node]
    ) -> None:
        self._task.reach(staying)
        first = self._steps.ask(
            "see that etcd can do without",
            masters,
            lambda: self._check(masters, staying),
        )
        ours = self._task.etcd(first)
        self._steps.do(
            "save a snapshot of etcd",
            [first],
            lambda: ours.save(str(self._memory.operation)),
        )
        self._steps.do(
            "copy the snapshot off the cluster",
            [first],
            lambda: self._copy_snapshot(first),
        )
        self._steps.on_each(
            "hand the cluster's address over", masters, self._hand_over
        )
        addresses = frozenset(master.address for master in masters)
        self._steps.on_each(
            f"leave {_told(masters)} out of HAProxy",
            staying,
            lambda node: self._edit(node, addresses),
        )
        self._steps.do(
            "remove from etcd",
            masters,
            lambda: self._remove(ours, masters),
        )
        for master in masters:
            self._delete(master)

    def _copy_snapshot(self, master: Node) -> None:
        copied = snapshots.copy(
            self._task.host(master),
            etcd.snapshot(str(self._memory.operation)),
            self._task.snapshots,
        )
        where = socket.gethostname()
        self._task.log(f"The snapshot is {copied} on conductor {where}")

    def _check(self, masters: Sequence[Node], staying: Sequence[Node]) -> Node:
        """See that there will be a quorum, before anything is changed; give
        a master whose etcd serves.
        """
        serving = self._serving(staying)
        ours = self._task.etcd(serving)
        members = ours.members()
        healthy = ours.healthy(member.address for member in members)
        leaving = frozenset(master.address for master in masters)
        etcd.removals(members, healthy, leaving)
        if self._heals:
            etcd.check_redundancy(members, healthy, leaving)
        return serving

    def _serving(self, staying: Sequence[Node]) -> Node:
        asked = self._task.etcd(staying[0])
        healthy = asked.healthy(master.address for master in staying)
        for master in staying:
            if master.address in healthy:
                return master
        raise errors.InfraError(
            f"etcd has no quorum: it serves on none of {_told(staying)}. "
            "Nothing was taken out. Heal the whole VNF."
        )

    def _hand_over(self, node: Node) -> None:
        """Have a master that goes leave the cluster's address to others, if
        it still answers: else they take it, some seconds later.
        """
        try:
            self._task.machines.brief(node, STOP_KEEPALIVED)
        except errors.RemoteFailed as error:
            self._task.log(f"{node} cannot hand anything over: {error}")

    def _edit(self, node: Node, addresses: frozenset[str]) -> None:
        haproxy.change(
            self._task.host(node),
            lambda text: haproxy.without(text, addresses),
            self._task.seconds,
        )

    def _remove(self, ours: Etcd, masters: Sequence[Node]) -> None:
        wanted = self._removals(ours, masters)
        for member in wanted.members:
            if wanted.heir and ours.leader() == member.id:
                self._crown(ours, member, wanted.heir)
            ours.remove(member, self._task.deadline)
            ours.await_healthy(self._task.deadline)

    def _crown(
        self, ours: Etcd, leader: etcd.Member, heir: etcd.Member
    ) -> None:
        """Have one lead that stays; if that cannot be, an election costs a
        second or more, in which an API server answers nobody.
        """
        try:
            ours.move_leader(leader, heir)
            told = f"{heir.address} leads etcd now"
        except errors.RemoteFailed as error:
            told = f"etcd has to elect who leads: {error}"
        self._task.log(told)

    def _removals(self, ours: Etcd, masters: Iterable[Node]) -> etcd.Removals:
        members = ours.members()
        return etcd.removals(
            members,
            ours.healthy(member.address for member in members),
            frozenset(master.address for master in masters),
        )

    # workers

    def _take_out_workers(self, workers: Sequence[Node]) -> None:
        found = self._steps.ask("look for the nodes", workers, self._nodes.all)
        there = {w: found[w.address] for w in workers if w.address in found}
        lost = [worker for worker, node in there.items() if is_lost(node)]
        for worker in lost:
            self._task.log(f"{worker} is lost: nothing is evicted")
            self._delete(worker)
        alive = {w: node for w, node in there.items() if w not in lost}
        # none of them is to take the pods of another
        for worker, node in alive.items():
            self._steps.do(
                "cordon the node",
                [worker],
                functools.partial(self._nodes.cordon, node),
            )
        if alive:
            self._drain(alive)
        for worker in alive:
            self._delete(worker)

    def _drain(self, nodes: Mapping[Node, dict[str, Any]]) -> None:
        asked = self._task.parameters.drain
        seconds = min(asked.timeout, self._task.deadline.remaining)
        pods = Draining(
            self._api,
            Deadline.within(seconds),
            force=asked.disable_eviction,
        )
        if self._memory.moving is None:
            # the same for each try, however far an earlier one came
            self._memory.moving = pods.running_with_those_on(nodes.values())
        wanted = self._memory.moving
        remote.at_once(
            tuple(nodes),
            lambda worker: self._attempt(
                "drain the node", [worker], lambda: pods.drain(nodes[worker])
            ),
        )
        if all(node in nodes for node in self._memory.of_role(WORKER)):
            return  # there is no elsewhere
        self._attempt(
            "wait until the pods run elsewhere",
            tuple(nodes),
            lambda: pods.await_elsewhere(wanted, nodes.values()),
        )

    def _attempt(
        self, what: str, nodes: Sequence[Node], work: Callable[[], None]
    ) -> None:
        """Do a step that a heal can do without: the VM is replaced because
        it is broken, whatever still runs there.
        """
        try:
            self._steps.do(what, nodes, work)
        except errors.InfraError as error:
            if not self._heals:
                raise
            self._task.log(f"Warning: {error} The heal goes on.")

    def _delete(self, node: Node) -> None:
        self._steps.do(
            "delete the node",
            [node],
            functools.partial(self._nodes.delete, node.address),
        )


def _told(nodes: Iterable[Node]) -> str:
    return ", ".join(map(str, nodes))
