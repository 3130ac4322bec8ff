"""The OpenStack driver: creates and updates the Heat stack of a VNF."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.drivers import coordination, vim_check, vim_connection
from tacker_cnf.drivers.base import (
    InfraTask,
    Plan,
    RegisteredVim,
    SearchTask,
    TaskContext,
    WatchTask,
)
from tacker_cnf.drivers.coordination import Coordination
from tacker_cnf.drivers.openstack import (
    actions,
    assets,
    graceful_termination,
    healing,
    openstack_connection,
    operational_state,
    request_validation,
    rolling_update,
    scale_in,
    server_deletion,
    stack_names,
    templates,
)
from tacker_cnf.drivers.openstack.clouds import Clouds
from tacker_cnf.drivers.openstack.healing import PreviousStack
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.inventory import StackLocation
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.drivers.openstack.observation import (
    ObservedStack,
    StackObserver,
)
from tacker_cnf.drivers.openstack.resource_policy import (
    ResourcePolicy,
    Template,
)
from tacker_cnf.drivers.openstack.stack_fields import StackFields, UserData
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stacks import Stack, Tree
from tacker_cnf.drivers.openstack.userdata import ChosenUserData
from tacker_cnf.http_client import clients
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.lcm import vim_policy
from tacker_cnf.lcm.change import Change
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.scripts.limits import limits_of
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.vnfd.base_hot import BaseHot

#: statuses of a stack that is deleted or being deleted; not DELETE_FAILED
DELETED_STATUSES: Final = frozenset({"DELETE_IN_PROGRESS", "DELETE_COMPLETE"})


class OpenstackDriver:
    """Runs VNFs as Heat stacks of the templates in their packages."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._root_conf = conf
        self._conf = conf.openstack
        self._check_timeout: float = conf.vims.check_timeout
        self._ssrf_policy = SsrfPolicy.of_vims(conf)
        #: the policy of a VIM that sets none
        self._policy = {
            name: self._conf[name] for name in ResourcePolicy.__struct_fields__
        }
        self._clouds = Clouds(
            self._conf.request_timeout,
            self._ssrf_policy,
            clients.options_from_conf(conf).limits,
        )
        self._script_limits = limits_of(conf)
        self._user_data: UserData = ChosenUserData(self._script_limits)

    vim_type = openstack_connection.VIM_TYPE
    heals_storage = True
    removes_newest = True

    @property
    def script_options(self) -> Mapping[str, Any]:
        """The options of [openstack] for scripts."""
        return {"ssh_host_keys": self._conf.ssh_host_keys}

    def connection_of(self, vim: RegisteredVim) -> VimConnectionInfo:
        return openstack_connection.of_vim(vim)

    def check_policy(self, policy: Mapping[str, Any]) -> None:
        vim_policy.read(
            {vim_policy.POLICY_KEY: policy}, ResourcePolicy, self._policy
        )

    def check_connection(self, connection: VimConnectionInfo) -> None:
        with vim_check.limited(
            self._check_timeout, self._conf
        ) as retry_policy:
            self._clouds.connect(connection, retry_policy).check_access()

    def plan(
        self, task: InfraTask, observed: ObservedStack | None = None
    ) -> Plan:
        if not task.change.restores:  # else it was checked when accepted
            vim_connection.check_endpoints(
                self._ssrf_policy, task.vim_connections
            )
            request_validation.check(task, self._script_limits)
            if task.change.desired is not None and task.has_operation:
                self._user_data.check(task)
            self._check_base_hot(task)
        heals_stack = request_validation.heals_stack(
            task.change, default=self._conf.heal_whole_all
        )
        stack_plan = actions.StackPlan(task, heals_stack, observed)
        return Plan(
            task=task,
            actions=tuple(stack_plan.list_actions()),
            warnings=tuple(stack_plan.list_warnings()),
            scripts=coordination.scripts(task),
        )

    def observe_resources(
        self, task: InfraTask, context: TaskContext
    ) -> ObservedStack:
        self.plan(task)
        change = task.change
        stack_task = self._stack_task(task, context)
        nova = self._nova(task, context, stack_task)
        observer = StackObserver(task, context, stack_task, nova)
        found = stack_task.find()
        if change.desired is None:
            return observer.observe(found)
        if change.operates:
            return observer.observe_operational_state(stack_task.existing())
        fields = self._fields(task, context)
        base_hot = _base_hot(task)
        if change.current is None:
            return observer.observe_creation(found, fields, base_hot)
        if not change.replace:
            return observer.observe_update(stack_task.usable(found), fields)
        if healing.replaces_whole_vnf(
            change, context, default=self._conf.heal_whole_all
        ):
            previous, fields = healing.recreation(
                stack_task, task, context, found, fields, base_hot
            )
            return observer.observe_creation(
                found, fields, base_hot, previous.stack_id
            )
        # a heal would resume a suspended stack
        if found is None or found.action != "SUSPEND":
            found = stack_task.usable(found)
        return observer.observe_heal(found, fields)

    def validate_package(self, task: InfraTask) -> None:
        """Accept any: the package's scripts handle the stack, and operations
        check its templates.
        """

    def execute(self, plan: Plan, context: TaskContext) -> Observed:
        task = plan.task
        if task.change.desired is None:
            return self._delete(task, context)
        delay = (task.change.grace or 0) if task.change.operates else 0
        stack_task = self._stack_task(task, context, delay)
        if task.change.operates:
            stack = self._operate(task, context, stack_task)
        elif task.change.replace:
            stack = self._heal(task, context, stack_task)
        elif task.change.current is None:
            base_hot = _base_hot(task)
            stack = stack_task.apply_with_fallback_zones(
                lambda fields: stack_task.create_or_update(fields, base_hot),
                self._fields(task, context),
            )
        else:
            stack = self._update(task, context, stack_task)
        if task.change.operates or task.change.state.is_stopped:
            operational_state.switch(
                stack_task,
                self._nova(task, context, stack_task),
                stack_task.vnfcs(stack),
                task.change,
            )
        checked_result = stack_task.checked_result(stack)
        if task.current_package:
            stack_task.coordinate(
                Coordination(self._root_conf, task, context),
                stack,
                checked_result,
            )
        return checked_result

    def _update(
        self, task: InfraTask, context: TaskContext, stack_task: StackTask
    ) -> Stack:
        stack = stack_task.existing()
        fields = self._fields(task, context)
        is_first = context.checkpoint(PreviousStack) is None
        changes_package = task.current_package is not None
        if is_first and (changes_package or task.change.changes_flavour):
            context.save_checkpoint(healing.read_previous(stack_task, stack))
        with stack_task.marked(
            scale_in.members_to_remove(
                stack_task, stack, task.change, task.grant_request
            )
        ):
            for stage in self._stages(task, stack_task, fields):
                stack = stack_task.apply_with_fallback_zones(
                    stack_task.update_current, stage
                )
        return stack

    def _heal(
        self, task: InfraTask, context: TaskContext, stack_task: StackTask
    ) -> Stack:
        fields = self._fields(task, context)
        if healing.replaces_whole_vnf(
            task.change, context, default=self._conf.heal_whole_all
        ):
            return healing.recreate(
                stack_task, task, context, fields, _base_hot(task)
            )
        return healing.replace_servers(
            stack_task,
            self._nova(task, context, stack_task),
            task.change,
            context,
            fields,
        )

    def _operate(
        self, task: InfraTask, context: TaskContext, stack_task: StackTask
    ) -> Stack:
        """Wait, before a graceful stop, until the VNF is out of service."""
        if task.change.grace:
            graceful_termination.wait_for_vnf(context, task.change.grace)
        return stack_task.existing()

    def _delete(self, task: InfraTask, context: TaskContext) -> Observed:
        seconds = self._termination_timeout(task.change)
        stack_task = self._stack_task(task, context, seconds)
        found = stack_task.find()
        if found is None:
            return Observed()
        if seconds and found.action != "DELETE":
            graceful_termination.wait_for_vnf(context, seconds)
        stack_task.remove(found)
        return Observed()

    def observe(self, task: InfraTask, context: TaskContext) -> Observed:
        stack_task = self._stack_task(task, context)
        found = stack_task.find()
        if found is None:
            return stack_task.result_without_stack()
        nova = self._nova(task, context, stack_task)

        def find_deleted(tree: Tree) -> Collection[str]:
            if not task.has_operation and tree.is_busy:
                raise errors.OperationInProgress(
                    f"Resources of stack {found.name} are in progress; retry "
                    "when Heat has completed them."
                )
            return server_deletion.find_deleted(nova, tree)

        return stack_task.result(found, find_deleted)

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        heat = self._heat_for_search(task)
        return {
            instance_id: [str(stack)]
            for stack in heat.stacks()
            if (instance_id := stack_names.instance_of(stack)) is not None
            and task.instance_id in {None, instance_id}
            and stack.status not in DELETED_STATUSES
        }

    def clean(self, task: SearchTask) -> Sequence[str]:
        assert task.instance_id is not None
        heat = self._heat_for_search(task)
        found = [
            stack
            for stack in heat.stacks()
            if stack_names.instance_of(stack) == task.instance_id
            and stack.status != "DELETE_COMPLETE"
        ]
        for stack in found:
            if stack.status != "DELETE_IN_PROGRESS":
                heat.delete(stack)
        return [str(stack) for stack in found]

    def _heat_for_search(self, task: SearchTask) -> Heat:
        retry_policy = RetryPolicy.without_deadline(task.cancel_token)
        return self._clouds.connect(task.vim_connection, retry_policy)

    def watch(self, task: WatchTask) -> None:
        """Return at once: Heat has no watch."""

    def _termination_timeout(self, change: Change) -> int:
        """Return the seconds to wait before the deletion; 0: do not wait, as
        the VNF has never run, or does not run.
        """
        if not change.leaves_known_state or (
            change.current and change.current.is_stopped
        ):
            return 0
        default: int = self._conf.graceful_termination_timeout
        return default if change.grace is None else change.grace

    def _fields(self, task: InfraTask, context: TaskContext) -> StackFields:
        """Run user data, with the grant completed from the VIM and VNFD. The
        rollback of a change of flavour needs none.
        """
        if task.change.changes_flavour and task.change.restores:
            return healing.restored_fields(task, context)
        _, connection = _vim(task)
        retry_policy = RetryPolicy.of_options(
            self._conf, context.deadline, context.cancel_token
        )
        glance = self._clouds.images(connection, retry_policy)
        completed_task = dataclasses.replace(
            task, grant=assets.complete_grant(task, glance)
        )
        return self._user_data.fields(completed_task, context)

    def _stages(
        self, task: InfraTask, stack_task: StackTask, fields: StackFields
    ) -> Iterable[StackFields]:
        if task.current_package is None:
            return (fields,)
        return rolling_update.stages(fields, stack_task.flavour)

    def _stack_task(
        self, task: InfraTask, context: TaskContext, delay: int = 0
    ) -> StackTask:
        """Create the StackTask of a task.

        :param delay: seconds before the first request to Heat, by which its
            timeout is extended
        """
        key, connection = _vim(task)
        timeout = self._conf.stack_timeout + delay
        deadline = context.deadline.limited(timeout)
        heat = self._clouds.connect(
            connection,
            RetryPolicy.of_options(self._conf, deadline, context.cancel_token),
        )
        location = StackLocation(key, self._tenant(heat, connection))
        return StackTask(
            task,
            context,
            heat,
            location,
            deadline,
            self._conf.fallback_zones,
            self._policy_of(task),
            _templates_before(task, context),
        )

    def _policy_of(self, task: InfraTask) -> ResourcePolicy:
        _, connection = _vim(task)
        return ResourcePolicy.of_connection(connection, self._policy)

    def _check_base_hot(self, task: InfraTask) -> None:
        """Check the templates of the package by the policy of the VIM.

        :raises VimPolicyViolation: the policy does not allow one of them
        """
        if task.change.desired is not None:
            base_hot = _base_hot(task)
            self._policy_of(task).check(
                base_hot.template, base_hot.files, base_hot.name
            )

    def _nova(
        self, task: InfraTask, context: TaskContext, stack_task: StackTask
    ) -> Nova:
        _, connection = _vim(task)
        retry_policy = RetryPolicy.of_options(
            self._conf, stack_task.waiter.deadline, context.cancel_token
        )
        return self._clouds.servers(connection, retry_policy)

    def _tenant(self, heat: Heat, connection: VimConnectionInfo) -> str:
        project = connection.access_info.get("project")
        return str(project) if project else heat.project_id()


def _base_hot(task: InfraTask) -> BaseHot:
    return templates.base_hot(task.package, task.change.state.flavour_id)


def _templates_before(
    task: InfraTask, context: TaskContext
) -> Sequence[Template] | None:
    """Return the templates that the stack had before an operation that is
    rolled back, as far as they are known; None: this is no rollback.
    """
    if not task.change.restores:
        return None
    base_hot = _base_hot(task)
    previous = context.checkpoint(PreviousStack)
    found: list[Template] = [(base_hot.template, base_hot.files)]
    if previous is not None:
        found.append((previous.template, previous.files))
    return found


def _vim(task: InfraTask) -> tuple[str, VimConnectionInfo]:
    """Return key and value of the only vimConnectionInfo that is used."""
    first, *_ = task.vim_connections.items()
    return first
