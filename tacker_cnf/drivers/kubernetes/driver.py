"""The Kubernetes driver: changes namespaces to match a state."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers import (
    coordination,
    parameters,
    vim_check,
    vim_connection,
)
from tacker_cnf.drivers.base import (
    InfraTask,
    RegisteredVim,
    SearchTask,
    TaskContext,
    WatchTask,
)
from tacker_cnf.drivers.coordination import Coordination
from tacker_cnf.drivers.kubernetes import (
    actions,
    cluster_assignment,
    cluster_connection,
    flavour_change,
    healing,
    inventory,
    label_search,
    manifests,
    observation,
    package_change,
    pod_watch,
    policy_check,
    workloads,
)
from tacker_cnf.drivers.kubernetes.actions import ActionLister
from tacker_cnf.drivers.kubernetes.api_errors import Forbidden
from tacker_cnf.drivers.kubernetes.client import Cluster, ClusterPool
from tacker_cnf.drivers.kubernetes.cluster_assignment import ClusterAssignment
from tacker_cnf.drivers.kubernetes.cluster_policy import ClusterPolicy
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.cluster_tasks import (
    ClusterTasks,
    Options,
    connect_clusters,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    SCALABLE,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.marks import Mark
from tacker_cnf.drivers.kubernetes.observation import ObservedObjects
from tacker_cnf.drivers.kubernetes.package_change import (
    PreviousDeployment,
    PreviousDeployments,
)
from tacker_cnf.drivers.kubernetes.plan import KubernetesPlan, ObjectPlan
from tacker_cnf.drivers.kubernetes.scale_rollback import ScaleRollback
from tacker_cnf.drivers.parameters import HealParameters, ParameterTypes
from tacker_cnf.http_client import clients
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.lcm import vim_policy
from tacker_cnf.lcm.change import ALL, Change, State
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.scripts.limits import limits_of
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)


#: the additionalParams that this driver reads
PARAMETERS: Final[ParameterTypes] = {
    "instantiate": (manifests.InstantiationParameters,),
    "heal": (HealParameters,),
    "change_vnfpkg": (
        package_change.KubernetesChangePackageParameters,
        coordination.CoordinationParameters,
    ),
}


class KubernetesDriver:
    """Manages VNFs as the Kubernetes objects of a package's manifests."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._all = conf
        self._conf = conf.kubernetes
        self._check_timeout: float = conf.vims.check_timeout
        self._ssrf_policy = SsrfPolicy.of_vims(conf)
        #: the policy of a VIM that sets none
        self._policy = {
            name: self._conf[name] for name in ClusterPolicy.__struct_fields__
        }
        self._pool = ClusterPool(
            self._conf.request_timeout,
            self._ssrf_policy,
            clients.options_from_conf(conf).limits,
        )

    vim_type = cluster_connection.VIM_TYPE
    heals_storage = False
    removes_newest = False

    @property
    def script_options(self) -> Mapping[str, Any]:
        """The options of [kubernetes] for a task, and for its policy."""
        return {**self._task_options(), vim_policy.POLICY_KEY: self._policy}

    def _task_options(self) -> dict[str, Any]:
        return {name: self._conf[name] for name in Options.__struct_fields__}

    def connection_of(self, vim: RegisteredVim) -> VimConnectionInfo:
        return cluster_connection.of_vim(vim)

    def check_policy(self, policy: Mapping[str, Any]) -> None:
        vim_policy.read(
            {vim_policy.POLICY_KEY: policy}, ClusterPolicy, self._policy
        )

    def check_connection(self, connection: VimConnectionInfo) -> None:
        with vim_check.limited(
            self._check_timeout, self._conf
        ) as retry_policy:
            cluster = self._pool.connect(connection, retry_policy)
            # credentials for single namespaces are valid too
            with contextlib.suppress(Forbidden):
                cluster.latest_version(cluster.kind("v1", "Namespace"), None)

    def plan(
        self, task: InfraTask, observed: ObservedObjects | None = None
    ) -> KubernetesPlan:
        change = task.change
        if not change.restores:  # else it was checked when it was accepted
            vim_connection.check_endpoints(
                self._ssrf_policy, task.vim_connections
            )
            _check_request(task, self._all)
        rendered = _render(task)
        assignment = cluster_assignment.assign_clusters(task)
        if _creates(change):
            policy_check.check(
                rendered, assignment, task.vim_connections, self._policy
            )
        _check_singletons(rendered)
        objects = _plan_objects(task, rendered)
        if (
            change.current is None
            or change.changes_flavour
            or (change.operates and not change.state.is_stopped)
            or task.current_package
            or not task.has_operation
        ):
            workloads.check(task, rendered)
        states = actions.states_by_request(change, objects)
        warnings: tuple[str, ...] = ()
        if observed:
            objects, states = observed.plan, observed.states
            warnings = observed.warnings
        lister = ActionLister(change, objects, states)
        return KubernetesPlan(
            task=task,
            actions=tuple(lister.list_actions()),
            warnings=(*lister.list_warnings(), *warnings),
            scripts=coordination.scripts(task),
            metadata=_new_kinds(change, objects.after),
            objects=objects,
            assignment=assignment,
        )

    def observe_resources(
        self, task: InfraTask, context: TaskContext
    ) -> ObservedObjects:
        plan = self.plan(task)
        objects = plan.objects
        cluster_tasks = self._connect(
            task, context, objects.after, plan.assignment
        )
        self._check_scopes(task, cluster_tasks)
        previous = context.checkpoint(PreviousDeployments)
        if previous and objects.mark.undoes:
            objects = package_change.with_previous_templates(objects, previous)
        return observation.observe(
            cluster_tasks.tasks,
            task.change,
            objects,
            context,
            self._conf.disruption_timeout,
        )

    def validate_package(self, task: InfraTask) -> None:
        workloads.check_names(task)

    def execute(self, plan: KubernetesPlan, context: TaskContext) -> Observed:
        task, change, objects = plan.task, plan.task.change, plan.objects
        cluster_tasks = self._connect(
            task, context, objects.after, plan.assignment
        )
        if change.desired is None:
            cluster_tasks.remove(change.grace)
            return Observed()
        self._check_scopes(task, cluster_tasks)
        if change.replace == ALL:
            healing.delete_all(cluster_tasks.tasks, context)
            cluster_tasks.execute(objects)
        elif change.replace:
            timeout = self._conf.disruption_timeout
            healing.replace_pods(
                cluster_tasks.tasks, change.replace, context, timeout
            )
        elif task.current_package:
            self._change_package(plan, cluster_tasks, context)
        elif change.restores and _only_resizes(change):
            _restore_size(plan, cluster_tasks, context)
        else:
            cluster_tasks.execute(objects)
        return cluster_tasks.result()

    def _change_package(
        self,
        plan: KubernetesPlan,
        cluster_tasks: ClusterTasks,
        context: TaskContext,
    ) -> None:
        """Change the package of the VNF, and run its coordination scripts.

        :raises InfraError: a cluster failed, or was not ready in time
        :raises ScriptFailed: a script failed, or did not end in time
        """
        objects = plan.objects
        previous = context.checkpoint(PreviousDeployments)
        if previous is None and not objects.mark.undoes:
            _save_previous(objects, cluster_tasks.tasks, context)
        elif previous and objects.mark.undoes:
            objects = package_change.with_previous_templates(objects, previous)
        scripts = Coordination(self._all, plan.task, context)
        cluster_tasks.execute(
            objects,
            lambda cluster_task, manifest: _coordinate(
                scripts, cluster_tasks, cluster_task, manifest
            ),
        )

    def observe(self, task: InfraTask, context: TaskContext) -> Observed:
        assignment = cluster_assignment.assign_clusters(task)
        rendered = _render(task)
        if task.change.changes_flavour and task.change.current:
            before = manifests.render(
                task.instance.id, task.package, task.change.current
            )
            rendered = flavour_change.with_workloads(rendered, before)
        return self._connect(task, context, rendered, assignment).result()

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        return label_search.search(self._connect_for_search(task), task)

    def clean(self, task: SearchTask) -> Sequence[str]:
        return label_search.clean(self._connect_for_search(task), task)

    def _connect_for_search(self, task: SearchTask) -> Cluster:
        retry_policy = RetryPolicy.without_deadline(task.cancel_token)
        return self._pool.connect(task.vim_connection, retry_policy)

    def watch(self, task: WatchTask) -> None:
        def connect(cancel_token: CancelToken) -> Cluster:
            # a lost cluster ends the watch; the caller starts another
            retry_policy = RetryPolicy.without_deadline(cancel_token)
            return self._pool.connect(task.vim_connection, retry_policy)

        pod_watch.watch(connect, task)

    def _connect(
        self,
        task: InfraTask,
        context: TaskContext,
        rendered: Rendered,
        assignment: ClusterAssignment,
    ) -> ClusterTasks:
        """Connect to the clusters of a task.

        :raises InfraError: an API server does not respond, or rejects the
            credentials
        """
        options = Options(**self._task_options())
        ready_timeout = options.ready_timeout + (task.change.grace or 0)
        return connect_clusters(
            self._pool,
            msgspec.structs.replace(options, ready_timeout=ready_timeout),
            task.instance,
            rendered,
            task.vim_connections,
            assignment,
            context,
        )

    def _check_scopes(
        self, task: InfraTask, cluster_tasks: ClusterTasks
    ) -> None:
        """Check the scope of kinds that only the clusters know.

        :raises VimPolicyViolation: the policy of a VIM does not allow one
        """
        if not _creates(task.change):
            return
        for cluster_task in cluster_tasks.tasks:
            policy_check.check_scopes(
                cluster_task.key,
                cluster_task.cluster,
                cluster_task.rendered,
                ClusterPolicy.of_connection(
                    task.vim_connections[cluster_task.key], self._policy
                ),
            )


def _creates(change: Change) -> bool:
    """Return whether a change may create objects that were not checked when
    it was accepted.
    """
    return change.desired is not None and not change.restores


def _render(task: InfraTask) -> Rendered:
    return manifests.render(task.instance.id, task.package, task.change.state)


def _plan_objects(task: InfraTask, rendered: Rendered) -> ObjectPlan:
    """Plan what happens to the objects of a VNF.

    :raises BadRequest: the change is not possible
    """
    change = task.change
    mark = Mark(task.operation_id)
    if change.desired is None:
        return ObjectPlan(after=rendered, mark=mark)
    if change.replace:
        created = rendered.existing if change.replace == ALL else ()
        return ObjectPlan(after=rendered, mark=mark, created=created)
    if task.current_package:
        return package_change.plan(task, rendered)
    if change.changes_flavour:
        return flavour_change.plan(task, rendered)
    if change.current is None:
        return ObjectPlan(after=rendered, mark=mark, created=rendered.objects)
    return ObjectPlan(
        after=rendered,
        mark=mark,
        scaled=tuple(
            _resized_workloads(rendered, change.current, change.desired)
        ),
        stops=change.operates and change.desired.is_stopped,
        grace=change.grace,
    )


def _new_kinds(change: Change, after: Rendered) -> dict[str, Any]:
    """Return the metadata with the kinds of which the VNF gets its first
    objects, if there are any: its termination has to find them.
    """
    if change.current is None or change.desired is None:
        return {}
    known = manifests.parameters_of(change.current).object_kinds
    if after.kinds <= {*known}:
        return {}
    return {inventory.OBJECT_KINDS_KEY: inventory.list_kinds(after)}


def _only_resizes(change: Change) -> bool:
    """Return whether a change concerns only the sizes of workloads."""
    return not (change.operates or change.changes_flavour)


def _restore_size(
    plan: KubernetesPlan, cluster_tasks: ClusterTasks, context: TaskContext
) -> None:
    """Restore the size of workloads. Pods that were not ready before are
    tolerated, and recorded in the log of the operation.

    :raises InfraError: a cluster failed, or was not ready in time
    """
    vnfcs = plan.task.change.state.vnfcs or ()
    uids = {str(vnfc.metadata.get("uid")) for vnfc in vnfcs}
    for cluster_task in cluster_tasks.tasks:
        broken = ScaleRollback(cluster_task, uids).restore(
            cluster_task.select_own(plan.objects.scaled)
        )
        for fault in broken:
            LOG.warning(
                "Rolled back, still broken: operation=%s error=%s",
                plan.task.operation_id,
                fault,
            )
            context.save_log(f"Rolled back, and still broken: {fault}\n")


def _save_previous(
    plan: ObjectPlan, tasks: Iterable[ClusterTask], context: TaskContext
) -> None:
    """Save what a rollback of a change of package needs.

    :raises NotReady: a Deployment does not exist
    """
    deployments = (
        PreviousDeployment(m.key, cluster_task.read(m)["spec"]["template"])
        for cluster_task in tasks
        for m in cluster_task.select_own(plan.rolled)
    )
    context.save_checkpoint(PreviousDeployments(tuple(deployments)))


def _coordinate(
    scripts: Coordination,
    cluster_tasks: ClusterTasks,
    cluster_task: ClusterTask,
    manifest: Manifest,
) -> None:
    """Run the coordination script, if there is one, for each VNFC of a VDU
    that was rolled.

    :raises InfraError: the VNFCs do not become ready
    :raises ScriptFailed: the script failed, or did not end in time
    """
    if not scripts.has_script or manifest.vdu_id is None:
        return
    cluster_task.waiter.wait_ready([manifest])
    found = cluster_tasks.result()
    for pod in cluster_task.pods():
        for vnfc in found.vnfc_resource_info:
            if (vnfc.vdu_id, vnfc.id) == (
                manifest.vdu_id,
                pod["metadata"]["name"],
            ):
                cluster_task.cluster.cancel_token.check()
                address = pod.get("status", {}).get("podIP")
                scripts.run(vnfc, address, found)


def _check_request(task: InfraTask, conf: cfg.ConfigOpts) -> None:
    parameters.check_names(task, PARAMETERS)
    change = task.change
    if task.current_package:
        coordination.check(task, limits_of(conf))
    if (
        change.replace
        and parameters.read(change.parameters, HealParameters).all
    ):
        raise errors.InvalidParameters(
            "additionalParams.all: a CNF has no storage or networks that can "
            "be healed separately. Remove the parameter."
        )
    if change.moves_links:
        raise errors.BadRequest(
            "The networks of a CNF are defined in its manifests; change them "
            "by a change of package."
        )
    if inventory.OBJECT_KINDS_KEY in change.parameters:
        raise errors.InvalidParameters(
            f"additionalParams.{inventory.OBJECT_KINDS_KEY}: read-only: the VNFM "
            "sets it. Remove it from the request."
        )


def _check_singletons(rendered: Rendered) -> None:
    for vdu, manifest in rendered.workloads.items():
        count = rendered.counts.get(vdu, 1)
        if manifest.kind == "Pod" and count > 1:
            raise errors.InvalidParameters(
                f"VDU {vdu} is the Pod {manifest.name}, which has only one "
                f"instance; the VNFD requires {count}."
            )


def _resized_workloads(
    rendered: Rendered, current: State, desired: State
) -> Sequence[Manifest]:
    """Return the workloads whose size changes; while the VNF is STOPPED, it
    does not.

    :raises NotScalable: a VDU is not a scalable workload
    """
    if current.is_stopped != desired.is_stopped:
        return tuple(rendered.workloads.values())
    resized = []
    for vdu, count in desired.counts.items():
        if count == current.counts.get(vdu, 0):
            continue
        manifest = rendered.workloads.get(vdu)
        if manifest is None or manifest.kind not in SCALABLE:
            kind = f"a {manifest.kind}" if manifest else "not in its manifests"
            raise errors.NotScalable(
                f"VDU {vdu} is {kind}; only "
                f"{', '.join(sorted(SCALABLE))} can be scaled."
            )
        resized.append(manifest)
    return () if desired.is_stopped else resized
