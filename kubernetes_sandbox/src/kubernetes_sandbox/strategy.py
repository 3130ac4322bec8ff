"""Preparation of objects by kind: generation, initial status, addresses."""

import base64
import binascii
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from kubernetes_sandbox import errors, quantities
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, now

CRDS = "customresourcedefinitions.apiextensions.k8s.io"

#: Kinds that increment metadata.generation.
_COUNTED = frozenset(
    {
        "pods.",
        "replicationcontrollers.",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "jobs.batch",
        "cronjobs.batch",
        "poddisruptionbudgets.policy",
        "ingresses.networking.k8s.io",
        "ingressclasses.networking.k8s.io",
        "networkpolicies.networking.k8s.io",
        "priorityclasses.scheduling.k8s.io",
        CRDS,
    }
)
_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"


def has_generation(kind: Kind) -> bool:
    """Return whether a kind increments metadata.generation."""
    return kind.custom or kind.key in _COUNTED


def _pod_status(obj: Obj) -> Obj:
    quality = quantities.quality_of_service(obj["spec"])
    status: Obj = {"phase": "Pending", "qosClass": quality}
    if obj["spec"].get("schedulingGates"):
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": now(),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling"
            " gates",
        }
        status["conditions"] = [gated]
    return status


def _definition_status(obj: Obj) -> Obj:
    versions = obj["spec"].get("versions") or ()
    stored = [v["name"] for v in versions if v.get("storage")]
    return {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored,
    }


def _daemon_status(obj: Obj) -> Obj:
    del obj
    return {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }


def _budget_status(obj: Obj) -> Obj:
    del obj
    return {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    }


def _volume_status(obj: Obj) -> Obj:
    del obj
    return {"phase": "Pending", "lastPhaseTransitionTime": now()}


_FIRST_STATUS: Mapping[str, Callable[[Obj], Obj]] = {
    "pods.": _pod_status,
    "namespaces.": lambda _: {"phase": "Active"},
    "persistentvolumes.": _volume_status,
    "persistentvolumeclaims.": lambda _: {"phase": "Pending"},
    "services.": lambda _: {"loadBalancer": {}},
    "replicationcontrollers.": lambda _: {"replicas": 0},
    "replicasets.apps": lambda _: {"replicas": 0},
    "statefulsets.apps": lambda _: {"replicas": 0, "availableReplicas": 0},
    "daemonsets.apps": _daemon_status,
    "poddisruptionbudgets.policy": _budget_status,
    "ingresses.networking.k8s.io": lambda _: {"loadBalancer": {}},
    "horizontalpodautoscalers.autoscaling": lambda _: {
        "desiredReplicas": 0,
        "currentMetrics": None,
    },
    CRDS: _definition_status,
}
#: Kinds that keep the status of a create request.
_OWN_STATUS = frozenset({"nodes."})


def set_initial_status(kind: Kind, obj: Obj) -> None:
    """Set the initial status of a new object."""
    if kind.subresource("status") is None or kind.key in _OWN_STATUS:
        return
    begin = _FIRST_STATUS.get(kind.key)
    if begin is not None:
        obj["status"] = begin(obj)
    elif kind.custom:
        obj.pop("status", None)
    else:
        obj["status"] = {}


class AddressAllocator:
    """Allocates IP addresses and node ports."""

    def __init__(self) -> None:
        self._services = itertools.count(10)
        self._pods = itertools.count(2)
        self._ports = itertools.count(30000)

    def service(self) -> str:
        """Allocate the clusterIP of a Service."""
        number = next(self._services)
        return f"10.96.{number // 250 % 250}.{number % 250 + 1}"

    def pod(self) -> str:
        """Allocate the address of a pod."""
        number = next(self._pods)
        return f"10.244.{number // 250 % 250}.{number % 250 + 1}"

    def port(self) -> int:
        """Allocate a node port."""
        return 30000 + next(self._ports) % 2768


class Strategy:
    """Prepares objects for create and update."""

    def __init__(self) -> None:
        self.addresses = AddressAllocator()
        self._prepare: Mapping[str, Callable[[Obj], None]] = {
            "services.": self._service,
            "secrets.": _secret,
            "namespaces.": _namespace,
            "persistentvolumes.": _protect("kubernetes.io/pv-protection"),
            "persistentvolumeclaims.": _protect(
                "kubernetes.io/pvc-protection"
            ),
            "daemonsets.apps": _daemon_set,
            "jobs.batch": _job,
        }

    def prepare(self, kind: Kind, obj: Obj) -> None:
        """Set the fields that the strategy of a kind sets.

        :raises ApiError: 400, the object cannot be decoded
        """
        prepare = self._prepare.get(kind.key)
        if prepare is not None:
            prepare(obj)

    def _service(self, obj: Obj) -> None:
        spec = obj["spec"]
        if spec["type"] == "ExternalName":
            return
        if not spec.get("clusterIP"):
            spec["clusterIP"] = self.addresses.service()
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        if spec["type"] in {"NodePort", "LoadBalancer"}:
            for port in spec.get("ports") or ():
                port.setdefault("nodePort", self.addresses.port())


def _protect(finalizer: str) -> Callable[[Obj], None]:
    def protect(obj: Obj) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        if "uid" not in obj["metadata"] and finalizer not in finalizers:
            obj["metadata"]["finalizers"] = [*finalizers, finalizer]

    return protect


def _secret(obj: Obj) -> None:
    for value in (obj.get("data") or {}).values():
        _check_base64(value or "")
    plain = obj.pop("stringData", None) or {}
    if plain:
        data = dict(obj.get("data") or {})
        for key, value in plain.items():
            data[key] = base64.b64encode(value.encode()).decode()
        obj["data"] = data


def _check_base64(value: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        position = next(
            (
                i
                for i, c in enumerate(value)
                if not (c.isalnum() or c in "+/=")
            ),
            len(value) // 4 * 4,
        )
        raise errors.bad_request(
            'Secret in version "v1" cannot be handled as a Secret: illegal'
            f" base64 data at input byte {position}"
        ) from None


def _namespace(obj: Obj) -> None:
    obj["spec"] = {"finalizers": ["kubernetes"], **(obj.get("spec") or {})}
    labels = dict(obj["metadata"].get("labels") or {})
    labels["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
    obj["metadata"]["labels"] = labels


def _daemon_set(obj: Obj) -> None:
    _annotate(obj, str(obj["metadata"].get("generation", 1)))


def _annotate(obj: Obj, revision: str) -> None:
    annotations = dict(obj["metadata"].get("annotations") or {})
    obj["metadata"]["annotations"] = {
        **annotations,
        _GENERATION_ANNOTATION: revision,
    }


def _job(obj: Obj) -> None:
    spec: Obj = obj["spec"]
    uid = obj["metadata"].get("uid")
    if uid is None or "selector" in spec:
        return
    labels: dict[str, Any] = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": obj["metadata"]["name"],
        "controller-uid": uid,
        "job-name": obj["metadata"]["name"],
    }
    spec["selector"] = {
        "matchLabels": {"batch.kubernetes.io/controller-uid": uid}
    }
    metadata = obj["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    template = spec["template"].setdefault("metadata", {})
    template["labels"] = {**(template.get("labels") or {}), **labels}
