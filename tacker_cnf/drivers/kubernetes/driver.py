"""The Kubernetes driver: makes a namespace match a target."""

import contextlib
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.base import Deadline, InfraTask
from tacker_cnf.drivers.kubernetes import manifests
from tacker_cnf.drivers.kubernetes.client import Clusters
from tacker_cnf.drivers.kubernetes.manifests import (
    SCALABLE,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.readiness import Waiter
from tacker_cnf.drivers.kubernetes.refusals import Forbidden
from tacker_cnf.drivers.kubernetes.work import Work
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

Object = dict[str, Any]


class KubernetesDriver:
    """VNFs as the objects that a package's manifests describe."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf.kubernetes
        self._clusters = Clusters(self._conf.request_timeout)

    def reach(self, connection: VimConnectionInfo) -> None:
        cluster = self._clusters.connect(connection)
        # who is let in, and limited to some namespaces, is well
        with contextlib.suppress(Forbidden):
            cluster.list(cluster.kind("v1", "Namespace"), None, limit="1")

    def validate(self, task: InfraTask) -> None:
        if task.heals and "all" in task.parameters:
            raise errors.InvalidParameters(
                "additionalParams.all: Kubernetes heals no storage or "
                "network by itself, so this is not valid for a CNF."
            )
        target = task.target or task.current
        if target is None:
            return
        rendered = manifests.render(task, target)
        _check_singletons(rendered)
        if task.target and task.current and not task.heals:
            _changed(rendered, task.current, task.target)

    def apply(self, task: InfraTask) -> InfraResult:
        work = self._work(task, task.target)
        if task.current is None:
            _tell_missing(work.rendered)
            work.make(work.rendered.objects)
            work.waiter.all_ready(work.rendered.objects)
        else:
            assert task.target is not None
            changed = _changed(work.rendered, task.current, task.target)
            work.scale(changed)
            work.waiter.all_ready(changed)
        return work.inventory()

    def replace(self, task: InfraTask) -> InfraResult:
        work = self._work(task, task.target)
        if task.vnfcs:
            work.replace_pods(task)
        else:
            work.replace_all(task)
        return work.inventory()

    def destroy(self, task: InfraTask) -> InfraResult:
        work = self._work(task, task.current)
        found = work.owned(work.rendered.objects)
        work.remove(found, work.pods(), task.grace)
        return InfraResult()

    def observe(self, task: InfraTask) -> InfraResult:
        return self._work(task, task.target or task.current).inventory()

    def _work(self, task: InfraTask, target: Target | None) -> Work:
        assert target is not None
        rendered = manifests.render(task, target)
        connection = next(iter(task.vim_connections.values()))
        cluster = self._clusters.connect(connection)
        patience = self._conf.ready_timeout + (task.grace or 0)
        timeout = min(patience, task.deadline.remaining)
        grace = self._conf.failure_grace
        deadline = Deadline.within(timeout)
        return Work(
            cluster, rendered, Waiter(cluster, rendered, grace, deadline)
        )


def _tell_missing(rendered: Rendered) -> None:
    """Log the VDUs that none of the named manifests makes: packages name
    some of their files at a time, and such VDUs have no VNFCs.
    """
    missing = sorted(rendered.counts.keys() - rendered.workloads.keys())
    if missing:
        LOG.warning(
            "VNF instance %s: no manifest makes VDU %s",
            rendered.instance_id,
            ", ".join(missing),
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
