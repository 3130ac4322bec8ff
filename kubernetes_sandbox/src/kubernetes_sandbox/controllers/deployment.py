"""The Deployment controller."""

import math
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
from kubernetes_sandbox.quantities import resolve_int_or_percent
from kubernetes_sandbox.store import Change

_COMPONENT = "deployment-controller"
_SETS = "replicasets.apps"
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MAXIMUM = "deployment.kubernetes.io/max-replicas"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The number of pods that a rolling update allows."""

    wanted: int
    surge: int
    unavailable: int

    @classmethod
    def of(cls, obj: Obj) -> "Bounds":
        """Compute them from the spec of a Deployment."""
        spec = obj["spec"]
        wanted = spec.get("replicas", 1)
        rolling = (spec.get("strategy") or {}).get("rollingUpdate")
        if not rolling:
            return cls(wanted, 0, wanted)
        surge = resolve_int_or_percent(
            rolling["maxSurge"], wanted, round_up=True
        )
        less = resolve_int_or_percent(
            rolling["maxUnavailable"], wanted, round_up=False
        )
        if not surge and not less:
            less = 1
        return cls(wanted, surge, min(less, wanted))


def _bare(template: Obj) -> Obj:
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in labels_of(template).items() if k != HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


class Deployments(Controller):
    """Rolls the pods of a Deployment from one template to the next."""

    key = "deployments.apps"
    children = (_SETS,)
    adopts = True

    def __init__(self, context: Any) -> None:
        super().__init__(context)
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
        """Take the next step of a rollout and set the status."""
        owned = self.store.owned(uid_of(obj), _SETS)
        new = self._newest(obj, owned)
        old = [one for one in owned if one is not new]
        if not is_deleting(obj):
            if obj["spec"].get("paused") or self._is_scaled(obj, owned):
                self._scale_all(obj, new, old)
            else:
                new = self._step(obj, new, old)
        self._report(obj, new)

    @staticmethod
    def _is_scaled(obj: Obj, owned: Sequence[Obj]) -> bool:
        """Return whether replicas changed since the last step."""
        wanted = str(obj["spec"]["replicas"])
        return any(
            annotations_of(one).get(_DESIRED, wanted) != wanted
            for one in owned
            if one["spec"]["replicas"]
        )

    def _scale_all(self, obj: Obj, new: Obj | None, old: list[Obj]) -> None:
        """Scale the only active ReplicaSet, or all in proportion."""
        bounds = Bounds.of(obj)
        present = [*old] if new is None else [*old, new]
        active = [one for one in present if one["spec"]["replicas"]]
        if len(active) < 2 or _is_saturated(new, bounds.wanted):
            for one in active or present[-1:]:
                only = len(active) < 2 or one is new
                self._scale(obj, one, bounds.wanted if only else 0)
            return
        total = sum(one["spec"]["replicas"] for one in active)
        remaining = bounds.wanted + bounds.surge - total
        grows = remaining > 0
        for one in sorted(active, key=lambda one: _size(one, newest=grows)):
            share = _share(obj, one, bounds, remaining)
            remaining -= share
            self._scale(obj, one, one["spec"]["replicas"] + share)

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
        self._scale_up_new(obj, new, old)
        self._scale_down_old(obj, new, old)
        self._delete_old_sets(obj, old)
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
        self._delete_old_sets(obj, old)
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
        matches_selector = {
            **(selector.get("matchLabels") or {}),
            HASH: digest,
        }
        result: Obj = {
            "metadata": {
                "name": f"{name_of(obj)}-{digest}",
                "labels": labels,
                "annotations": {
                    **_replica_annotations(bounds),
                    REVISION: str(_last_revision(old) + 1),
                },
                "ownerReferences": [owner_reference(obj)],
            },
            "spec": {
                "replicas": max(first, 0),
                "selector": {**selector, "matchLabels": matches_selector},
                "template": template,
            },
        }
        if spec.get("minReadySeconds"):
            result["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        return self._store_new(obj, result)

    def _store_new(self, obj: Obj, result: Obj) -> Obj:
        kind = self.context.kind(_SETS)
        try:
            new = self.context.api.create(kind, namespace_of(obj), result)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                count = obj["status"].get("collisionCount", 0) + 1
                status = {**obj["status"], "collisionCount": count}
                self.set_status(obj, status)
            raise
        revision = new["metadata"]["annotations"][REVISION]
        newest = self._with_revision(obj, revision)
        status = deployment_status.created(newest, name_of(new))
        self.context.api.put(self.kind, {**newest, "status": status})
        self._record_scaling(obj, new, 0, new["spec"]["replicas"])
        return new

    def _with_revision(self, obj: Obj, revision: str) -> Obj:
        place = (namespace_of(obj), name_of(obj))
        newest = self.store.get(self.key, *place) or obj
        annotations = {**annotations_of(newest), REVISION: revision}
        return with_metadata(newest, annotations=annotations)

    def _mark_revision(self, obj: Obj, new: Obj, old: Sequence[Obj]) -> None:
        """Make the ReplicaSet of a rollback the latest revision."""
        annotations = annotations_of(new)
        if int(annotations.get(REVISION, 0)) < _last_revision(old):
            revision = str(_last_revision(old) + 1)
            history = {**annotations, REVISION: revision}
            self.context.api.put(
                self.context.kind(_SETS),
                with_metadata(new, annotations=history),
            )
            self.context.api.put(self.kind, self._with_revision(obj, revision))

    def _scale_up_new(self, obj: Obj, new: Obj, old: Sequence[Obj]) -> None:
        bounds = Bounds.of(obj)
        present = new["spec"]["replicas"]
        if present > bounds.wanted:
            self._scale(obj, new, bounds.wanted)
            return
        others = sum(one["spec"]["replicas"] for one in old)
        room = bounds.wanted + bounds.surge - others - present
        target = min(bounds.wanted, present + max(room, 0))
        self._scale(obj, new, target)

    def _scale_down_old(self, obj: Obj, new: Obj, old: Sequence[Obj]) -> None:
        live = [one for one in old if one["spec"]["replicas"]]
        if not live:
            return
        bounds = Bounds.of(obj)
        newest = self._current(new)
        ready = newest["status"].get("availableReplicas", 0)
        unavailable = newest["spec"]["replicas"] - ready
        total = newest["spec"]["replicas"] + sum(
            one["spec"]["replicas"] for one in live
        )
        least = bounds.wanted - bounds.unavailable
        room = total - least - unavailable
        if room <= 0:
            return
        for one in sorted(live, key=_age):
            available = one["status"].get("availableReplicas", 0)
            unhealthy = one["spec"]["replicas"] - available
            less = max(min(unhealthy, room), 0)
            room -= less
            if less:
                self._scale(obj, one, one["spec"]["replicas"] - less)
        self._scale_down_healthy(obj, new, old, least)

    def _scale_down_healthy(
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
        annotations = {
            **annotations_of(newest),
            **_replica_annotations(Bounds.of(obj)),
        }
        if before == replicas and annotations == annotations_of(newest):
            return
        if before == replicas and not replicas:
            return
        changed_fields = with_metadata(newest, annotations=annotations)
        if before != replicas:
            generation = newest["metadata"]["generation"] + 1
            changed_fields = with_metadata(
                changed_fields, generation=generation
            )
        spec = {**newest["spec"], "replicas": replicas}
        self.context.api.put(
            self.context.kind(_SETS), {**changed_fields, "spec": spec}
        )
        if before != replicas:
            self._record_scaling(obj, newest, before, replicas)

    def _record_scaling(
        self, obj: Obj, one: Obj, before: int, after: int
    ) -> None:
        way = "up" if after > before else "down"
        if before == after:
            return
        self.context.events.record(
            obj,
            "ScalingReplicaSet",
            f"Scaled {way} replica set {name_of(one)} from {before} to {after}",
            _COMPONENT,
        )

    def _delete_old_sets(self, obj: Obj, old: Sequence[Obj]) -> None:
        limit = obj["spec"].get("revisionHistoryLimit", 10)
        idle = [
            one
            for one in map(self._current, old)
            if not one["spec"]["replicas"]
            and not one["status"].get("replicas")
            and not is_deleting(one)
        ]
        for one in sorted(idle, key=_revision)[: max(len(idle) - limit, 0)]:
            self.context.deletion.delete(self.context.kind(_SETS), one)

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
        self.context.api.set_status(self.kind, newest, status)
        wait = deployment_status.deadline_in(newest, status)
        if wait is not None:
            self.enqueue_later(newest, wait)


def _replica_annotations(bounds: Bounds) -> dict[str, str]:
    return {
        _DESIRED: str(bounds.wanted),
        _MAXIMUM: str(bounds.wanted + bounds.surge),
    }


def _is_saturated(new: Obj | None, wanted: int) -> bool:
    """Return whether the new ReplicaSet has all pods of the Deployment."""
    return (
        new is not None
        and new["spec"]["replicas"] == wanted
        and annotations_of(new).get(_DESIRED) == str(wanted)
        and new["status"].get("availableReplicas", 0) == wanted
    )


def _size(one: Obj, *, newest: bool) -> tuple[int, int]:
    """Sort the largest first, among equals the newest or oldest."""
    revision = _revision(one)
    return -one["spec"]["replicas"], -revision if newest else revision


def _share(obj: Obj, one: Obj, bounds: Bounds, remaining: int) -> int:
    """Return the proportion of a change that one ReplicaSet gets."""
    size = one["spec"]["replicas"]
    before = int(
        annotations_of(one).get(_MAXIMUM, 0)
        or obj["status"].get("replicas", 0)
    )
    total = bounds.wanted + bounds.surge
    share = math.floor(size * total / before + 0.5) - size if before else 0
    if remaining > 0:
        return max(0, min(share, remaining))
    return min(0, max(share, remaining))


def _revision(one: Obj) -> int:
    return int(annotations_of(one).get(REVISION, 0))


def _last_revision(sets: Sequence[Obj]) -> int:
    return max((_revision(one) for one in sets), default=0)


def _age(one: Obj) -> tuple[str, int]:
    return one["metadata"]["creationTimestamp"], _revision(one)
