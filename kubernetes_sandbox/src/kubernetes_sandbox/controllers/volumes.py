"""Volumes and claims: found for each other, made, protected, released."""

from decimal import Decimal

from kubernetes_sandbox import pods, quantities
from kubernetes_sandbox.admission import CLASSES
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import (
    Obj,
    annotations_of,
    is_deleting,
    name_of,
    namespace_of,
    now,
    uid_of,
    with_metadata,
    with_status,
)
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change

_VOLUMES = "persistentvolumes."
_BOUND = "pv.kubernetes.io/bind-completed"
_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_CLAIM_GUARD = "kubernetes.io/pvc-protection"
_VOLUME_GUARD = "kubernetes.io/pv-protection"


def _size(capacity: Obj) -> Decimal:
    return quantities.parse(capacity.get("storage", 0))


class Volumes(Controller):
    """Binds claims to volumes, and lets go of both in the end."""

    key = "persistentvolumeclaims."

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane)
        self._volume_kind = plane.kind(_VOLUMES)
        self.store.subscribe(_VOLUMES, self._volume_changed)
        self.store.subscribe(pods.KEY, self._pod_changed)

    def _volume_changed(self, change: Change) -> None:
        volume = change.entry.obj
        if change.type != "DELETED":
            self.plane.timers.soon(self._sync_volume, name_of(volume))
        for entry in self.store.entries(self.key):
            if entry.obj["status"].get("phase") != "Bound":
                self.enqueue(namespace_of(entry.obj), name_of(entry.obj))

    def _own_changed(self, change: Change) -> None:
        super()._own_changed(change)
        volume = change.entry.obj["spec"].get("volumeName")
        if change.type == "DELETED" and volume:
            self.plane.timers.soon(self._sync_volume, volume)

    def _pod_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            for name in _claims_of(change.entry.obj):
                self.enqueue(namespace_of(change.entry.obj), name)

    def sync(self, obj: Obj) -> None:
        """Bind a claim, or let it go."""
        if is_deleting(obj):
            self._let_go(obj)
        elif obj["status"].get("phase") != "Bound":
            volume = self._find(obj) or self._provision(obj)
            if volume is not None:
                self._bind(obj, volume)

    def _let_go(self, claim: Obj) -> None:
        finalizers = claim["metadata"].get("finalizers") or []
        if _CLAIM_GUARD not in finalizers:
            return
        for pod in self.store.objects(pods.KEY, namespace_of(claim)):
            if name_of(claim) in _claims_of(pod) and not pods.is_over(pod):
                return
        left = [one for one in finalizers if one != _CLAIM_GUARD]
        changed = with_metadata(claim, finalizers=left or None)
        self.plane.api.put(self.kind, changed)

    def _find(self, claim: Obj) -> Obj | None:
        fitting = [
            volume
            for volume in self.store.objects(_VOLUMES)
            if _fits(volume, claim)
        ]
        if not fitting:
            return None
        return min(
            fitting, key=lambda v: (_size(v["spec"]["capacity"]), name_of(v))
        )

    def _provision(self, claim: Obj) -> Obj | None:
        name = claim["spec"].get("storageClassName")
        found = self.store.get(CLASSES, "", name) if name else None
        if found is None or found["provisioner"].endswith("no-provisioner"):
            return None
        spec = claim["spec"]
        volume: Obj = {
            "metadata": {
                "name": f"pvc-{uid_of(claim)}",
                "annotations": {
                    "pv.kubernetes.io/provisioned-by": found["provisioner"]
                },
            },
            "spec": {
                "capacity": dict(spec["resources"]["requests"]),
                "accessModes": list(spec["accessModes"]),
                "persistentVolumeReclaimPolicy": found["reclaimPolicy"],
                "storageClassName": name,
                "hostPath": {"path": f"/volumes/{uid_of(claim)}"},
                "claimRef": _reference(claim),
            },
        }
        made = self.plane.api.create(self._volume_kind, "", volume)
        self.plane.events.tell(
            claim,
            "ProvisioningSucceeded",
            f"Successfully provisioned volume {name_of(made)}",
            found["provisioner"],
        )
        return made

    def _bind(self, claim: Obj, volume: Obj) -> None:
        notes = {**annotations_of(volume), _BY_CONTROLLER: "yes"}
        bound = with_metadata(volume, annotations=notes)
        spec = {**volume["spec"], "claimRef": _reference(claim)}
        bound = with_status(
            {**bound, "spec": spec},
            phase="Bound",
            lastPhaseTransitionTime=now(),
        )
        self.plane.api.put(self._volume_kind, bound)
        notes = {**annotations_of(claim), _BOUND: "yes", _BY_CONTROLLER: "yes"}
        claim = with_metadata(claim, annotations=notes)
        spec = {**claim["spec"], "volumeName": name_of(volume)}
        claim = self.plane.api.put(self.kind, {**claim, "spec": spec})
        status = {
            "phase": "Bound",
            "accessModes": list(volume["spec"]["accessModes"]),
            "capacity": dict(volume["spec"]["capacity"]),
        }
        self.plane.api.set_status(self.kind, claim, status)

    def _sync_volume(self, name: str) -> None:
        volume = self.store.get(_VOLUMES, "", name)
        if volume is None:
            return
        claim = self._claim_of(volume)
        phase = volume["status"].get("phase")
        if is_deleting(volume):
            if claim is None:
                self._release_guard(volume)
        elif volume["spec"].get("claimRef") is None:
            if phase != "Available":
                self._set_phase(volume, "Available")
        elif claim is None and phase == "Bound":
            self._reclaim(volume)

    def _claim_of(self, volume: Obj) -> Obj | None:
        reference = volume["spec"].get("claimRef")
        if not reference:
            return None
        claim = self.store.get(
            self.key, reference["namespace"], reference["name"]
        )
        if claim is None or reference.get("uid") not in {None, uid_of(claim)}:
            return None
        return claim

    def _reclaim(self, volume: Obj) -> None:
        if volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
            self.plane.deletion.delete(self._volume_kind, volume)
        else:
            self._set_phase(volume, "Released")

    def _set_phase(self, volume: Obj, phase: str) -> None:
        status = {"phase": phase, "lastPhaseTransitionTime": now()}
        self.plane.api.set_status(self._volume_kind, volume, status)

    def _release_guard(self, volume: Obj) -> None:
        finalizers = volume["metadata"].get("finalizers") or []
        left = [one for one in finalizers if one != _VOLUME_GUARD]
        if left != finalizers:
            changed = with_metadata(volume, finalizers=left or None)
            self.plane.api.put(self._volume_kind, changed)


def _fits(volume: Obj, claim: Obj) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    reference = spec.get("claimRef")
    if is_deleting(volume):
        return False
    if wanted.get("volumeName") and wanted["volumeName"] != name_of(volume):
        return False
    if reference:
        place = (reference["namespace"], reference["name"])
        mine = place == (namespace_of(claim), name_of(claim))
        if not mine or reference.get("uid") not in {None, uid_of(claim)}:
            return False
    return (
        spec.get("storageClassName", "") == wanted.get("storageClassName", "")
        and set(wanted["accessModes"]) <= set(spec["accessModes"])
        and spec["volumeMode"] == wanted["volumeMode"]
        and _size(spec["capacity"]) >= _size(wanted["resources"]["requests"])
    )


def _reference(claim: Obj) -> Obj:
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "apiVersion": "v1",
        "resourceVersion": claim["metadata"]["resourceVersion"],
    }


def _claims_of(pod: Obj) -> list[str]:
    return [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in volume
    ]
