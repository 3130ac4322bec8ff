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
    manifest_validation,
    manifests,
    pod_update,
    update_task,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.pod_references import CONFIG_MAP, SECRET
from tacker_cnf.drivers.kubernetes.update_task import ManifestChange

#: what rolls by itself when its template changes
ROLLING_KIND: Final = "Deployment"


class Parameters(
    parameters.ChangePackageParameters, frozen=True, kw_only=True
):
    """The additionalParams of a change of package that this driver reads."""

    namespace: str | None = None


class PreviousState(msgspec.Struct, frozen=True):
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
        self.is_rollback = task.is_rollback
        #: pod templates as they were before, which may be what no manifest
        #: says: an update changes images alone
        self.templates = {
            previous.key: previous.template
            for previous in (
                msgspec.json.decode(entry, type=PreviousState)
                for entry in task.checkpoint
            )
        }
        self._params = parameters.read(task.parameters, Parameters)
        self.before = _render_current(task)
        self.after = rendered
        manifest_validation.check(self.before, self.after)
        self._requested_vdus = self._params.vdus
        self._check()
        former_state = {
            manifest.key: manifest for manifest in self.before.objects
        }
        self._pairs = [
            ManifestChange(former_state[manifest.key], manifest)
            for manifest in rendered.objects
            if manifest.key in former_state
        ]
        #: ConfigMaps and Secrets that both packages have
        self.configs = tuple(
            pair for pair in self._pairs if _is_config(pair.after)
        )
        update_task.check_mutable(self.configs)

    @property
    def new(self) -> tuple[Manifest, ...]:
        """What only the next package has."""
        common = {pair.after.key for pair in self._pairs}
        return tuple(m for m in self.after.objects if m.key not in common)

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
            if after.kind == ROLLING_KIND
            and (
                after.vdu_id in self._requested_vdus
                or not self._requested_vdus
            )
        )

    @property
    def restarted(self) -> tuple[ManifestChange, ...]:
        """What else makes pods, and stays what it is, its images too: it only
        restarts; none, if the request names VDUs.
        """
        if self._requested_vdus:
            return ()
        present = [
            after if self.is_rollback else before
            for before, after in self._bodies()
        ]
        return tuple(
            ManifestChange(
                manifest,
                _without_images(manifest, is_rollback=self.is_rollback),
            )
            for manifest in present
            if manifest.kind in VDU_KINDS - {ROLLING_KIND}
        )

    def _bodies(self) -> list[tuple[Manifest, Manifest]]:
        return [(pair.before, pair.after) for pair in self._pairs]

    def _check(self) -> None:
        """Make sure that the request can be met, and that both packages make
        the same VDUs.

        :raises InvalidParameters: it cannot, or they do not
        """
        namespace = self._params.namespace
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
                    + manifests.describe_missing(
                        manifest, self.before, self.after
                    )
                )
        if additional := sorted(
            workloads.keys() - self.before.workloads.keys()
        ):
            raise errors.InvalidParameters(
                "additionalParams.lcm-kubernetes-def-files: VDU "
                f"{additional[0]} is the {workloads[additional[0]]}, which the VNF "
                "instance does not have. A change of package makes no new "
                "VDU: leave its manifest out, or instantiate the new package."
            )
        for vdu in self._requested_vdus:
            self._check_rollable(vdu)

    def _check_rollable(self, vdu: str) -> None:
        workloads = self.after.workloads
        if vdu not in workloads:
            raise errors.InvalidParameters(
                f"additionalParams.vdu_params: there is no VDU {vdu!r}, "
                f"only {', '.join(sorted(workloads))}."
            )
        if workloads[vdu].kind != ROLLING_KIND:
            raise errors.InvalidParameters(
                f"additionalParams.vdu_params: VDU {vdu} is a "
                f"{workloads[vdu].kind}; only Deployments are rolled."
            )


def _render_current(task: InfraTask) -> Rendered:
    """Render what is there, from the package that it is of."""
    assert task.current is not None
    assert task.current_package is not None
    previous = dataclasses.replace(task, package=task.current_package)
    return manifests.render(previous, task.current)


def _is_config(manifest: Manifest) -> bool:
    return manifest.is_core and manifest.kind in {CONFIG_MAP, SECRET}


def _without_images(manifest: Manifest, *, is_rollback: bool) -> Manifest:
    """Give a manifest by which nothing is given another image; one of a Pod
    that is made again on the way back is whole.
    """
    if is_rollback and manifest.kind == "Pod":
        return manifest
    body = copy.deepcopy(manifest.body)
    for container in pod_update.containers_of(body["spec"]):
        container.pop("image", None)
    return dataclasses.replace(manifest, body=body)
