"""Takes nodes out of a cluster that goes on."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tacker_cnf import errors
from tacker_cnf.halting import Deadline
from tacker_cnf.mgmt_drivers.cluster import etcd, haproxy
from tacker_cnf.mgmt_drivers.cluster.etcd import Etcd
from tacker_cnf.mgmt_drivers.cluster.kubectl import Kubectl
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, WORKER, Node
from tacker_cnf.mgmt_drivers.cluster.task import Task

#: what lets keepalived tell the others at once
STOP_KEEPALIVED: Final = "service keepalived stop"


class Leaving:
    """One departure of some nodes, by the masters that stay."""

    def __init__(self, task: Task) -> None:
        self._task = task
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
            serving = self._task.any_of(staying)
            self._take_out_workers(workers, self._task.kubectl(serving))
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
        kubectl = self._task.kubectl(first)
        for master in masters:
            self._steps.do(
                "delete the node",
                [master],
                functools.partial(_delete, kubectl, master),
            )

    def _check(self, masters: Sequence[Node], staying: Sequence[Node]) -> Node:
        """See that there will be a quorum, before anything is changed; give
        a master whose etcd serves.
        """
        serving = self._serving(staying)
        self._removals(self._task.etcd(serving), masters)
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
            ours.remove(member)
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

    def _take_out_workers(
        self, workers: Sequence[Node], kubectl: Kubectl
    ) -> None:
        nodes = self._steps.ask("look for the nodes", workers, kubectl.nodes)
        there = {
            w: nodes[w.address].name for w in workers if w.address in nodes
        }
        # none of them is to take the pods of another
        for worker, name in there.items():
            self._steps.do(
                "cordon the node",
                [worker],
                functools.partial(kubectl.cordon, name),
            )
        self._drain(kubectl, there)
        for worker, name in there.items():
            self._steps.do(
                "delete the node",
                [worker],
                functools.partial(kubectl.delete_node, name),
            )

    def _drain(self, kubectl: Kubectl, nodes: Mapping[Node, str]) -> None:
        asked = self._task.parameters.drain
        deadline = Deadline.within(
            min(asked.timeout, self._task.deadline.remaining)
        )
        names = frozenset(nodes.values())
        if self._memory.moving is None:
            # the same for each try, however far an earlier one came
            self._memory.moving = kubectl.running_with_those_on(names)
        wanted = self._memory.moving
        for node, name in nodes.items():
            self._steps.do(
                "drain the node",
                [node],
                functools.partial(
                    kubectl.drain,
                    name,
                    deadline,
                    force=asked.disable_eviction,
                ),
            )
        if all(node in nodes for node in self._memory.of_role(WORKER)):
            return  # there is no elsewhere
        self._steps.do(
            "wait until the pods run elsewhere",
            nodes,
            lambda: kubectl.await_elsewhere(wanted, names, deadline),
        )


def _delete(kubectl: Kubectl, node: Node) -> None:
    if found := kubectl.node(node.address):
        kubectl.delete_node(found.name)


def _told(nodes: Iterable[Node]) -> str:
    return ", ".join(map(str, nodes))
