"""A task in all clusters of a VNF."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tacker_cnf.drivers.base import TaskContext
from tacker_cnf.drivers.kubernetes import cluster_assignment, inventory
from tacker_cnf.drivers.kubernetes.client import ClusterPool
from tacker_cnf.drivers.kubernetes.cluster_assignment import ClusterAssignment
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.manifests import Manifest, Rendered
from tacker_cnf.drivers.kubernetes.plan import ObjectPlan
from tacker_cnf.drivers.kubernetes.plan_task import PlanTask
from tacker_cnf.drivers.kubernetes.readiness import ObjectWaiter
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of [kubernetes] for a task, in seconds."""

    ready_timeout: float
    failure_grace: float
    request_timeout: float
    contact_timeout: float
    outage_timeout: float
    finalizer_timeout: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterTasks:
    """One task in all clusters that it uses."""

    instance: VnfInstance
    #: the manifests of all clusters together
    rendered: Rendered
    #: VDU -> key of vimConnectionInfo; empty if there is only one cluster
    assignment: ClusterAssignment
    tasks: Sequence[ClusterTask]

    def execute(
        self,
        plan: ObjectPlan,
        on_rolled: Callable[[ClusterTask, Manifest], None] = lambda *_: None,
    ) -> None:
        """Execute a plan, and wait until all is ready that it changes.

        :param on_rolled: called after each Deployment, before the next
        :raises InfraError: a cluster failed, or was not ready in time
        """
        plan_tasks = [PlanTask(task, plan) for task in self.tasks]
        for plan_task in plan_tasks:
            plan_task.change(on_rolled)
        for plan_task in plan_tasks:
            plan_task.finish()

    def remove(self, grace: int | None) -> None:
        """Delete all objects, and wait until they are deleted.

        :param grace: grace period of the pods in seconds; None: their own
        :raises InfraError: a cluster failed, or did not delete them in time
        """
        for task in self.tasks:
            task.remove(task.all_owned(), task.pods(), grace)

    def result(self) -> Observed:
        """Return the resources of the instance in all clusters."""
        info = self.instance.instantiated_vnf_info
        previous_vnfcs = info.vnfc_resource_info if info else ()
        return Observed(
            vnfc_resource_info=tuple(
                vnfc
                for task in self.tasks
                for vnfc in task.vnfcs(previous_vnfcs)
            ),
            metadata=inventory.instance_metadata(
                self.rendered, self.assignment
            ),
        )


def connect_clusters(
    pool: ClusterPool,
    options: Options,
    instance: VnfInstance,
    rendered: Rendered,
    vim_connections: Mapping[str, VimConnectionInfo],
    assignment: ClusterAssignment,
    context: TaskContext,
) -> ClusterTasks:
    """Connect to the clusters of an instance.

    :param assignment: of all VDUs
    :raises InfraError: an API server does not respond, or rejects the
        credentials
    """
    deadline = context.deadline.limited(options.ready_timeout)
    tasks = []
    for key, part in cluster_assignment.split(rendered, assignment).items():
        cluster = pool.connect(
            vim_connections[key],
            RetryPolicy.of_options(options, deadline, context.cancel_token),
        )
        progress = Progress(
            context.report_progress,
            context.report_resource,
            context.expect,
            scope=f"{key}/" if len(vim_connections) > 1 else "",
        )
        waiter = ObjectWaiter(
            cluster,
            part,
            options.failure_grace,
            deadline,
            progress,
            options.finalizer_timeout,
        )
        tasks.append(ClusterTask(key, cluster, part, waiter, progress))
    return ClusterTasks(
        instance=instance,
        rendered=rendered,
        assignment=assignment if len(vim_connections) > 1 else {},
        tasks=tasks,
    )
