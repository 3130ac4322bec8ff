"""The Kubernetes driver: changes namespaces to match a state."""

import contextlib
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers import coordination, parameters
from tacker_cnf.drivers.base import (
    InfraTask,
    RegisteredVim,
    SearchTask,
    TaskContext,
    WatchTask,
)
from tacker_cnf.drivers.coordination import Coordination
from tacker_cnf.drivers.kubernetes import (
    cluster_assignment,
    cluster_connection,
    healing,
    inventory,
    label_search,
    manifests,
    package_change,
    pod_watch,
    workloads,
)
from tacker_cnf.drivers.kubernetes.api_errors import Forbidden
from tacker_cnf.drivers.kubernetes.client import Cluster, ClusterPool
from tacker_cnf.drivers.kubernetes.cluster_assignment import ClusterAssignment
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.manifests import (
    SCALABLE,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.package_change import (
    PackageChange,
    PreviousDeployments,
)
from tacker_cnf.drivers.kubernetes.package_change_task import PackageChangeTask
from tacker_cnf.drivers.kubernetes.readiness import ObjectWaiter
from tacker_cnf.drivers.kubernetes.scale_rollback import ScaleRollback
from tacker_cnf.drivers.parameters import HealParameters, ParameterTypes
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

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
#: the options of [kubernetes] that management scripts get
SCRIPT_OPTIONS: Final = (
    "ready_timeout",
    "failure_grace",
    "request_timeout",
    "contact_timeout",
    "outage_timeout",
    "finalizer_timeout",
)
#: seconds of retries when a cluster is probed, searched or watched
PROBE_TIMEOUT_S: Final = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterTasks:
    """One task in all clusters that it uses."""

    #: the manifests of all clusters together
    rendered: Rendered
    #: VDU -> key of vimConnectionInfo; empty if there is only one cluster
    assignment: ClusterAssignment
    tasks: Sequence[ClusterTask]
    #: VNFCs of the instance before the task
    previous_vnfcs: Sequence[VnfcResourceInfo]

    def result(self) -> InfraResult:
        """Return the resources of the instance in all clusters."""
        return InfraResult(
            vnfc_resource_info=tuple(
                vnfc
                for cluster_task in self.tasks
                for vnfc in cluster_task.vnfcs(self.previous_vnfcs)
            ),
            metadata=inventory.instance_metadata(
                self.rendered, self.assignment
            ),
        )


class KubernetesDriver:
    """Manages VNFs as the Kubernetes objects of a package's manifests."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._all = conf
        self._conf = conf.kubernetes
        self._clusters = ClusterPool(self._conf.request_timeout)

    vim_type = cluster_connection.VIM_TYPE

    @property
    def script_options(self) -> Mapping[str, Any]:
        """The options of [kubernetes]."""
        return {name: self._conf[name] for name in SCRIPT_OPTIONS}

    def connection_of(self, vim: RegisteredVim) -> VimConnectionInfo:
        return cluster_connection.of_vim(vim)

    def check_connection(self, connection: VimConnectionInfo) -> None:
        retry_policy = RetryPolicy.of_conf(
            self._conf, Deadline.within(PROBE_TIMEOUT_S)
        )
        cluster = self._clusters.connect(connection, retry_policy)
        # credentials for single namespaces are valid too
        with contextlib.suppress(Forbidden):
            cluster.list(cluster.kind("v1", "Namespace"), None, limit="1")

    def validate(self, task: InfraTask) -> None:
        _check_request(task)
        change = task.change
        if change.current is None and change.desired is None:
            return
        rendered = manifests.render(
            task.instance.id, task.package, change.state
        )
        cluster_assignment.assign_clusters(task)
        _check_singletons(rendered)
        if task.current_package:
            coordination.check(task)
            PackageChange(task, rendered, context=None)
            workloads.check(task, rendered)
        elif not change.current or not task.has_operation:
            workloads.check(task, rendered)
        elif change.desired and not change.replace:
            _resized_workloads(rendered, change.current, change.desired)

    def validate_package(self, task: InfraTask) -> None:
        workloads.check_names(task)

    def execute(self, task: InfraTask, context: TaskContext) -> InfraResult:
        change = task.change
        cluster_tasks = self._cluster_tasks(task, context)
        if change.desired is None:
            for cluster_task in cluster_tasks.tasks:
                cluster_task.remove(
                    cluster_task.all_owned(), cluster_task.pods(), change.grace
                )
            return InfraResult()
        if change.replace:
            healing.heal(
                cluster_tasks.tasks,
                change.replace,
                context,
                self._conf.disruption_timeout,
            )
        elif change.current is None:
            workloads.check(task, cluster_tasks.rendered)
            _create(cluster_tasks)
        elif task.current_package:
            scripts = Coordination(self._all, task, context)
            return _change_package(task, context, cluster_tasks, scripts)
        else:
            _resize(task, context, cluster_tasks)
        return cluster_tasks.result()

    def observe(self, task: InfraTask, context: TaskContext) -> InfraResult:
        return self._cluster_tasks(task, context).result()

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        return label_search.search(self._connect_for_search(task), task)

    def clean(self, task: SearchTask) -> Sequence[str]:
        return label_search.clean(self._connect_for_search(task), task)

    def _connect_for_search(self, task: SearchTask) -> Cluster:
        retry_policy = RetryPolicy.without_deadline(task.cancel_token)
        return self._clusters.connect(task.vim_connection, retry_policy)

    def watch(self, task: WatchTask) -> None:
        def connect(cancel_token: CancelToken) -> Cluster:
            # a lost cluster ends the watch; the caller starts another
            retry_policy = RetryPolicy.without_deadline(cancel_token)
            return self._clusters.connect(task.vim_connection, retry_policy)

        pod_watch.watch(connect, task)

    def _cluster_tasks(
        self, task: InfraTask, context: TaskContext
    ) -> ClusterTasks:
        rendered = manifests.render(
            task.instance.id, task.package, task.change.state
        )
        assignment = cluster_assignment.assign_clusters(task)
        ready_timeout = self._conf.ready_timeout + (task.change.grace or 0)
        deadline = context.deadline.limited(ready_timeout)
        progress = Progress(context.report_progress)
        info = task.instance.instantiated_vnf_info
        return ClusterTasks(
            previous_vnfcs=info.vnfc_resource_info if info else (),
            rendered=rendered,
            assignment=assignment if len(task.vim_connections) > 1 else {},
            tasks=[
                self._cluster_task(
                    key,
                    part,
                    self._clusters.connect(
                        task.vim_connections[key],
                        RetryPolicy.of_conf(
                            self._conf, deadline, context.cancel_token
                        ),
                    ),
                    deadline,
                    progress,
                )
                for key, part in cluster_assignment.split(
                    rendered, assignment
                ).items()
            ],
        )

    def _cluster_task(
        self,
        key: str,
        rendered: Rendered,
        cluster: Cluster,
        deadline: Deadline,
        progress: Progress,
    ) -> ClusterTask:
        waiter = ObjectWaiter(
            cluster,
            rendered,
            self._conf.failure_grace,
            deadline,
            progress,
            self._conf.finalizer_timeout,
        )
        return ClusterTask(key, cluster, rendered, waiter, progress)


def _create(cluster_tasks: ClusterTasks) -> None:
    for cluster_task in cluster_tasks.tasks:
        cluster_task.apply_manifests(cluster_task.rendered.objects)
    for cluster_task in cluster_tasks.tasks:
        cluster_task.waiter.wait_ready(cluster_task.rendered.objects)


def _resize(
    task: InfraTask, context: TaskContext, cluster_tasks: ClusterTasks
) -> None:
    """Change the size of workloads, or restore it. Where it is restored, pods
    that are not ready since before are tolerated, and recorded in the log of
    the operation.

    :raises InfraError: a cluster failed, or was not ready in time
    """
    current, desired = task.change.current, task.change.desired
    assert current is not None
    assert desired is not None
    resized = _resized_workloads(cluster_tasks.rendered, current, desired)
    if desired.vnfcs is None:
        _scale(cluster_tasks, resized)
        return
    uids = {str(vnfc.metadata.get("uid")) for vnfc in desired.vnfcs}
    for cluster_task in cluster_tasks.tasks:
        broken = ScaleRollback(cluster_task, uids).restore(
            cluster_task.select_own(resized)
        )
        for fault in broken:
            LOG.warning(
                "Rolled back, still broken: operation=%s error=%s",
                task.operation_id,
                fault,
            )
            context.save_log(f"Rolled back, and still broken: {fault}\n")


def _scale(cluster_tasks: ClusterTasks, resized: Sequence[Manifest]) -> None:
    for cluster_task in cluster_tasks.tasks:
        cluster_task.scale(cluster_task.select_own(resized))
    for cluster_task in cluster_tasks.tasks:
        cluster_task.waiter.wait_ready(cluster_task.select_own(resized))


def _change_package(
    task: InfraTask,
    context: TaskContext,
    cluster_tasks: ClusterTasks,
    scripts: Coordination,
) -> InfraResult:
    """Change a running VNF to another package.

    :raises InfraError: a cluster failed, or was not ready in time
    """
    change = PackageChange(task, cluster_tasks.rendered, context)
    change_tasks = [
        PackageChangeTask(cluster_task, change)
        for cluster_task in cluster_tasks.tasks
    ]
    if not task.change.restores and not context.checkpoint(
        PreviousDeployments
    ):
        previous = (c.previous_deployments() for c in change_tasks)
        context.save_checkpoint(
            PreviousDeployments(tuple(itertools.chain(*previous)))
        )
    for change_task in change_tasks:
        change_task.apply(
            lambda cluster_task, manifest: _coordinate(
                scripts, cluster_tasks, cluster_task, manifest
            )
        )
    for change_task in change_tasks:
        change_task.finish()
    kinds = cluster_tasks.rendered.kinds | change.before.kinds
    rendered = dataclasses.replace(
        cluster_tasks.rendered, previous_kinds=kinds
    )
    return dataclasses.replace(cluster_tasks, rendered=rendered).result()


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


def _check_request(task: InfraTask) -> None:
    parameters.check_names(task, PARAMETERS)
    change = task.change
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
    """Return the workloads whose size changes.

    :raises NotScalable: a VDU is not a scalable workload
    """
    resized = []
    for vdu, count in desired.counts.items():
        if count == current.counts.get(vdu, 0):
            continue
        manifest = rendered.workloads.get(vdu)
        if manifest is None or manifest.kind not in SCALABLE:
            kind = f"a {manifest.kind}" if manifest else "not in its manifests"
            raise errors.NotScalable(
                f"aspectId: VDU {vdu} is {kind}; only "
                f"{', '.join(sorted(SCALABLE))} can be scaled."
            )
        resized.append(manifest)
    return resized
