"""Updates a CNF that runs: its ConfigMaps, its Secrets, and its images.

A VNF package uses it by a script of its own::

    from tacker_cnf.mgmt_drivers.container_update import ContainerUpdate

    ContainerUpdate.main()

that its VNFD names for ``modify_information_end`` and
``modify_information_rollback_end``.
"""

from typing import ClassVar

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import cluster_assignment, inventory
from tacker_cnf.drivers.kubernetes.client import ClusterPool
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.manifests import Rendered
from tacker_cnf.drivers.kubernetes.readiness import Waiter
from tacker_cnf.drivers.kubernetes.update_task import UpdateTask
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.drivers.retry_policy import RetryPolicy
from tacker_cnf.lcm.scripted import InfoChanges, InstanceChanges
from tacker_cnf.mgmt_drivers import update_plan
from tacker_cnf.mgmt_drivers.base import MgmtDriver
from tacker_cnf.mgmt_drivers.update_plan import Plan
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.sol.common import VimConnectionInfo


class ContainerUpdate(MgmtDriver):
    """Makes the cluster match the package that the VNF instance moves to.

    A subclass may set other patience; all are seconds.
    """

    #: within which what was changed has to be ready
    ready_timeout: ClassVar[float] = 500.0
    #: for which a pod may show a fault
    failure_grace: ClassVar[float] = 20.0
    #: that the cluster has for one request, and to be there at all
    request_timeout: ClassVar[float] = 30.0
    contact_timeout: ClassVar[float] = 10.0
    outage_timeout: ClassVar[float] = 30.0

    def modify_information_start(self, script_input: ScriptInput) -> None:
        """Do nothing yet, wherever a package names this script too soon."""

    def modify_information_rollback_start(
        self, script_input: ScriptInput
    ) -> None:
        """Do nothing yet."""

    def modify_information_end(self, script_input: ScriptInput) -> None:
        """Go to the new package.

        :raises InvalidParameters: it breaks a rule of updates; nothing was
            changed
        :raises InfraError: the cluster could not, or not in time
        """
        if plan := update_plan.build(script_input):
            self._apply(script_input, plan, is_rollback=False)

    def modify_information_rollback_end(
        self, script_input: ScriptInput
    ) -> None:
        """Undo what a failed update did.

        :raises InfraError: the cluster could not, or not in time
        """
        try:
            plan = update_plan.build(script_input)
        except errors.InvalidParameters as error:
            self.log(f"Nothing was changed, and nothing is undone: {error}")
            return
        if plan:
            self._apply(script_input, plan.inverse(), is_rollback=True)

    def _apply(
        self, script_input: ScriptInput, plan: Plan, *, is_rollback: bool
    ) -> None:
        # a clear word before the time is up, not an end without one
        seconds = min(self.ready_timeout, script_input.timeout * 0.9)
        deadline = Deadline.within(seconds)
        clusters = script_input.vnf_instance.vim_connection_info
        places = {vdu: next(iter(clusters)) for vdu in plan.after.workloads}
        places |= plan.places
        tasks = [
            self._work(key, clusters[key], rendered, deadline)
            for key, rendered in cluster_assignment.split(
                plan.after, places
            ).items()
        ]
        for work in tasks:
            UpdateTask(
                work,
                plan.configs,
                plan.workloads_in(work.rendered),
                script_input.vnf_lcm_op_occ_id,
                is_rollback=is_rollback,
            ).run()
        before = script_input.vnf_instance.instantiated_vnf_info
        known = before.vnfc_resource_info if before else ()
        info = InfoChanges(
            vnfc_resource_info=tuple(
                vnfc for work in tasks for vnfc in work.vnfcs(known)
            ),
            metadata=inventory.instance_metadata(plan.after, plan.places),
        )
        self.changes = InstanceChanges(instantiated_vnf_info=info)

    def _work(
        self,
        key: str,
        connection: VimConnectionInfo,
        rendered: Rendered,
        deadline: Deadline,
    ) -> ClusterTask:
        """Connect to a cluster of the VNF.

        :raises InfraError: it does not answer, or does not let us in
        """
        retry_policy = RetryPolicy(
            deadline,
            contact_timeout=self.contact_timeout,
            outage_timeout=self.outage_timeout,
        )
        clusters = ClusterPool(self.request_timeout)
        cluster = clusters.connect(connection, retry_policy)
        progress = Progress(self.log)
        waiter = Waiter(
            cluster, rendered, self.failure_grace, deadline, progress
        )
        return ClusterTask(key, cluster, rendered, waiter, progress)


if __name__ == "__main__":
    ContainerUpdate.main()
