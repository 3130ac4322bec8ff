"""The actions of a plan: what it does to each object, and why."""

from collections.abc import Iterable, Iterator
from typing import Final

from tacker_cnf.drivers.base import Action, ActionType
from tacker_cnf.drivers.kubernetes import content, pod_references, pod_update
from tacker_cnf.drivers.kubernetes.manifests import RETAINED_KINDS, Manifest
from tacker_cnf.drivers.kubernetes.plan import ManifestChange, ObjectPlan
from tacker_cnf.drivers.kubernetes.pod_references import Reference
from tacker_cnf.lcm.change import ALL, Change

#: reason of workloads that only restart
READS: Final = "its pods read what changes"
#: kinds whose objects have data
DATA_KINDS: Final = frozenset({"PersistentVolume", "PersistentVolumeClaim"})


def list_actions(change: Change, plan: ObjectPlan) -> Iterator[Action]:
    """List what a plan does by the manifests, in the order of its execution.

    Left out are objects whose manifests stay the same, even if they differ in
    the cluster, and in a termination the objects of earlier packages and the
    claims of StatefulSets.
    """
    if change.desired is None:
        for manifest in reversed(plan.after.objects):
            reason = "the VNF shall have no objects"
            yield _action(ActionType.DELETE, manifest, reason)
    elif change.replace == ALL:
        for manifest in plan.created:
            if manifest.kind not in RETAINED_KINDS:
                reason = "the whole VNF is healed"
                yield _action(ActionType.RECREATE, manifest, reason)
    elif change.replace:
        for vnfc in change.replace:
            yield Action(
                type=ActionType.RECREATE,
                kind="Pod",
                name=vnfc.compute_resource.resource_id,
                reason="the VNFC is healed",
                vdu_id=vnfc.vdu_id,
                vnfc_id=vnfc.id,
            )
    else:
        yield from _list_differences(change, plan)


def _list_differences(change: Change, plan: ObjectPlan) -> Iterator[Action]:
    written = [
        config.after
        for config in plan.written
        if not content.is_same_content(config.before.body, config.after.body)
    ]
    groups = (
        (ActionType.CREATE, plan.created, "only the new state has it"),
        (ActionType.PATCH, plan.applied, "its manifest differs"),
        (ActionType.PATCH, written, "its content differs"),
    )
    for kind, objects, reason in groups:
        yield from (_action(kind, manifest, reason) for manifest in objects)
    created = () if plan.mark.undoes else plan.created
    changed = {(m.kind, m.name) for m in (*created, *written)}
    yield from _list_rolled(plan, changed)
    for restart in plan.restarted:
        yield from _list_restarts(restart, changed)
    for manifest in plan.scaled:
        reason = _scale_reason(change, manifest)
        yield _action(ActionType.PATCH, manifest, reason)
    for manifest in _obsolete_objects(plan):
        reason = "the new state does not have it"
        yield _action(ActionType.DELETE, manifest, reason)


def _list_rolled(
    plan: ObjectPlan, changed: Iterable[Reference]
) -> Iterator[Action]:
    """List the Deployments with another manifest, and those whose pods read
    an object that changes.
    """
    before = {m.key: m for m in plan.before.objects} if plan.before else {}
    for manifest in plan.rolled:
        if manifest.body != before[manifest.key].body:
            yield _action(ActionType.PATCH, manifest, "its manifest differs")
        elif _reading_containers(manifest, changed):
            yield _action(ActionType.PATCH, manifest, READS)


def _reading_containers(
    manifest: Manifest, changed: Iterable[Reference]
) -> frozenset[str]:
    spec = pod_update.pod_spec_of(manifest.body["spec"])
    return pod_references.reading_containers(spec, changed)


def _obsolete_objects(plan: ObjectPlan) -> Iterator[Manifest]:
    remaining = {manifest.key for manifest in plan.after.objects}
    for manifest in plan.before.objects if plan.before else ():
        if manifest.key not in remaining and (
            manifest.kind not in RETAINED_KINDS
        ):
            yield manifest


def _list_restarts(
    change: ManifestChange, changed: Iterable[Reference]
) -> Iterator[Action]:
    """List the restart of a workload, if it has another image or reads an
    object that changes.
    """
    before, after = change.before.body["spec"], change.after.body["spec"]
    images = pod_update.changed_images(before, after)
    containers = _reading_containers(change.before, changed)
    reasons = [
        *(["its images differ"] if images else []),
        *([READS] if containers else []),
    ]
    is_new = change.after.kind == "Pod" and pod_update.needs_new_pod(
        images, containers
    )
    if reasons:
        yield _action(
            ActionType.RECREATE if is_new else ActionType.PATCH,
            change.after,
            ", and ".join(reasons),
        )


def _scale_reason(change: Change, manifest: Manifest) -> str:
    before, after = (
        state.counts.get(manifest.vdu_id or "", 0) if state else 0
        for state in (change.current, change.desired)
    )
    return f"the VDU has {after} VNFCs instead of {before}"


def _action(kind: ActionType, manifest: Manifest, reason: str) -> Action:
    return Action(
        type=kind,
        kind=manifest.kind,
        name=manifest.name,
        reason=reason,
        vdu_id=manifest.vdu_id,
    )


def list_warnings(change: Change, plan: ObjectPlan) -> Iterator[str]:
    """List what a plan interrupts or loses."""
    if change.desired is None:
        for manifest in plan.after.objects:
            if has_data(manifest):
                yield f"The data in the volumes of {manifest} is deleted."
    elif change.replace == ALL:
        yield (
            "The VNF is out of service from the deletion of its pods until "
            "the new ones are ready."
        )


def has_data(manifest: Manifest) -> bool:
    """Return whether persistent volumes belong to an object."""
    return manifest.kind in DATA_KINDS or bool(
        manifest.kind == "StatefulSet"
        and manifest.body.get("spec", {}).get("volumeClaimTemplates")
    )
