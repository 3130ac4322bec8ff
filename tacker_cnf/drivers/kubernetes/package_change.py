"""Change of the VNF package of a running VNF: the differences between the
manifests of both packages.
"""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.base import Checkpoint, InfraTask
from tacker_cnf.drivers.kubernetes import (
    manifest_validation,
    manifests,
    pod_update,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.marks import Mark
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.plan import (
    ManifestChange,
    ObjectPlan,
    check_mutable,
)
from tacker_cnf.drivers.kubernetes.pod_references import CONFIG_MAP, SECRET

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


def plan(task: InfraTask, rendered: Rendered) -> ObjectPlan:
    """Compare the manifests of both packages.

    :param rendered: the manifests of the new package
    :raises InvalidParameters: the change is not possible
    """
    params = parameters.read(
        task.change.parameters, KubernetesChangePackageParameters
    )
    restores = task.change.restores
    assert task.current_package is not None
    assert task.change.current is not None
    before = manifests.render(
        task.instance.id, task.current_package, task.change.current
    )
    manifest_validation.check(before, rendered)
    _check(params, before, rendered)
    common = pair(before, rendered)
    configs = tuple(c for c in common if is_config(c.after))
    check_mutable(configs)
    workloads = [c for c in common if c.after.kind in VDU_KINDS]
    return ObjectPlan(
        after=dataclasses.replace(
            rendered, previous_kinds=rendered.kinds | before.kinds
        ),
        mark=Mark(task.operation_id, undoes=restores),
        created=only_in(rendered, before),
        applied=tuple(
            c.after
            for c in common
            if c.after.kind not in VDU_KINDS
            and not is_config(c.after)
            and c.after.body != c.before.body
        ),
        written=configs,
        rolled=tuple(
            c.after
            for c in workloads
            if c.after.kind == ROLLING_KIND
            and (c.after.vdu_id in params.vdus or not params.vdus)
        ),
        # the others keep their specification and images, and stay as they are
        # if the request names VDUs
        restarted=tuple(
            restart(c.after if restores else c.before)
            for c in workloads
            if c.after.kind != ROLLING_KIND and not params.vdus
        ),
        before=before,
    )


def pair(before: Rendered, after: Rendered) -> list[ManifestChange]:
    """Return both manifests of each object that two states have."""
    by_key = {manifest.key: manifest for manifest in before.objects}
    return [
        ManifestChange(by_key[manifest.key], manifest)
        for manifest in after.objects
        if manifest.key in by_key
    ]


def only_in(rendered: Rendered, other: Rendered) -> tuple[Manifest, ...]:
    """Return the objects that another state does not have."""
    keys = {manifest.key for manifest in other.objects}
    return tuple(m for m in rendered.objects if m.key not in keys)


def check_namespace(before: Rendered, after: Rendered) -> None:
    """Check that the objects of a VNF stay in their namespace.

    :raises InvalidParameters: the request names another namespace
    """
    if after.namespace != before.namespace:
        raise errors.InvalidParameters(
            "additionalParams.namespace: a VNF that runs stays in its "
            f"namespace, {before.namespace}."
        )


def _check(
    params: KubernetesChangePackageParameters,
    before: Rendered,
    after: Rendered,
) -> None:
    """Check the request, and that both packages have the same VDUs.

    :raises InvalidParameters: the request is not valid, or the VDUs differ
    """
    check_namespace(before, after)
    workloads = after.workloads
    for vdu, manifest in before.workloads.items():
        if vdu not in workloads or workloads[vdu].key != manifest.key:
            raise errors.InvalidParameters(
                f"additionalParams.lcm-kubernetes-def-files: VDU {vdu}: "
                + manifests.describe_missing(manifest, before, after)
            )
    if additional := sorted(workloads.keys() - before.workloads.keys()):
        raise errors.InvalidParameters(
            "additionalParams.lcm-kubernetes-def-files: VDU "
            f"{additional[0]} is the {workloads[additional[0]]}, which the VNF "
            "instance does not have. A change of package cannot add VDUs: "
            "leave its manifest out, or instantiate the new package."
        )
    for vdu in params.vdus:
        _check_rollable(vdu, workloads)


def _check_rollable(vdu: str, workloads: Mapping[str, Manifest]) -> None:
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


def is_config(manifest: Manifest) -> bool:
    """Return whether an object is a ConfigMap or a Secret."""
    return manifest.is_core and manifest.kind in {CONFIG_MAP, SECRET}


def with_previous_templates(
    plan: ObjectPlan, previous: PreviousDeployments
) -> ObjectPlan:
    """Return a plan that gives Deployments the pod templates that they had
    before, which may differ from the old manifests: an update changes images
    in the cluster only.
    """
    templates = {d.key: d.template for d in previous.deployments}
    return dataclasses.replace(
        plan,
        rolled=tuple(
            _with_template(manifest, templates[manifest.key])
            if manifest.key in templates
            else manifest
            for manifest in plan.rolled
        ),
    )


def _with_template(manifest: Manifest, template: Object) -> Manifest:
    body = copy.deepcopy(manifest.body)
    body["spec"]["template"] = template
    return dataclasses.replace(manifest, body=body)


def restart(manifest: Manifest) -> ManifestChange:
    """Build the restart of a workload whose containers keep their images."""
    body = copy.deepcopy(manifest.body)
    for container in pod_update.containers_of(body["spec"]):
        container.pop("image", None)
    return ManifestChange(manifest, dataclasses.replace(manifest, body=body))
