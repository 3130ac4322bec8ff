"""Deployments: ReplicaSets, one for each template, rolled from old to new."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes_sandbox import pods
from kubernetes_sandbox.controllers import deployment_status
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    annotations_of,
    clone,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
    with_metadata,
)
from kubernetes_sandbox.quantities import share_of
from kubernetes_sandbox.store import Change

_COMPONENT = "deployment-controller"
_SETS = "replicasets.apps"
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MAXIMUM = "deployment.kubernetes.io/max-replicas"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many pods there may be while a new template rolls out."""

    wanted: int
    surge: int
    unavailable: int

    @classmethod
    def of(cls, obj: Obj) -> "Bounds":
        """Read them off a Deployment."""
        spec = obj["spec"]
        wanted = spec.get("replicas", 1)
        rolling = (spec.get("strategy") or {}).get("rollingUpdate")
        if not rolling:
            return cls(wanted, 0, wanted)
        surge = share_of(rolling["maxSurge"], wanted, round_up=True)
        less = share_of(rolling["maxUnavailable"], wanted, round_up=False)
        if not surge and not less:
            less = 1
        return cls(wanted, surge, min(less, wanted))


def _bare(template: Obj) -> Obj:
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in labels_of(template).items() if k != HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


class Deployments(Controller):
    """Rolls a Deployment's pods from one template to the next."""

    key = "deployments.apps"
    children = (_SETS,)
    adopts = True

    def __init__(self, plane: Any) -> None:
        super().__init__(plane)
        self.store.subscribe(pods.KEY, self._pod_changed)

    def _pod_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            return
        pod = change.entry.obj
        owner = next(iter(pod["metadata"].get("ownerReferences") or ()), None)
        if owner is None or owner["kind"] != "ReplicaSet":
            return
        entry = self.store.of_uid(owner["uid"])
        if entry is not None:
            for above in entry.obj["metadata"].get("ownerReferences") or ():
                self.enqueue(namespace_of(pod), above["name"])

    def sync(self, obj: Obj) -> None:
        """Take the roll-out one step further, and report."""
        owned = self.store.owned(uid_of(obj), _SETS)
        new = self._newest(obj, owned)
        old = [one for one in owned if one is not new]
        if not is_deleting(obj) and not obj["spec"].get("paused"):
            new = self._step(obj, new, old)
        elif new is not None and not is_deleting(obj):
            self._scale(obj, new, Bounds.of(obj).wanted)
        self._report(obj, new)

    def _newest(self, obj: Obj, owned: Sequence[Obj]) -> Obj | None:
        template = _bare(obj["spec"]["template"])
        for one in owned:
            if _bare(one["spec"]["template"]) == template:
                return one
        return None

    def _step(self, obj: Obj, new: Obj | None, old: list[Obj]) -> Obj | None:
        if obj["spec"]["strategy"]["type"] == "Recreate":
            return self._recreate(obj, new, old)
        new = new or self._create(obj, old)
        self._mark_revision(obj, new, old)
        self._grow(obj, new, old)
        self._shrink(obj, new, old)
        self._forget(obj, old)
        return new

    def _recreate(
        self, obj: Obj, new: Obj | None, old: list[Obj]
    ) -> Obj | None:
        for one in old:
            self._scale(obj, one, 0)
        if any(self.store.owned(uid_of(one), pods.KEY) for one in old):
            return new
        new = new or self._create(obj, old)
        self._mark_revision(obj, new, old)
        self._scale(obj, new, obj["spec"]["replicas"])
        self._forget(obj, old)
        return new

    def _create(self, obj: Obj, old: Sequence[Obj]) -> Obj:
        spec = obj["spec"]
        bounds = Bounds.of(obj)
        present = sum(one["spec"]["replicas"] for one in old)
        first = min(bounds.wanted, bounds.wanted + bounds.surge - present)
        collisions = obj["status"].get("collisionCount", 0)
        digest = pods.template_hash(spec["template"], collisions)
        template = clone(spec["template"])
        labels = {**labels_of(template), HASH: digest}
        template["metadata"] = {**template["metadata"], "labels": labels}
        selector = clone(spec["selector"])
        chosen = {**(selector.get("matchLabels") or {}), HASH: digest}
        made: Obj = {
            "metadata": {
                "name": f"{name_of(obj)}-{digest}",
                "labels": labels,
                "annotations": {
                    **_sizes(bounds),
                    REVISION: str(_last_revision(old) + 1),
                },
                "ownerReferences": [owner_reference(obj)],
            },
            "spec": {
                "replicas": max(first, 0),
                "selector": {**selector, "matchLabels": chosen},
                "template": template,
            },
        }
        if spec.get("minReadySeconds"):
            made["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        return self._store_new(obj, made)

    def _store_new(self, obj: Obj, made: Obj) -> Obj:
        kind = self.plane.kind(_SETS)
        try:
            new = self.plane.api.create(kind, namespace_of(obj), made)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                count = obj["status"].get("collisionCount", 0) + 1
                status = {**obj["status"], "collisionCount": count}
                self.set_status(obj, status)
            raise
        revision = new["metadata"]["annotations"][REVISION]
        newest = self._noted(obj, revision)
        status = deployment_status.created(newest, name_of(new))
        self.plane.api.put(self.kind, {**newest, "status": status})
        self._tell_scale(obj, new, 0, new["spec"]["replicas"])
        return new

    def _noted(self, obj: Obj, revision: str) -> Obj:
        place = (namespace_of(obj), name_of(obj))
        newest = self.store.get(self.key, *place) or obj
        notes = {**annotations_of(newest), REVISION: revision}
        return with_metadata(newest, annotations=notes)

    def _mark_revision(self, obj: Obj, new: Obj, old: Sequence[Obj]) -> None:
        """Let a template that came back be the newest revision again."""
        notes = annotations_of(new)
        if int(notes.get(REVISION, 0)) < _last_revision(old):
            revision = str(_last_revision(old) + 1)
            history = {**notes, REVISION: revision}
            self.plane.api.put(
                self.plane.kind(_SETS), with_metadata(new, annotations=history)
            )
            self.plane.api.put(self.kind, self._noted(obj, revision))

    def _grow(self, obj: Obj, new: Obj, old: Sequence[Obj]) -> None:
        bounds = Bounds.of(obj)
        present = new["spec"]["replicas"]
        if present > bounds.wanted:
            self._scale(obj, new, bounds.wanted)
            return
        others = sum(one["spec"]["replicas"] for one in old)
        room = bounds.wanted + bounds.surge - others - present
        target = min(bounds.wanted, present + max(room, 0))
        self._scale(obj, new, target)

    def _shrink(self, obj: Obj, new: Obj, old: Sequence[Obj]) -> None:
        live = [one for one in old if one["spec"]["replicas"]]
        if not live:
            return
        bounds = Bounds.of(obj)
        newest = self._current(new)
        ready = newest["status"].get("availableReplicas", 0)
        lacking = newest["spec"]["replicas"] - ready
        everything = newest["spec"]["replicas"] + sum(
            one["spec"]["replicas"] for one in live
        )
        least = bounds.wanted - bounds.unavailable
        room = everything - least - lacking
        for one in sorted(live, key=_age):
            available = one["status"].get("availableReplicas", 0)
            unhealthy = one["spec"]["replicas"] - available
            less = max(min(unhealthy, room), 0)
            room -= less
            if less:
                self._scale(obj, one, one["spec"]["replicas"] - less)
        self._shrink_healthy(obj, new, old, least)

    def _shrink_healthy(
        self, obj: Obj, new: Obj, old: Sequence[Obj], least: int
    ) -> None:
        current = [self._current(one) for one in (new, *old)]
        available = sum(
            one["status"].get("availableReplicas", 0) for one in current
        )
        spare = available - least
        for one in sorted(current[1:], key=_age):
            less = min(one["spec"]["replicas"], max(spare, 0))
            spare -= less
            if less:
                self._scale(obj, one, one["spec"]["replicas"] - less)

    def _current(self, one: Obj) -> Obj:
        found = self.store.get(_SETS, namespace_of(one), name_of(one))
        return found or one

    def _scale(self, obj: Obj, one: Obj, replicas: int) -> None:
        newest = self._current(one)
        before = newest["spec"]["replicas"]
        notes = {**annotations_of(newest), **_sizes(Bounds.of(obj))}
        if before == replicas and notes == annotations_of(newest):
            return
        if before == replicas and not replicas:
            return
        changed = with_metadata(newest, annotations=notes)
        if before != replicas:
            generation = newest["metadata"]["generation"] + 1
            changed = with_metadata(changed, generation=generation)
        spec = {**newest["spec"], "replicas": replicas}
        self.plane.api.put(self.plane.kind(_SETS), {**changed, "spec": spec})
        if before != replicas:
            self._tell_scale(obj, newest, before, replicas)

    def _tell_scale(self, obj: Obj, one: Obj, before: int, after: int) -> None:
        way = "up" if after > before else "down"
        if before == after:
            return
        self.plane.events.tell(
            obj,
            "ScalingReplicaSet",
            f"Scaled {way} replica set {name_of(one)} from {before} to {after}",
            _COMPONENT,
        )

    def _forget(self, obj: Obj, old: Sequence[Obj]) -> None:
        limit = obj["spec"].get("revisionHistoryLimit", 10)
        idle = [
            one
            for one in map(self._current, old)
            if not one["spec"]["replicas"]
            and not one["status"].get("replicas")
            and not is_deleting(one)
        ]
        for one in sorted(idle, key=_revision)[: max(len(idle) - limit, 0)]:
            self.plane.deletion.delete(self.plane.kind(_SETS), one)

    def _report(self, obj: Obj, new: Obj | None) -> None:
        place = (namespace_of(obj), name_of(obj))
        newest = self.store.get(self.key, *place)
        if newest is None:
            return
        owned = self.store.owned(uid_of(obj), _SETS)
        current = self._current(new) if new is not None else None
        least = Bounds.of(newest)
        status = deployment_status.of(
            newest, current, owned, least.wanted - least.unavailable
        )
        self.plane.api.set_status(self.kind, newest, status)
        wait = deployment_status.deadline_in(newest, status)
        if wait is not None:
            self.enqueue_later(newest, wait)


def _sizes(bounds: Bounds) -> dict[str, str]:
    return {
        _DESIRED: str(bounds.wanted),
        _MAXIMUM: str(bounds.wanted + bounds.surge),
    }


def _revision(one: Obj) -> int:
    return int(annotations_of(one).get(REVISION, 0))


def _last_revision(sets: Sequence[Obj]) -> int:
    return max((_revision(one) for one in sets), default=0)


def _age(one: Obj) -> tuple[str, int]:
    return one["metadata"]["creationTimestamp"], _revision(one)
