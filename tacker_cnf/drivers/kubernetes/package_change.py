"""Change of the VNF package of a running VNF: the differences between the
manifests of both packages.
"""

import copy
import dataclasses
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.base import Checkpoint, InfraTask, TaskContext
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

#: kind whose controller rolls its pods when the template changes
ROLLING_KIND: Final = "Deployment"


class KubernetesChangePackageParameters(
    parameters.ChangePackageParameters, frozen=True, kw_only=True
):
    """The additionalParams of a change of package that this driver reads."""

    #: the present namespace, in which the VNF stays
    namespace: str | None = None


class PreviousDeployment(msgspec.Struct, frozen=True):
    """State of a Deployment before its change."""

    key: manifests.Key
    template: dict[str, Any]


class PreviousDeployments(Checkpoint, frozen=True):
    """What a rollback of a change of package restores."""

    deployments: tuple[PreviousDeployment, ...]


class PackageChange:
    """A change of package, from the old manifests to the new."""

    def __init__(
        self,
        task: InfraTask,
        rendered: Rendered,
        context: TaskContext | None,
    ) -> None:
        """Compare the manifests.

        :param context: None: only check the change
        :raises InvalidParameters: the change is not possible
        """
        self.operation_id = task.operation_id
        self.is_rollback = task.change.restores
        previous = context and context.checkpoint(PreviousDeployments)
        #: pod templates before the change, which may differ from the old
        #: manifests: an update changes images in the cluster only
        self.templates = {
            deployment.key: deployment.template
            for deployment in (previous.deployments if previous else ())
        }
        self._params = parameters.read(
            task.change.parameters, KubernetesChangePackageParameters
        )
        assert task.current_package is not None
        assert task.change.current is not None
        self.before = manifests.render(
            task.instance.id, task.current_package, task.change.current
        )
        self.after = rendered
        manifest_validation.check(self.before, self.after)
        self._requested_vdus = self._params.vdus
        self._check()
        before_by_key = {
            manifest.key: manifest for manifest in self.before.objects
        }
        self._pairs = [
            ManifestChange(before_by_key[manifest.key], manifest)
            for manifest in rendered.objects
            if manifest.key in before_by_key
        ]
        #: ConfigMaps and Secrets in both packages
        self.configs = tuple(
            pair for pair in self._pairs if _is_config(pair.after)
        )
        update_task.check_mutable(self.configs)

    @property
    def new(self) -> tuple[Manifest, ...]:
        """Objects that only the new package has."""
        common = {pair.after.key for pair in self._pairs}
        return tuple(m for m in self.after.objects if m.key not in common)

    @property
    def changed(self) -> tuple[Manifest, ...]:
        """Objects in both packages that differ; no workloads, ConfigMaps or
        Secrets.
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
        """The other workloads, which keep their specification and images and
        are only restarted; none if the request names VDUs.
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
        """Check the request, and that both packages have the same VDUs.

        :raises InvalidParameters: the request is not valid, or the VDUs differ
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
                "instance does not have. A change of package cannot add VDUs: "
                "leave its manifest out, or instantiate the new package."
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


def _is_config(manifest: Manifest) -> bool:
    return manifest.is_core and manifest.kind in {CONFIG_MAP, SECRET}


def _without_images(manifest: Manifest, *, is_rollback: bool) -> Manifest:
    """Remove the images from a manifest, so that containers keep theirs. In a
    rollback, the manifest of a Pod is left complete: the Pod is recreated.
    """
    if is_rollback and manifest.kind == "Pod":
        return manifest
    body = copy.deepcopy(manifest.body)
    for container in pod_update.containers_of(body["spec"]):
        container.pop("image", None)
    return dataclasses.replace(manifest, body=body)
