"""Takes a VNF that runs to another VNF package, by rolling its Deployments."""

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes import manifests, readiness
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.refusals import AlreadyExists
from tacker_cnf.drivers.kubernetes.work import Work

Object = dict[str, Any]
Key = tuple[str, str]

#: what rolls by itself when its template changes
ROLLING: Final = "Deployment"
#: how often a Deployment is read again when somebody else changes it, too
TRIES: Final = 5


class VduParameters(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of vdu_params."""

    vdu_id: str


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of a change of package that this driver reads."""

    upgrade_type: Literal["RollingUpdate"]
    vdu_params: tuple[VduParameters, ...] = ()
    namespace: str | None = None


class PackageChange:
    """One change of package: from what was rendered to what is."""

    def __init__(self, task: InfraTask, rendered: Rendered) -> None:
        """Prepare it.

        :raises InvalidParameters: it cannot be carried out
        """
        assert task.current is not None
        assert task.current_package is not None
        self._asked = _parameters(task.parameters)
        self._before = _former(task)
        self._rendered = rendered
        self.rolled = self._rolled()
        self._check()

    def _rolled(self) -> tuple[Manifest, ...]:
        """Tell the Deployments to be rolled: those of the VDUs that the
        request names, or all.

        :raises InvalidParameters: it names another VDU
        """
        workloads = self._rendered.workloads
        named = [one.vdu_id for one in self._asked.vdu_params]
        for vdu in named:
            if vdu not in workloads:
                raise errors.InvalidParameters(
                    f"additionalParams.vdu_params: there is no VDU {vdu!r}, "
                    f"only {', '.join(sorted(workloads))}."
                )
            if workloads[vdu].kind != ROLLING:
                raise errors.InvalidParameters(
                    f"additionalParams.vdu_params: VDU {vdu} is a "
                    f"{workloads[vdu].kind}; only Deployments are rolled."
                )
        return tuple(
            manifest
            for vdu, manifest in workloads.items()
            if manifest.kind == ROLLING and (vdu in named or not named)
        )

    def _check(self) -> None:
        """Make sure that both packages make the same workloads.

        :raises InvalidParameters: they do not
        """
        namespace = self._asked.namespace
        if namespace not in {None, self._before.namespace}:
            raise errors.InvalidParameters(
                "additionalParams.namespace: a VNF that runs stays in its "
                f"namespace, {self._before.namespace}."
            )
        after = {v: _key(m) for v, m in self._rendered.workloads.items()}
        for vdu, manifest in self._before.workloads.items():
            if after.get(vdu) != _key(manifest):
                raise errors.InvalidParameters(
                    "additionalParams.lcm-kubernetes-def-files: VDU "
                    f"{vdu} is the {' '.join(_key(manifest))}, which the "
                    "manifests of the new package do not make."
                )
        if more := sorted(after.keys() - self._before.workloads.keys()):
            raise errors.InvalidParameters(
                "additionalParams.lcm-kubernetes-def-files: VDU "
                f"{more[0]} is the {' '.join(after[more[0]])}, which the VNF "
                "does not have. A change of package makes no new workload."
            )

    def carry_out(self, works: Sequence[Work]) -> None:
        """Make what is new or differs, roll, and wait until all is ready.

        :raises InfraError: a cluster could not, or not in time
        """
        for work in works:
            work.make(self._changed(work.rendered.objects))
            for manifest in work.own(self.rolled):
                _replace(work, manifest)
        for work in works:
            work.waiter.all_ready(work.own(self.rolled))

    def _changed(self, objects: Iterable[Manifest]) -> list[Manifest]:
        """Choose what is no workload and differs between the packages."""
        before = {_key(m): m.body for m in self._before.objects}
        return [
            manifest
            for manifest in objects
            if manifest.kind not in VDU_KINDS
            and manifest.body != before.get(_key(manifest))
        ]


def _former(task: InfraTask) -> Rendered:
    """Render what is there, from the package that it is of."""
    assert task.current is not None
    assert task.current_package is not None
    former = dataclasses.replace(task, package=task.current_package)
    return manifests.render(former, task.current)


def _parameters(given: Mapping[str, Any]) -> Parameters:
    try:
        return msgspec.convert(dict(given), Parameters)
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(f"additionalParams: {error}.") from None


def _key(manifest: Manifest) -> Key:
    return manifest.kind, manifest.name


def _replace(work: Work, manifest: Manifest) -> None:
    """Make a workload as its manifest says, at its size.

    :raises NotReady: it does not exist
    :raises VimRefused: somebody else goes on changing it
    """
    resource = work.cluster.kind(manifest.api_version, manifest.kind)
    namespace = work.rendered.namespace
    work.progress(f"Rolling {manifest.kind} {manifest.name}")
    for attempt in range(1, TRIES + 1):
        live = work.cluster.get(resource, manifest.name, namespace)
        if live is None:
            raise readiness.missing(manifest)
        try:
            work.cluster.replace(resource, _over(live, manifest), namespace)
            return
        except AlreadyExists:  # so 409 is told: it has just changed
            if attempt == TRIES:
                raise


def _over(live: Object, manifest: Manifest) -> Object:
    body = copy.deepcopy(manifest.body)
    meta = body["metadata"]
    kept = {k: v for k, v in live["metadata"].items() if k != "managedFields"}
    for name in ("labels", "annotations"):
        both = {**(kept.get(name) or {}), **(meta.get(name) or {})}
        if both:
            kept[name] = both
    # an autoscaler may have changed what was asked for
    body["spec"]["replicas"] = live["spec"]["replicas"]
    return {**body, "metadata": kept}
