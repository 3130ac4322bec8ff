"""What a change of the VNF package makes of a VNF that runs: one package's
manifests and the next's.
"""

import copy
import dataclasses
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes import (
    manifests,
    pod_update,
    shapes,
    update_work,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.pod_references import CONFIG_MAP, SECRET
from tacker_cnf.drivers.kubernetes.update_work import Pair

#: what rolls by itself when its template changes
ROLLING: Final = "Deployment"


class Parameters(parameters.PackageChange, frozen=True, kw_only=True):
    """The additionalParams of a change of package that this driver reads."""

    namespace: str | None = None


class Former(msgspec.Struct, frozen=True):
    """What a Deployment was before it is changed, as it is noted."""

    key: manifests.Key
    template: dict[str, Any]


class PackageChange:
    """One change of package: from what was rendered to what is."""

    def __init__(self, task: InfraTask, rendered: Rendered) -> None:
        """Prepare it.

        :raises InvalidParameters: it cannot be carried out
        """
        assert task.current is not None
        assert task.current_package is not None
        self.operation_id = task.operation_id
        self.back = task.rolls_back
        #: pod templates as they were before, which may be what no manifest
        #: says: an update changes images alone
        self.templates = {
            former.key: former.template
            for former in (
                msgspec.json.decode(note, type=Former) for note in task.notes
            )
        }
        self._asked = parameters.read(task.parameters, Parameters)
        self.before = _former(task)
        self.after = rendered
        shapes.check(self.before, self.after)
        self._named = self._asked.vdus
        self._check()
        was = {manifest.key: manifest for manifest in self.before.objects}
        self._pairs = [
            Pair(was[manifest.key], manifest)
            for manifest in rendered.objects
            if manifest.key in was
        ]
        #: ConfigMaps and Secrets that both packages have
        self.configs = tuple(
            pair for pair in self._pairs if _is_config(pair.after)
        )
        update_work.check_mutable(self.configs)

    @property
    def new(self) -> tuple[Manifest, ...]:
        """What only the next package has."""
        known = {pair.after.key for pair in self._pairs}
        return tuple(m for m in self.after.objects if m.key not in known)

    @property
    def changed(self) -> tuple[Manifest, ...]:
        """What both have, differs, and neither makes pods nor is read by
        them.
        """
        return tuple(
            after
            for before, after in self._bodies()
            if after.kind not in VDU_KINDS
            and not _is_config(after)
            and after.body != before.body
        )

    @property
    def rolled(self) -> tuple[Manifest, ...]:
        """The Deployments to be rolled: those of the VDUs that the request
        names, or all.
        """
        return tuple(
            after
            for _, after in self._bodies()
            if after.kind == ROLLING
            and (after.vdu_id in self._named or not self._named)
        )

    @property
    def restarted(self) -> tuple[Pair, ...]:
        """What else makes pods, and stays what it is, its images too: it only
        restarts; none, if the request names VDUs.
        """
        if self._named:
            return ()
        there = [
            after if self.back else before for before, after in self._bodies()
        ]
        return tuple(
            Pair(manifest, _as_it_is(manifest, back=self.back))
            for manifest in there
            if manifest.kind in VDU_KINDS - {ROLLING}
        )

    def _bodies(self) -> list[tuple[Manifest, Manifest]]:
        return [(pair.before, pair.after) for pair in self._pairs]

    def _check(self) -> None:
        """Make sure that the request can be met, and that both packages make
        the same VDUs.

        :raises InvalidParameters: it cannot, or they do not
        """
        namespace = self._asked.namespace
        if namespace not in {None, self.before.namespace}:
            raise errors.InvalidParameters(
                "additionalParams.namespace: a VNF that runs stays in its "
                f"namespace, {self.before.namespace}."
            )
        workloads = self.after.workloads
        for vdu, manifest in self.before.workloads.items():
            if vdu not in workloads or workloads[vdu].key != manifest.key:
                raise errors.InvalidParameters(
                    f"additionalParams.lcm-kubernetes-def-files: VDU {vdu}: "
                    + manifests.lost(manifest, self.before, self.after)
                )
        if more := sorted(workloads.keys() - self.before.workloads.keys()):
            raise errors.InvalidParameters(
                "additionalParams.lcm-kubernetes-def-files: VDU "
                f"{more[0]} is the {workloads[more[0]]}, which the VNF "
                "instance does not have. A change of package makes no new "
                "VDU: leave its manifest out, or instantiate the new package."
            )
        for vdu in self._named:
            self._check_rolls(vdu)

    def _check_rolls(self, vdu: str) -> None:
        workloads = self.after.workloads
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


def _former(task: InfraTask) -> Rendered:
    """Render what is there, from the package that it is of."""
    assert task.current is not None
    assert task.current_package is not None
    former = dataclasses.replace(task, package=task.current_package)
    return manifests.render(former, task.current)


def _is_config(manifest: Manifest) -> bool:
    return manifest.is_core and manifest.kind in {CONFIG_MAP, SECRET}


def _as_it_is(manifest: Manifest, *, back: bool) -> Manifest:
    """Give a manifest by which nothing is given another image; one of a Pod
    that is made again on the way back is whole.
    """
    if back and manifest.kind == "Pod":
        return manifest
    body = copy.deepcopy(manifest.body)
    for container in pod_update.containers_of(body["spec"]):
        container.pop("image", None)
    return dataclasses.replace(manifest, body=body)
