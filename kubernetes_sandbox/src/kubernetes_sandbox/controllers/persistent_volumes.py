"""The controller of PersistentVolumes and their claims."""

from decimal import Decimal

from kubernetes_sandbox import pods, quantities
from kubernetes_sandbox.admission import CLASSES
from kubernetes_sandbox.controller_context import ControllerContext
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
from kubernetes_sandbox.store import Change

_VOLUMES = "persistentvolumes."
_BOUND = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
_VOLUME_FINALIZER = "kubernetes.io/pv-protection"


def _size(capacity: Obj) -> Decimal:
    return quantities.parse(capacity.get("storage", 0))


class PersistentVolumes(Controller):
    """Binds, provisions, protects and reclaims volumes."""

    key = "persistentvolumeclaims."

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._volume_kind = context.kind(_VOLUMES)
        self.store.subscribe(_VOLUMES, self._volume_changed)
        self.store.subscribe(pods.KEY, self._pod_changed)

    def _volume_changed(self, change: Change) -> None:
        volume = change.entry.obj
        if change.type != "DELETED":
            self.context.timers.soon(self._sync_volume, name_of(volume))
        for entry in self.store.entries(self.key):
            if entry.obj["status"].get("phase") != "Bound":
                self.enqueue(namespace_of(entry.obj), name_of(entry.obj))

    def _own_changed(self, change: Change) -> None:
        super()._own_changed(change)
        volume = change.entry.obj["spec"].get("volumeName")
        if change.type == "DELETED" and volume:
            self.context.timers.soon(self._sync_volume, volume)

    def _pod_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            for name in _claims_of(change.entry.obj):
                self.enqueue(namespace_of(change.entry.obj), name)

    def sync(self, obj: Obj) -> None:
        """Bind a claim, or remove its finalizer."""
        if is_deleting(obj):
            self._remove_protection(obj)
        elif obj["status"].get("phase") != "Bound":
            volume = self._find(obj) or self._provision(obj)
            if volume is not None:
                self._bind(obj, volume)

    def _remove_protection(self, claim: Obj) -> None:
        finalizers = claim["metadata"].get("finalizers") or []
        if _CLAIM_FINALIZER not in finalizers:
            return
        for pod in self.store.objects(pods.KEY, namespace_of(claim)):
            if name_of(claim) in _claims_of(pod) and not pods.is_finished(pod):
                return
        remaining = [one for one in finalizers if one != _CLAIM_FINALIZER]
        changed_fields = with_metadata(claim, finalizers=remaining or None)
        self.context.api.put(self.kind, changed_fields)

    def _find(self, claim: Obj) -> Obj | None:
        feasible = [
            volume
            for volume in self.store.objects(_VOLUMES)
            if _fits(volume, claim)
        ]
        if not feasible:
            return None
        return min(
            feasible, key=lambda v: (_size(v["spec"]["capacity"]), name_of(v))
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
        result = self.context.api.create(self._volume_kind, "", volume)
        self.context.events.record(
            claim,
            "ProvisioningSucceeded",
            f"Successfully provisioned volume {name_of(result)}",
            found["provisioner"],
        )
        return result

    def _bind(self, claim: Obj, volume: Obj) -> None:
        annotations = {**annotations_of(volume), _BOUND_BY_CONTROLLER: "yes"}
        bound = with_metadata(volume, annotations=annotations)
        spec = {**volume["spec"], "claimRef": _reference(claim)}
        bound = with_status(
            {**bound, "spec": spec},
            phase="Bound",
            lastPhaseTransitionTime=now(),
        )
        self.context.api.put(self._volume_kind, bound)
        annotations = {
            **annotations_of(claim),
            _BOUND: "yes",
            _BOUND_BY_CONTROLLER: "yes",
        }
        claim = with_metadata(claim, annotations=annotations)
        spec = {**claim["spec"], "volumeName": name_of(volume)}
        claim = self.context.api.put(self.kind, {**claim, "spec": spec})
        status = {
            "phase": "Bound",
            "accessModes": list(volume["spec"]["accessModes"]),
            "capacity": dict(volume["spec"]["capacity"]),
        }
        self.context.api.set_status(self.kind, claim, status)

    def _sync_volume(self, name: str) -> None:
        volume = self.store.get(_VOLUMES, "", name)
        if volume is None:
            return
        claim = self._claim_of(volume)
        phase = volume["status"].get("phase")
        if is_deleting(volume):
            if claim is None:
                self._remove_volume_protection(volume)
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
            self.context.deletion.delete(self._volume_kind, volume)
        else:
            self._set_phase(volume, "Released")

    def _set_phase(self, volume: Obj, phase: str) -> None:
        status = {"phase": phase, "lastPhaseTransitionTime": now()}
        self.context.api.set_status(self._volume_kind, volume, status)

    def _remove_volume_protection(self, volume: Obj) -> None:
        finalizers = volume["metadata"].get("finalizers") or []
        remaining = [one for one in finalizers if one != _VOLUME_FINALIZER]
        if remaining != finalizers:
            changed_fields = with_metadata(
                volume, finalizers=remaining or None
            )
            self.context.api.put(self._volume_kind, changed_fields)


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
