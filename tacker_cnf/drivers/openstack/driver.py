"""The OpenStack driver: makes a Heat stack match a target."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask, SearchTask, WatchTask
from tacker_cnf.drivers.coordination import Coordination
from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.openstack import (
    assets,
    evictions,
    grace,
    healing,
    requests,
    rolling,
    sizing,
    templates,
)
from tacker_cnf.drivers.openstack.clouds import Clouds
from tacker_cnf.drivers.openstack.fields import Question, StackFields, UserData
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.inventory import Places
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.drivers.openstack.stacks import Tree
from tacker_cnf.drivers.openstack.userdata import ChosenUserData
from tacker_cnf.drivers.openstack.work import Work, instance_of, stack_name
from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.scripts.process import bounds_of
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op

#: seconds for which somebody who looks whether an OpenStack is there bears it
BRIEF: Final = 1.0
#: of a stack that is deleted, or soon will be; not DELETE_FAILED
DELETED: Final = frozenset({"DELETE_IN_PROGRESS", "DELETE_COMPLETE"})


class OpenstackDriver:
    """VNFs as the stacks that a package's Heat templates describe."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._all = conf
        self._conf = conf.openstack
        self._clouds = Clouds(self._conf.request_timeout)
        self._user_data: UserData = ChosenUserData(bounds_of(conf))

    def reach(self, connection: VimConnectionInfo) -> None:
        patience = self._endurance(Deadline.within(BRIEF))
        self._clouds.connect(connection, patience).look()

    def validate(self, task: InfraTask) -> None:
        if task.operation is Op.MODIFY_INFO:
            return  # its scripts see to the stack
        requests.check(task)
        if task.target is not None and task.operation is not None:
            self._user_data.check(self._question(task))

    def apply(self, task: InfraTask) -> InfraResult:
        work = self._work(task)
        question = self._question(task)
        if task.current is None:
            stack = work.placed(
                lambda fields: work.put(fields, question.base_hot),
                self._fields(question),
            )
        else:
            there = work.there()
            fields = self._fields(question)
            with work.marked(sizing.members(work, there, task)):
                for stage in self._stages(task, work, fields):
                    stack = work.placed(work.change, stage)
        made = work.made(stack)
        if task.current_package:
            work.coordinate(Coordination(self._all, task), stack, made)
        return made

    def replace(self, task: InfraTask) -> InfraResult:
        work = self._work(task)
        question = self._question(task)
        if healing.is_of_all(task, default=self._conf.heal_whole_all):
            stack = healing.recreate(
                work, task, self._fields(question), question.base_hot
            )
        else:
            stack = healing.replace_servers(
                work, self._nova(task, work), task, self._fields(question)
            )
        return work.made(stack)

    def destroy(self, task: InfraTask) -> InfraResult:
        seconds = self._grace(task)
        work = self._work(task, seconds)
        found = work.find()
        if found is None:
            return InfraResult()
        if seconds and found.action != "DELETE":
            grace.give(task, seconds)
        work.remove(found)
        return InfraResult()

    def observe(self, task: InfraTask) -> InfraResult:
        work = self._work(task)
        found = work.find()
        if found is None:
            return work.lost()
        nova = self._nova(task, work)

        def gone(tree: Tree) -> Collection[str]:
            if task.operation is None and tree.is_busy:
                raise errors.OperationInProgress(
                    f"Heat still works on stack {found.name}."
                )
            return evictions.gone(nova, tree)

        return work.result(found, gone)

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        heat = self._of_search(task)
        return {
            instance_id: [str(stack)]
            for stack in heat.stacks()
            if (instance_id := instance_of(stack.name)) is not None
            and task.instance_id in {None, instance_id}
            and stack.status not in DELETED
        }

    def clean(self, task: SearchTask) -> Sequence[str]:
        assert task.instance_id is not None
        heat = self._of_search(task)
        found = heat.find(stack_name(task.instance_id))
        if found is None or found.status == "DELETE_COMPLETE":
            return ()
        if found.status != "DELETE_IN_PROGRESS":
            heat.delete(found)
        return [str(found)]

    def _of_search(self, task: SearchTask) -> Heat:
        patience = Endurance(
            Deadline(math.inf), task.halt, contact=BRIEF, outage=BRIEF
        )
        return self._clouds.connect(task.vim_connection, patience)

    def watch(self, task: WatchTask) -> None:
        """Say that Heat cannot be watched."""

    def _grace(self, task: InfraTask) -> int:
        """Tell the seconds that the VNF has to end; of a rollback none."""
        if task.operation is not Op.TERMINATE:
            return 0
        default: int = self._conf.graceful_termination_timeout
        return default if task.grace is None else task.grace

    def _question(self, task: InfraTask) -> Question:
        assert task.operation is not None
        basis = task.target or task.current
        assert basis is not None
        return Question(
            operation=task.operation,
            is_rollback=task.rolls_back,
            task=task,
            package=task.package,
            base_hot=templates.base_hot(task.package, basis.flavour_id),
        )

    def _fields(self, question: Question) -> StackFields:
        """Ask user data, which is told what the VIM and the VNFD know beside
        the grant.
        """
        task = question.task
        _, connection = _vim(task)
        patience = self._endurance(task.deadline, task.halt)
        glance = self._clouds.images(connection, patience)
        known = dataclasses.replace(task, grant=assets.completed(task, glance))
        return self._user_data.fields(
            dataclasses.replace(question, task=known)
        )

    def _stages(
        self, task: InfraTask, work: Work, fields: StackFields
    ) -> Iterable[StackFields]:
        if task.current_package is None:
            return (fields,)
        return rolling.stages(fields, work.flavour)

    def _work(self, task: InfraTask, later: int = 0) -> Work:
        """Begin with the stack.

        :param later: seconds that pass before Heat has anything to do
        """
        key, connection = _vim(task)
        patience = self._conf.stack_timeout + later
        deadline = Deadline.within(min(patience, task.deadline.remaining))
        heat = self._clouds.connect(
            connection, self._endurance(deadline, task.halt)
        )
        places = Places(key, self._tenant(heat, connection))
        return Work(task, heat, places, deadline, self._conf.fallback_zones)

    def _nova(self, task: InfraTask, work: Work) -> Nova:
        _, connection = _vim(task)
        patience = self._endurance(work.waiter.deadline, task.halt)
        return self._clouds.servers(connection, patience)

    def _tenant(self, heat: Heat, connection: VimConnectionInfo) -> str:
        named = connection.access_info.get("project")
        return str(named) if named else heat.project_id()

    def _endurance(
        self, deadline: Deadline, halt: Halt | None = None
    ) -> Endurance:
        return Endurance(
            deadline,
            halt,
            contact=self._conf.contact_timeout,
            outage=self._conf.outage_timeout,
        )


def _vim(task: InfraTask) -> tuple[str, VimConnectionInfo]:
    """Give the one VIM, and by which name vimConnectionInfo has it."""
    first, *_ = task.vim_connections.items()
    return first
