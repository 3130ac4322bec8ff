"""The Kubernetes driver: makes a namespace match a target."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers import coordination, parameters
from tacker_cnf.drivers.base import InfraTask, SearchTask, WatchTask
from tacker_cnf.drivers.coordination import Coordination
from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.kubernetes import (
    healing,
    inventory,
    labelled,
    manifests,
    package_change,
    placing,
    watching,
    workloads,
)
from tacker_cnf.drivers.kubernetes.client import Cluster, Clusters
from tacker_cnf.drivers.kubernetes.manifests import (
    SCALABLE,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.package_change import PackageChange
from tacker_cnf.drivers.kubernetes.package_work import PackageWork
from tacker_cnf.drivers.kubernetes.placing import Placement
from tacker_cnf.drivers.kubernetes.readiness import Waiter
from tacker_cnf.drivers.kubernetes.refusals import Forbidden
from tacker_cnf.drivers.kubernetes.scale_back import ScaleBack
from tacker_cnf.drivers.kubernetes.work import Work
from tacker_cnf.drivers.parameters import Healing
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType

LOG = log.getLogger(__name__)

Object = dict[str, Any]

#: all additionalParams that this driver reads
PARAMETERS: Final = parameters.names_of(
    manifests.Parameters,
    package_change.Parameters,
    coordination.Parameters,
    Healing,
) - {inventory.KINDS}
#: seconds for which somebody who looks whether a cluster is there bears it
BRIEF: Final = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Works:
    """One task in all the clusters that it has to do with."""

    #: what is in all of them
    rendered: Rendered
    #: VDU -> key of vimConnectionInfo; empty where there is but one
    places: Placement
    each: Sequence[Work]
    #: the VNFCs that the instance had
    known: Sequence[VnfcResourceInfo]

    def result(self) -> InfraResult:
        """Take the inventory."""
        return InfraResult(
            vnfc_resource_info=tuple(
                vnfc for work in self.each for vnfc in work.vnfcs(self.known)
            ),
            metadata=inventory.described(self.rendered, self.places),
        )


class KubernetesDriver:
    """VNFs as the objects that a package's manifests describe."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._all = conf
        self._conf = conf.kubernetes
        self._clusters = Clusters(self._conf.request_timeout)

    def reach(self, connection: VimConnectionInfo) -> None:
        patience = self._endurance(Deadline.within(BRIEF))
        cluster = self._clusters.connect(connection, patience)
        # who is let in, and limited to some namespaces, is well
        with contextlib.suppress(Forbidden):
            cluster.list(cluster.kind("v1", "Namespace"), None, limit="1")

    def validate(self, task: InfraTask) -> None:
        _check_request(task)
        target = task.target or task.current
        if target is None:
            return
        if task.operation is LcmOperationType.MODIFY_INFO:
            workloads.check_names(task)
            return
        rendered = manifests.render(task, target)
        placing.placement(task, target)
        _check_singletons(rendered)
        if task.current_package:
            coordination.check(task)
            PackageChange(task, rendered)
            workloads.check(task, rendered)
        elif not task.current or not task.operation:
            workloads.check(task, rendered)
        elif task.target and not task.heals:
            _changed(rendered, task.current, task.target)

    def apply(self, task: InfraTask) -> InfraResult:
        works = self._works(task, task.target)
        if task.current is None:
            workloads.check(task, works.rendered)
            for work in works.each:
                work.make(work.rendered.objects)
            for work in works.each:
                work.waiter.all_ready(work.rendered.objects)
        elif task.current_package:
            return _change_package(task, works, Coordination(self._all, task))
        else:
            assert task.target is not None
            changed = _changed(works.rendered, task.current, task.target)
            if task.rolls_back:
                _scale_back(task, works, changed)
            else:
                _scale(works, changed)
        return works.result()

    def replace(self, task: InfraTask) -> InfraResult:
        works = self._works(task, task.target)
        if task.vnfcs:
            patience = self._conf.disruption_timeout
            healing.replace_pods(works.each, task, patience)
        else:
            healing.replace_all(works.each, task)
        return works.result()

    def destroy(self, task: InfraTask) -> InfraResult:
        for work in self._works(task, task.current).each:
            work.remove(work.all_owned(), work.pods(), task.grace)
        return InfraResult()

    def observe(self, task: InfraTask) -> InfraResult:
        return self._works(task, task.target or task.current).result()

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        return labelled.search(self._of_search(task), task)

    def clean(self, task: SearchTask) -> Sequence[str]:
        return labelled.clean(self._of_search(task), task)

    def _of_search(self, task: SearchTask) -> Cluster:
        patience = Endurance(
            Deadline(math.inf), task.halt, contact=BRIEF, outage=BRIEF
        )
        return self._clusters.connect(task.vim_connection, patience)

    def watch(self, task: WatchTask) -> None:
        def connect(halt: Halt) -> Cluster:
            # who watches begins anew when the cluster is lost
            patience = Endurance(
                Deadline(math.inf), halt, contact=BRIEF, outage=BRIEF
            )
            return self._clusters.connect(task.vim_connection, patience)

        watching.watch(connect, task)

    def _works(self, task: InfraTask, target: Target | None) -> Works:
        assert target is not None
        rendered = manifests.render(task, target)
        places = placing.placement(task, target)
        patience = self._conf.ready_timeout + (task.grace or 0)
        deadline = Deadline.within(min(patience, task.deadline.remaining))
        progress = Progress(task.tell)
        info = task.instance.instantiated_vnf_info
        return Works(
            known=info.vnfc_resource_info if info else (),
            rendered=rendered,
            places=places if len(task.vim_connections) > 1 else {},
            each=[
                self._work(task, key, part, deadline, progress)
                for key, part in placing.split(rendered, places).items()
            ],
        )

    def _work(
        self,
        task: InfraTask,
        key: str,
        rendered: Rendered,
        deadline: Deadline,
        progress: Progress,
    ) -> Work:
        cluster = self._clusters.connect(
            task.vim_connections[key], self._endurance(deadline, task.halt)
        )
        waiter = Waiter(
            cluster,
            rendered,
            self._conf.failure_grace,
            deadline,
            progress,
            self._conf.finalizer_timeout,
        )
        return Work(key, cluster, rendered, waiter, progress)

    def _endurance(
        self, deadline: Deadline, halt: Halt | None = None
    ) -> Endurance:
        return Endurance(
            deadline,
            halt,
            contact=self._conf.contact_timeout,
            outage=self._conf.outage_timeout,
        )


def _scale(works: Works, changed: Sequence[Manifest]) -> None:
    for work in works.each:
        work.scale(work.own(changed))
    for work in works.each:
        work.waiter.all_ready(work.own(changed))


def _scale_back(
    task: InfraTask, works: Works, changed: Sequence[Manifest]
) -> None:
    """Undo a scale operation; what was broken before it stays so, and the
    log of the operation tells what.

    :raises InfraError: a cluster could not, or not in time
    """
    former = {str(vnfc.metadata.get("uid")) for vnfc in works.known}
    for work in works.each:
        broken = ScaleBack(work, former).restore(work.own(changed))
        for one in broken:
            LOG.warning("%s: still broken: %s", task.operation_id, one)
            task.keep_log(f"Rolled back, and still broken: {one}\n")


def _change_package(
    task: InfraTask, works: Works, scripts: Coordination
) -> InfraResult:
    """Take what is there to another package.

    :raises InfraError: a cluster could not, or not in time
    """
    change = PackageChange(task, works.rendered)
    each = [PackageWork(work, change) for work in works.each]
    if not task.rolls_back and not task.notes:
        task.note(tuple(itertools.chain(*(one.notes() for one in each))))
    for one in each:
        one.bring(
            lambda work, manifest: _coordinate(scripts, works, work, manifest)
        )
    for one in each:
        one.settle()
    kinds = works.rendered.kinds | change.before.kinds
    rendered = dataclasses.replace(works.rendered, former_kinds=kinds)
    return dataclasses.replace(works, rendered=rendered).result()


def _coordinate(
    scripts: Coordination, works: Works, work: Work, manifest: Manifest
) -> None:
    """Run the script for the VNFCs of a VDU that was rolled, if there is one.

    :raises InfraError: they are not ready
    :raises ScriptFailed: it did not end well
    """
    if not scripts.is_named or manifest.vdu_id is None:
        return
    work.waiter.all_ready([manifest])
    found = works.result()
    for pod in work.pods():
        for vnfc in found.vnfc_resource_info:
            if (vnfc.vdu_id, vnfc.id) == (
                manifest.vdu_id,
                pod["metadata"]["name"],
            ):
                work.cluster.halt.check()
                address = pod.get("status", {}).get("podIP")
                scripts.run(vnfc, address, found)


def _check_request(task: InfraTask) -> None:
    parameters.check_names(task, PARAMETERS)
    if task.heals and parameters.read(task.parameters, Healing).all:
        raise errors.InvalidParameters(
            "additionalParams.all: Kubernetes heals no storage or network by "
            "itself, so this is not valid for a CNF."
        )
    if task.operation is LcmOperationType.CHANGE_EXT_CONN:
        raise errors.BadRequest(
            "The networks of a CNF are in its manifests; a change of package "
            "changes them."
        )
    if inventory.KINDS in task.parameters:
        raise errors.InvalidParameters(
            f"additionalParams.{inventory.KINDS}: read-only: the VNFM "
            "sets it. Remove it from the request."
        )


def _check_singletons(rendered: Rendered) -> None:
    for vdu, manifest in rendered.workloads.items():
        count = rendered.counts.get(vdu, 1)
        if manifest.kind == "Pod" and count > 1:
            raise errors.InvalidParameters(
                f"VDU {vdu} is the Pod {manifest.name}, of which there is "
                f"one; the VNFD asks for {count}."
            )


def _changed(
    rendered: Rendered, current: Target, target: Target
) -> Sequence[Manifest]:
    """Tell which workloads get another size.

    :raises NotScalable: a VDU whose number cannot be set
    """
    changed = []
    for vdu, count in target.counts.items():
        if count == current.counts.get(vdu, 0):
            continue
        manifest = rendered.workloads.get(vdu)
        if manifest is None or manifest.kind not in SCALABLE:
            what = f"a {manifest.kind}" if manifest else "not in its manifests"
            raise errors.NotScalable(
                f"aspectId: VDU {vdu} is {what}; only "
                f"{', '.join(sorted(SCALABLE))} can be scaled."
            )
        changed.append(manifest)
    return changed
