"""Management script that updates ConfigMaps, Secrets and images of a CNF.

A VNF package contains a script of two lines::

    from tacker_cnf.mgmt_drivers.container_update import ContainerUpdate

    ContainerUpdate.main()

and its VNFD names this script for ``modify_information_end`` and
``modify_information_rollback_end``.
"""

from typing import ClassVar

from tacker_cnf import errors
from tacker_cnf.drivers.base import TaskContext
from tacker_cnf.drivers.kubernetes import (
    cluster_assignment,
    manifests,
    policy_check,
)
from tacker_cnf.drivers.kubernetes.client import ClusterPool
from tacker_cnf.drivers.kubernetes.cluster_tasks import (
    Options,
    connect_clusters,
)
from tacker_cnf.drivers.kubernetes.plan import ObjectPlan
from tacker_cnf.http_client import ssrf_policy
from tacker_cnf.lcm import vim_policy
from tacker_cnf.lcm.change import current_state
from tacker_cnf.lcm.script_output import InfoChanges, InstanceChanges
from tacker_cnf.mgmt_drivers import update_plan
from tacker_cnf.mgmt_drivers.base import MgmtDriver
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.scripts.protocol import ScriptInput


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
        :raises VimPolicyViolation: the policy of the VIM does not allow the
            new package; nothing was changed
        :raises InfraError: the update failed, or was not ready in time
        """
        if plan := update_plan.build(script_input):
            self._execute(script_input, plan)

    def modify_information_rollback_end(
        self, script_input: ScriptInput
    ) -> None:
        """Undo a failed update.

        :raises InfraError: undoing failed, or was not ready in time
        """
        try:
            plan = update_plan.build(script_input, undoes=True)
        except errors.InvalidParameters as error:
            self.log(f"Rollback skipped, the update changed nothing: {error}")
            return
        if plan:
            self._execute(script_input, plan)

    def _execute(self, script_input: ScriptInput, plan: ObjectPlan) -> None:
        options = self._options(script_input)
        instance = script_input.vnf_instance
        connections = instance.vim_connection_info
        state = current_state(instance)
        assert state is not None
        assignment = cluster_assignment.assign(
            plan.after.workloads,
            manifests.parameters_of(state).vim_connections,
            connections,
        )
        if not plan.mark.undoes:
            policy_check.check(
                plan.after,
                assignment,
                connections,
                script_input.driver_options.get(vim_policy.POLICY_KEY, {}),
            )
        cluster_tasks = connect_clusters(
            ClusterPool(options.request_timeout, ssrf_policy.OF_SCRIPTS),
            options,
            instance,
            plan.after,
            connections,
            assignment,
            TaskContext(
                # fail with an error before the script is killed without one
                deadline=Deadline.within(script_input.timeout * 0.9),
                report_progress=self.log,
            ),
        )
        cluster_tasks.execute(plan)
        found = cluster_tasks.result()
        info = InfoChanges(
            vnfc_resource_info=found.vnfc_resource_info,
            metadata=dict(found.metadata),
        )
        self.changes = InstanceChanges(instantiated_vnf_info=info)

    def _options(self, script_input: ScriptInput) -> Options:
        """Return the options of the class, or else of the driver.

        :raises InvalidVimConnection: the VNF is not on Kubernetes
        """
        own = {
            name: value
            for name in Options.__struct_fields__
            if (value := getattr(self, name)) is not None
        }
        values = {**script_input.driver_options, **own}
        missing = set(Options.__struct_fields__) - values.keys()
        if missing:
            raise errors.InvalidVimConnection(
                f"driverOptions has no {min(missing)}: ContainerUpdate is for "
                "VNFs on Kubernetes only."
            )
        return Options(
            **{n: float(values[n]) for n in Options.__struct_fields__}
        )


if __name__ == "__main__":
    ContainerUpdate.main()
