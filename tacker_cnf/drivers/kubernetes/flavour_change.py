"""Change of the deployment flavour of a running VNF: the differences between
the manifests of both flavours.
"""

import dataclasses
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes import (
    content,
    manifest_validation,
    manifests,
    package_change,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    SCALABLE,
    VDU_KINDS,
    Rendered,
    with_size,
)
from tacker_cnf.drivers.kubernetes.marks import Mark
from tacker_cnf.drivers.kubernetes.plan import (
    ManifestChange,
    ObjectPlan,
    check_mutable,
)

#: kinds whose pods have the template of their creation
FIXED_KINDS: Final = frozenset({"Pod", "ReplicaSet"})


def plan(task: InfraTask, rendered: Rendered) -> ObjectPlan:
    """Compare the manifests of both flavours; objects with the same manifest
    are left as they are.

    :param rendered: the manifests of the new flavour
    :raises InvalidParameters: the change is not possible
    """
    change = task.change
    assert change.current is not None
    if len(task.vim_connections) > 1:
        raise errors.InvalidParameters(
            "newFlavourId: the flavour of a VNF on several clusters cannot "
            "change. Terminate the VNF, and instantiate it with the flavour."
        )
    before = manifests.render(task.instance.id, task.package, change.current)
    manifest_validation.check(before, rendered)
    package_change.check_namespace(before, rendered)
    common = package_change.pair(before, rendered)
    workloads = [c for c in common if c.after.kind in VDU_KINDS]
    _check_vdus(workloads, task)
    others = [c for c in common if c.after.kind not in VDU_KINDS]
    written = tuple(
        c
        for c in others
        if package_change.is_config(c.after)
        and not content.is_same_content(c.before.body, c.after.body)
    )
    check_mutable(written)
    rolled = [c for c in workloads if not _is_same_workload(c)]
    _check_rolled(rolled)
    return ObjectPlan(
        after=dataclasses.replace(
            rendered, previous_kinds=rendered.kinds | before.kinds
        ),
        mark=Mark(task.operation_id, undoes=change.restores),
        created=package_change.only_in(rendered, before),
        applied=tuple(
            c.after
            for c in others
            if not package_change.is_config(c.after)
            and c.after.body != c.before.body
        ),
        written=written,
        rolled=tuple(c.after for c in rolled),
        restarted=tuple(
            package_change.restart(c.before)
            for c in workloads
            if c not in rolled
        ),
        scaled=tuple(
            c.after
            for c in workloads
            if c.after.kind in SCALABLE
            and before.size_of(c.before) != rendered.size_of(c.after)
        ),
        before=before,
    )


def with_workloads(rendered: Rendered, before: Rendered) -> Rendered:
    """Add the workloads of the old flavour, which the VNF may still have."""
    own = package_change.only_in(before, rendered)
    return dataclasses.replace(
        rendered,
        objects=(*rendered.objects, *(m for m in own if m.vdu_id)),
    )


def _check_vdus(changes: list[ManifestChange], task: InfraTask) -> None:
    """Check that workloads of both flavours are of the same VDUs.

    :raises InvalidParameters: a workload is of a VDU in one flavour only
    """
    for change in changes:
        before, after = change.before, change.after
        if before.vdu_id == after.vdu_id:
            continue
        flavour_id = task.change.state.flavour_id
        if after.vdu_id is None:
            problem = f"flavour {flavour_id} has no VDU {before.vdu_id}"
        else:
            problem = (
                f"flavour {flavour_id} has it as VDU {after.vdu_id}, and the "
                f"VNF as {before.vdu_id or 'no VDU'}"
            )
        raise errors.InvalidParameters(
            f"additionalParams.lcm-kubernetes-def-files: {after.file} has the "
            f"{after}, but {problem}. List the manifests of flavour "
            f"{flavour_id} only, or give the workload another name in one of "
            "the flavours."
        )


def _is_same_workload(change: ManifestChange) -> bool:
    """Return whether two workloads are equal, but for their size."""
    before, after = (
        with_size(manifest.body, 0, is_stopped=False)
        for manifest in (change.before, change.after)
    )
    return before == after


def _check_rolled(changes: list[ManifestChange]) -> None:
    """Check that the pods of workloads can change.

    :raises InvalidParameters: the pods of a kind are never replaced
    """
    for manifest in (c.after for c in changes):
        if manifest.kind in FIXED_KINDS:
            raise errors.InvalidParameters(
                f"newFlavourId: VDU {manifest.vdu_id} is the {manifest}, "
                "whose manifest differs between the flavours. The pods of a "
                f"{manifest.kind} cannot change: give it another name in one "
                "of the flavours."
            )
