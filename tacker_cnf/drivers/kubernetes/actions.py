"""The actions of a plan: what it does to each object, and why."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from tacker_cnf.drivers import field_changes
from tacker_cnf.drivers.kubernetes import (
    content,
    marks,
    object_structure,
    pod_references,
    pod_update,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    POD_OWNER_KINDS,
    RETAINED_KINDS,
    Key,
    Manifest,
    with_size,
)
from tacker_cnf.drivers.kubernetes.marks import Mark
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.plan import ManifestChange, ObjectPlan
from tacker_cnf.drivers.kubernetes.pod_references import Reference
from tacker_cnf.lcm.change import ALL, Change, State
from tacker_cnf.lcm.vnf_plan import Action, ActionType, FieldChange
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

#: reason of workloads that only restart
READS: Final = "its pods restart, as they read what changes"
RESTARTED: Final = "the operation that is undone has restarted it"
MISSING: Final = "it does not exist"
DIFFERS: Final = "its manifest differs"
NOT_WANTED: Final = "the new state does not have it"
#: kinds of workloads whose pods are deleted before new ones are ready
SINGLE_KINDS: Final = frozenset({"Pod", "ReplicaSet", "StatefulSet"})
#: kinds whose objects have data
DATA_KINDS: Final = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
#: fields of metadata that a manifest sets
META_FIELDS: Final = frozenset({"labels", "annotations"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObjectStates:
    """The objects of a VNF before a change and after it, by their keys."""

    #: of a deletion in the order of the requests
    before: Mapping[Key, Object]
    #: as the API server would store them; without the cluster, the manifests
    after: Mapping[Key, Object]
    #: (VDU, name) of the existing pods; None: those of all VNFCs
    pods: frozenset[tuple[str, str]] | None = None
    #: objects and pods that an earlier attempt has created again
    replaced: frozenset[Key] = frozenset()
    #: objects that the new state does not have, but that pods still need
    used: frozenset[Key] = frozenset()
    #: whether the cluster was read, so that the objects have their marks
    are_live: bool = False

    def is_kept(self, key: Key) -> bool:
        """Return whether a heal of the whole VNF leaves an existing object."""
        return key[1] in RETAINED_KINDS or key in self.replaced


def states_by_request(change: Change, plan: ObjectPlan) -> ObjectStates:
    """Return the objects as the manifests of both states have them."""
    objects = plan.before.objects if plan.before else plan.after.objects
    if change.current is None:
        objects = ()
    if change.desired is None:
        objects = tuple(reversed(objects))
    before = {manifest.key: manifest.body for manifest in objects}
    if change.current:
        before |= dict(_former_sizes(change.current, plan.scaled))
        for manifest in objects:
            if change.current.is_stopped and manifest.is_vnfc:
                del before[manifest.key]
    return ObjectStates(
        before=before, after={m.key: m.body for m in plan.after.existing}
    )


def _former_sizes(
    current: State, scaled: Iterable[Manifest]
) -> Iterator[tuple[Key, Object]]:
    for manifest in scaled:
        count = current.running_counts.get(manifest.vdu_id or "", 0)
        yield (
            manifest.key,
            with_size(manifest.body, count, is_stopped=current.is_stopped),
        )


@dataclasses.dataclass(frozen=True)
class ActionLister:
    """What a plan does, by the objects before and after it."""

    change: Change
    plan: ObjectPlan
    states: ObjectStates

    def list_actions(self) -> Iterator[Action]:
        """List what the plan does, in the order of its execution; then the
        objects that it leaves as they are.
        """
        yield from _in_waves(self._changed)
        changed = {(action.kind, action.name) for action in self._changed}
        unchanged = (
            key for key in self.states.before if key[1:] not in changed
        )
        reason = "the plan does not concern it"
        yield from self._list_keys(ActionType.UNCHANGED, unchanged, reason)

    @functools.cached_property
    def _changed(self) -> tuple[Action, ...]:
        """The actions that change an object."""
        return tuple(self._list_changes())

    def _list_changes(self) -> Iterator[Action]:
        change = self.change
        if change.desired is None:
            reason = "the VNF shall have no objects"
            yield from self._list_keys(
                ActionType.DELETE, self.states.before, reason
            )
        elif change.replace == ALL:
            yield from self._list_replacements()
        elif change.replace:
            yield from self._list_heals(change.replace)
        else:
            yield from self._list_differences()

    def _list_keys(
        self,
        verb: ActionType,
        keys: Iterable[Key],
        reason: str,
        wave: int = 1,
    ) -> Iterator[Action]:
        """List the same action for several existing objects."""
        former = self.plan.before.objects if self.plan.before else ()
        vdus = {m.key: m.vdu_id for m in (*former, *self.plan.after.objects)}
        for key in keys:
            _, kind, name = key
            yield Action(
                type=verb,
                kind=kind,
                name=name,
                reason=reason,
                vdu_id=vdus.get(key),
                wave=wave,
            )

    def _list_replacements(self) -> Iterator[Action]:
        """List what a heal of the whole VNF does: all objects without data
        are deleted, then those of the manifests are created.
        """
        wanted = {manifest.key for manifest in self.plan.created}
        obsolete = (
            key
            for key in self.states.before
            if key not in wanted and not self.states.is_kept(key)
        )
        yield from self._list_keys(ActionType.DELETE, obsolete, NOT_WANTED)
        for manifest in self.plan.created:
            if manifest.key not in self.states.before:
                yield _action(ActionType.CREATE, manifest, MISSING, wave=2)
            elif not self.states.is_kept(manifest.key):
                reason = "the whole VNF is healed"
                yield _action(ActionType.RECREATE, manifest, reason)

    def _list_heals(
        self, vnfcs: Iterable[VnfcResourceInfo]
    ) -> Iterator[Action]:
        workloads = self.plan.after.workloads
        for vdu in dict.fromkeys(vnfc.vdu_id for vnfc in vnfcs):
            manifest = workloads.get(vdu)
            if manifest and manifest.key not in self.states.before:
                yield _action(ActionType.CREATE, manifest, MISSING)
        pods = self.states.pods
        for vnfc in vnfcs:
            if pods is None or (vnfc.vdu_id, vnfc.id) in pods:
                yield Action(
                    type=ActionType.RECREATE,
                    kind="Pod",
                    name=vnfc.compute_resource.resource_id,
                    reason="the VNFC is healed",
                    vdu_id=vnfc.vdu_id,
                    vnfc_id=vnfc.id,
                )

    def _list_differences(self) -> Iterator[Action]:
        plan, before = self.plan, self.states.before
        for manifest in plan.created:
            reason = "only the new state has it"
            yield from self._list_patch(manifest, reason)
        for manifest in plan.applied:
            yield from self._list_patch(manifest, MISSING)
        for config in plan.written:
            yield from self._list_write(config)
        created = () if plan.mark.undoes else plan.created
        written = (
            config.after
            for config in plan.written
            if config.changes_content(before.get(config.key), self._mark)
        )
        new_objects = {(m.kind, m.name) for m in (*created, *written)}
        yield from self._list_rolled(new_objects)
        for restart in plan.restarted:
            yield from self._list_restart(restart, new_objects)
        rolled = {manifest.key for manifest in plan.rolled}
        for manifest in plan.scaled:
            if manifest.key not in rolled:  # else listed with its size
                yield from self._list_scaled(manifest)
        obsolete = plan.obsolete(
            k for k in before if k not in self.states.used
        )
        owners = [key for key in obsolete if key[1] in POD_OWNER_KINDS]
        others = [key for key in obsolete if key not in owners]
        yield from self._list_keys(
            ActionType.DELETE, owners, NOT_WANTED, wave=2
        )
        yield from self._list_keys(
            ActionType.DELETE, others, NOT_WANTED, wave=3
        )

    def _list_scaled(self, manifest: Manifest) -> Iterator[Action]:
        """List the change of the size of a workload; a bare Pod is created or
        deleted.
        """
        reason = _scale_reason(self.change, manifest)
        is_there = manifest.key in self.states.before
        if not manifest.is_vnfc:
            if changes := self._changes(manifest):
                yield _action(ActionType.PATCH, manifest, reason, changes)
        elif self.plan.after.exists(manifest) != is_there:
            kind = ActionType.DELETE if is_there else ActionType.CREATE
            yield _action(kind, manifest, reason)

    def _list_patch(
        self, manifest: Manifest, reason_to_create: str
    ) -> Iterator[Action]:
        if manifest.key not in self.states.before:
            yield _action(ActionType.CREATE, manifest, reason_to_create)
        elif manifest.kind not in RETAINED_KINDS and (
            changes := self._changes(manifest)
        ):
            yield _action(ActionType.PATCH, manifest, DIFFERS, changes)

    @property
    def _mark(self) -> Mark:
        """The mark of the operation. Without the marks of the objects, an
        operation that is undone counts as one that has changed all of them.
        """
        mark = self.plan.mark
        undoes = mark.undoes and self.states.are_live
        return dataclasses.replace(mark, undoes=undoes)

    def _changes(self, manifest: Manifest) -> tuple[FieldChange, ...]:
        """Compare the fields of an object that clients set."""
        return _compare(
            manifest,
            _fields(self.states.before[manifest.key]),
            _fields(self.states.after[manifest.key]),
        )

    def _list_write(self, config: ManifestChange) -> Iterator[Action]:
        key, manifest = config.key, config.after
        before = self.states.before.get(key)
        after = self.states.after.get(key)
        if before is None:
            yield _action(ActionType.CREATE, manifest, MISSING)
        elif after and not content.is_same_content(before, after):
            changes = _compare(
                manifest,
                content.content_of(before),
                content.content_of(after),
            )
            reason = "its content differs"
            yield _action(ActionType.PATCH, manifest, reason, changes)

    def _list_rolled(self, changed: Iterable[Reference]) -> Iterator[Action]:
        """List the Deployments with another manifest, and those whose pods
        read an object that changes.
        """
        for manifest in self.plan.rolled:
            if changes := self._changes(manifest):
                yield _action(ActionType.PATCH, manifest, DIFFERS, changes)
            elif self._marks_template(manifest) and _reads(
                manifest.body, changed
            ):
                yield _action(ActionType.PATCH, manifest, READS)

    def _marks_template(self, manifest: Manifest) -> bool:
        """Return whether a Deployment gets a mark that its pods do not have;
        if changes are undone, it gets its former one, by its manifest.
        """
        template = self.states.before[manifest.key]["spec"]["template"]
        return not self._mark.undoes and marks.mark_of(template) != str(
            self._mark
        )

    def _list_restart(
        self, restart: ManifestChange, changed: Iterable[Reference]
    ) -> Iterator[Action]:
        """List the restart of a workload, if it has another image, reads an
        object that changes, or was restarted by the operation that is undone.
        """
        manifest, mark = restart.after, self._mark
        live = self.states.before.get(restart.key)
        if live is None:
            if manifest.kind == "Pod" and pod_update.replaces_lost(
                restart.before, manifest, changed
            ):
                yield _action(ActionType.CREATE, manifest, MISSING)
            return
        is_pod = manifest.kind == "Pod"
        images = pod_update.changed_images(live["spec"], manifest.body["spec"])
        is_done = marks.mark_of(live) == str(mark)
        if (mark.undoes and not mark.is_on(live)) or (
            is_done and (is_pod or not images)
        ):
            return
        containers = pod_references.reading_containers(live["spec"], changed)
        reads = containers if is_pod else _reads(live, changed)
        reasons = [
            *(["its images differ"] if images else []),
            *([READS] if reads else []),
        ]
        if not is_pod and mark.is_on(live):
            reasons = reasons or [RESTARTED]
        is_new = is_pod and pod_update.needs_new_pod(images, containers)
        if reasons:
            yield _action(
                ActionType.RECREATE if is_new else ActionType.PATCH,
                manifest,
                ", and ".join(reasons),
                () if is_new else tuple(_image_changes(live, images)),
            )

    def list_warnings(self) -> Iterator[str]:
        """List what the plan interrupts or loses."""
        change = self.change
        if self.plan.stops:
            yield "The VNF is out of service until it is started."
        if change.desired is None:
            for (_, kind, name), body in self.states.before.items():
                if _has_data(kind, body):
                    yield (
                        f"The data in the volumes of {kind} {name} is deleted."
                    )
        elif change.state.is_stopped and not change.operates:
            yield from _list_sizes_at_start(change)
        elif change.replace == ALL:
            yield (
                "The VNF is out of service from the deletion of its pods "
                "until the new ones are ready."
            )
        elif change.replace:
            yield from _list_outages(change, change.replace)
        else:
            yield from self._list_vdu_outages(change)

    def _list_vdu_outages(self, change: Change) -> Iterator[str]:
        """List the VDUs that a change of the flavour deletes or scales in, and
        those whose only VNFC is replaced before a new one is ready.
        """
        if change.changes_flavour:
            yield from _list_removals(change)
        for action in self._changed:
            vdu = action.vdu_id or ""
            replaces = action.type is ActionType.RECREATE or READS in (
                action.reason
            )
            if (
                replaces
                and action.kind in SINGLE_KINDS
                and change.state.counts.get(vdu) == 1
            ):
                yield (
                    f"The only VNFC of VDU {vdu} is replaced: the VDU is out "
                    "of service until the new one is ready."
                )


def _in_waves(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Sort actions by their waves, and number these without gaps."""
    listed = sorted(actions, key=lambda action: action.wave)
    waves = sorted({action.wave for action in listed})
    return tuple(
        msgspec.structs.replace(action, wave=waves.index(action.wave) + 1)
        for action in listed
    )


def _compare(
    manifest: Manifest, before: Object, after: Object
) -> tuple[FieldChange, ...]:
    """Compare fields of an object; secrets are hidden."""
    structure = object_structure.structure_of(
        manifest.api_version, manifest.kind
    )
    return tuple(field_changes.compare(before, after, structure))


def _fields(body: Object) -> Object:
    meta = body.get("metadata") or {}
    fields = {
        name: value
        for name, value in body.items()
        if name not in {"apiVersion", "kind", "metadata", "status"}
    }
    if shown := {k: v for k, v in meta.items() if k in META_FIELDS and v}:
        fields["metadata"] = shown
    return fields


def _reads(workload: Object, changed: Iterable[Reference]) -> bool:
    spec = workload["spec"]["template"]["spec"]
    return not pod_references.pod_reads(spec).isdisjoint(changed)


def _image_changes(body: Object, images: Object) -> Iterator[FieldChange]:
    before = pod_update.pod_spec_of(body["spec"])
    prefix = "spec." if before is body["spec"] else "spec.template.spec."
    for kind, containers in images.items():
        present = {c["name"]: c.get("image") for c in before[kind]}
        for container in containers:
            name = container["name"]
            yield FieldChange(
                path=f"{prefix}{kind}[{name}].image",
                before=present[name],
                after=container["image"],
            )


def _scale_reason(change: Change, manifest: Manifest) -> str:
    if change.operates:
        return f"the VNF shall be {change.state.vnf_state}"
    before, after = (
        state.counts.get(manifest.vdu_id or "", 0) if state else 0
        for state in (change.current, change.desired)
    )
    return f"the VDU is scaled from {before} to {after} VNFCs"


def _action(
    kind: ActionType,
    manifest: Manifest,
    reason: str,
    changes: tuple[FieldChange, ...] = (),
    wave: int = 1,
) -> Action:
    return Action(
        type=kind,
        kind=manifest.kind,
        name=manifest.name,
        reason=reason,
        vdu_id=manifest.vdu_id,
        changes=changes,
        wave=wave,
    )


def _list_outages(
    change: Change, vnfcs: Iterable[VnfcResourceInfo]
) -> Iterator[str]:
    healed = [vnfc.vdu_id for vnfc in vnfcs]
    for vdu in dict.fromkeys(healed):
        if healed.count(vdu) >= change.state.counts.get(vdu, 0):
            yield (
                f"All VNFCs of VDU {vdu} are replaced: unless a "
                "PodDisruptionBudget prevents it, the VDU is out of service "
                "until new ones are ready."
            )


def _list_sizes_at_start(change: Change) -> Iterator[str]:
    """List the VDUs of a STOPPED VNF that will start with another number of
    VNFCs.
    """
    for vdu, before, after in _counts(change):
        if before != after:
            yield (
                f"VDU {vdu} will start with {after} VNFCs instead of {before}: "
                "the VNF is STOPPED."
            )


def _list_removals(change: Change) -> Iterator[str]:
    """List the VDUs that lose VNFCs by a change of the flavour."""
    for vdu, before, after in _counts(change):
        if before and not after:
            yield f"VDU {vdu} and its VNFCs ({before}) are deleted."
        elif after < before:
            yield f"VDU {vdu} is scaled in from {before} to {after} VNFCs."


def _counts(change: Change) -> Iterator[tuple[str, int, int]]:
    """Return the number of VNFCs of each VDU, before and after a change."""
    before, after = change.first_state.counts, change.state.counts
    for vdu in sorted({*before, *after}):
        yield vdu, before.get(vdu, 0), after.get(vdu, 0)


def _has_data(kind: str, body: Object) -> bool:
    """Return whether persistent volumes belong to an object."""
    return kind in DATA_KINDS or bool(
        kind == "StatefulSet"
        and (body.get("spec") or {}).get("volumeClaimTemplates")
    )
