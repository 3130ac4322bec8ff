"""Management script that updates ConfigMaps, Secrets and images of a CNF.

A VNF package contains a script of two lines::

    from tacker_cnf.mgmt_drivers.container_update import ContainerUpdate

    ContainerUpdate.main()

and its VNFD names this script for ``modify_information_end`` and
``modify_information_rollback_end``.
"""

from typing import ClassVar

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import cluster_assignment, inventory
from tacker_cnf.drivers.kubernetes.client import ClusterPool
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.manifests import Rendered
from tacker_cnf.drivers.kubernetes.readiness import ObjectWaiter
from tacker_cnf.drivers.kubernetes.update_task import UpdateTask
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.lcm.script_output import InfoChanges, InstanceChanges
from tacker_cnf.mgmt_drivers import update_plan
from tacker_cnf.mgmt_drivers.base import MgmtDriver
from tacker_cnf.mgmt_drivers.update_plan import Plan
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.sol.common import VimConnectionInfo


class ContainerUpdate(MgmtDriver):
    """Makes the cluster match the new package of the VNF instance.

    Its options are those of ``[kubernetes]``. A subclass may set others, in
    seconds.
    """

    ready_timeout: ClassVar[float | None] = None
    failure_grace: ClassVar[float | None] = None
    request_timeout: ClassVar[float | None] = None
    contact_timeout: ClassVar[float | None] = None
    outage_timeout: ClassVar[float | None] = None
    finalizer_timeout: ClassVar[float | None] = None

    def modify_information_start(self, script_input: ScriptInput) -> None:
        """Do nothing; for packages that name the script for this hook too."""

    def modify_information_rollback_start(
        self, script_input: ScriptInput
    ) -> None:
        """Do nothing; for packages that name the script for this hook too."""

    def modify_information_end(self, script_input: ScriptInput) -> None:
        """Update the cluster to the new package.

        :raises InvalidParameters: the new package breaks a rule of updates;
            nothing was changed
        :raises InfraError: the update failed, or was not ready in time
        """
        if plan := update_plan.build(script_input):
            self._apply(script_input, plan, is_rollback=False)

    def modify_information_rollback_end(
        self, script_input: ScriptInput
    ) -> None:
        """Undo a failed update.

        :raises InfraError: undoing failed, or was not ready in time
        """
        try:
            plan = update_plan.build(script_input)
        except errors.InvalidParameters as error:
            self.log(f"Rollback skipped, the update changed nothing: {error}")
            return
        if plan:
            self._apply(script_input, plan.inverse(), is_rollback=True)

    def _apply(
        self, script_input: ScriptInput, plan: Plan, *, is_rollback: bool
    ) -> None:
        # fail with an error before the script is killed without one
        ready_timeout = self._option(script_input, "ready_timeout")
        seconds = min(ready_timeout, script_input.timeout * 0.9)
        deadline = Deadline.within(seconds)
        clusters = script_input.vnf_instance.vim_connection_info
        vim_keys = {vdu: next(iter(clusters)) for vdu in plan.after.workloads}
        vim_keys |= plan.vim_keys
        tasks = [
            self._cluster_task(
                script_input, key, clusters[key], rendered, deadline
            )
            for key, rendered in cluster_assignment.split(
                plan.after, vim_keys
            ).items()
        ]
        for task in tasks:
            UpdateTask(
                task,
                plan.configs,
                plan.workloads_in(task.rendered),
                script_input.vnf_lcm_op_occ_id,
                is_rollback=is_rollback,
            ).run()
        before = script_input.vnf_instance.instantiated_vnf_info
        vnfcs = before.vnfc_resource_info if before else ()
        info = InfoChanges(
            vnfc_resource_info=tuple(
                vnfc for task in tasks for vnfc in task.vnfcs(vnfcs)
            ),
            metadata=inventory.instance_metadata(plan.after, plan.vim_keys),
        )
        self.changes = InstanceChanges(instantiated_vnf_info=info)

    def _option(self, script_input: ScriptInput, name: str) -> float:
        """Return an option of the class, or else of the driver.

        :raises InvalidVimConnection: the VNF is not on Kubernetes
        """
        own: float | None = getattr(self, name)
        value = script_input.driver_options.get(name) if own is None else own
        if value is None:
            raise errors.InvalidVimConnection(
                f"driverOptions has no {name}: ContainerUpdate is for VNFs "
                "on Kubernetes only."
            )
        return float(value)

    def _cluster_task(
        self,
        script_input: ScriptInput,
        key: str,
        connection: VimConnectionInfo,
        rendered: Rendered,
        deadline: Deadline,
    ) -> ClusterTask:
        """Connect to a cluster of the VNF.

        :raises InfraError: the API server does not respond, or rejects the
            credentials
        """
        retry_policy = RetryPolicy(
            deadline,
            contact_timeout=self._option(script_input, "contact_timeout"),
            outage_timeout=self._option(script_input, "outage_timeout"),
        )
        clusters = ClusterPool(self._option(script_input, "request_timeout"))
        cluster = clusters.connect(connection, retry_policy)
        progress = Progress(self.log)
        waiter = ObjectWaiter(
            cluster,
            rendered,
            self._option(script_input, "failure_grace"),
            deadline,
            progress,
            self._option(script_input, "finalizer_timeout"),
        )
        return ClusterTask(key, cluster, rendered, waiter, progress)


if __name__ == "__main__":
    ContainerUpdate.main()
