"""Tables: the columns of ``kubectl get``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubernetes_sandbox import pod_columns, selectors
from kubernetes_sandbox.clock import seconds_since
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, annotations_of, labels_of, name_of

_Cell = Callable[[Obj], Any]
#: Name, priority (1: only with -o wide), value.
_Column = tuple[str, int, _Cell]


def _at(path: str, default: Any = "<none>") -> _Cell:
    parts = path.split(".")

    def read(obj: Obj) -> Any:
        value: Any = obj
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        return default if value is None or value == "" else value

    return read


def age_since(moment: str | None) -> str:
    """Format the time since a timestamp."""
    if not moment:
        return "<unknown>"
    seconds = int(seconds_since(moment))
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    if seconds < 7200:
        return f"{seconds // 60}m"
    if seconds < 172800:
        return f"{seconds // 3600}h"
    return f"{seconds // 86400}d"


def _age(obj: Obj) -> str:
    return age_since(obj["metadata"].get("creationTimestamp"))


def _template_containers(obj: Obj) -> list[Obj]:
    template = obj["spec"].get("template") or {}
    return list((template.get("spec") or {}).get("containers") or ())


def _containers(obj: Obj) -> str:
    return ",".join(c["name"] for c in _template_containers(obj))


def _images(obj: Obj) -> str:
    return ",".join(c.get("image", "") for c in _template_containers(obj))


def _selector(obj: Obj) -> str:
    return selectors.as_text(obj["spec"].get("selector")) or "<none>"


def _ready(obj: Obj) -> str:
    ready = obj["status"].get("readyReplicas", 0)
    return f"{ready}/{obj['spec'].get('replicas', 0)}"


def _node_status(obj: Obj) -> str:
    status = "Unknown"
    for one in (obj.get("status") or {}).get("conditions") or ():
        if one["type"] == "Ready":
            status = "Ready" if one["status"] == "True" else "NotReady"
    if obj["spec"].get("unschedulable"):
        status += ",SchedulingDisabled"
    return status


def _service_ports(obj: Obj) -> str:
    ports = []
    for port in obj["spec"].get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port['port']}{node}/{port['protocol']}")
    return ",".join(ports) or "<none>"


def _service_selector(obj: Obj) -> str:
    matches_selector = obj["spec"].get("selector") or {}
    return (
        ",".join(f"{k}={v}" for k, v in sorted(matches_selector.items()))
        or "<none>"
    )


_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _access(obj: Obj) -> str:
    modes = obj["spec"].get("accessModes") or ()
    return ",".join(_MODES.get(mode, mode) for mode in modes)


def _claim(obj: Obj) -> str:
    ref = obj["spec"].get("claimRef")
    return f"{ref['namespace']}/{ref['name']}" if ref else ""


def _data_count(obj: Obj) -> str:
    return str(len(obj.get("data") or {}) + len(obj.get("binaryData") or {}))


def _event_object(obj: Obj) -> str:
    ref = obj["involvedObject"]
    return f"{ref.get('kind', '').lower()}/{ref.get('name', '')}"


def _event_seen(obj: Obj) -> str:
    series = obj.get("series") or {}
    return age_since(
        series.get("lastObservedTime")
        or obj.get("lastTimestamp")
        or obj.get("eventTime")
        or obj.get("firstTimestamp")
    )


def _default_class(obj: Obj) -> str:
    key = "storageclass.kubernetes.io/is-default-class"
    mark = " (default)" if annotations_of(obj).get(key) == "true" else ""
    return name_of(obj) + mark


def _job_state(obj: Obj) -> str:
    for one in obj["status"].get("conditions") or ():
        if one["type"] in {"Complete", "Failed"} and one["status"] == "True":
            return str(one["type"])
    return "Running"


def _completions(obj: Obj) -> str:
    done = obj["status"].get("succeeded", 0)
    return f"{done}/{obj['spec'].get('completions', 1)}"


def _roles(obj: Obj) -> str:
    prefix = "node-role.kubernetes.io/"
    found = [
        k.removeprefix(prefix) for k in labels_of(obj) if k.startswith(prefix)
    ]
    return ",".join(sorted(found)) or "<none>"


def _internal_address(obj: Obj) -> str:
    for one in (obj.get("status") or {}).get("addresses") or ():
        if one["type"] == "InternalIP":
            return str(one["address"])
    return "<none>"


def _pod_columns() -> Sequence[_Column]:
    return (
        ("Name", 0, name_of),
        ("Ready", 0, pod_columns.ready),
        ("Status", 0, pod_columns.status),
        ("Restarts", 0, pod_columns.restarts),
        ("Age", 0, _age),
        ("IP", 1, _at("status.podIP")),
        ("Node", 1, _at("spec.nodeName")),
        ("Nominated Node", 1, _at("status.nominatedNodeName")),
        ("Readiness Gates", 1, lambda _: "<none>"),
    )


_NAME: _Column = ("Name", 0, name_of)
_AGE: _Column = ("Age", 0, _age)
_WIDE: Sequence[_Column] = (
    ("Containers", 1, _containers),
    ("Images", 1, _images),
    ("Selector", 1, _selector),
)
_COLUMNS: Mapping[str, Sequence[_Column]] = {
    "pods.": _pod_columns(),
    "deployments.apps": (
        _NAME,
        ("Ready", 0, _ready),
        ("Up-to-date", 0, _at("status.updatedReplicas", 0)),
        ("Available", 0, _at("status.availableReplicas", 0)),
        _AGE,
        *_WIDE,
    ),
    "replicasets.apps": (
        _NAME,
        ("Desired", 0, _at("spec.replicas", 0)),
        ("Current", 0, _at("status.replicas", 0)),
        ("Ready", 0, _at("status.readyReplicas", 0)),
        _AGE,
        *_WIDE,
    ),
    "statefulsets.apps": (_NAME, ("Ready", 0, _ready), _AGE, *_WIDE[:2]),
    "daemonsets.apps": (
        _NAME,
        ("Desired", 0, _at("status.desiredNumberScheduled", 0)),
        ("Current", 0, _at("status.currentNumberScheduled", 0)),
        ("Ready", 0, _at("status.numberReady", 0)),
        ("Up-to-date", 0, _at("status.updatedNumberScheduled", 0)),
        ("Available", 0, _at("status.numberAvailable", 0)),
        (
            "Node Selector",
            0,
            lambda o: (
                ",".join(
                    f"{k}={v}"
                    for k, v in sorted(
                        (
                            o["spec"]["template"]["spec"].get("nodeSelector")
                            or {}
                        ).items()
                    )
                )
                or "<none>"
            ),
        ),
        _AGE,
        *_WIDE,
    ),
    "jobs.batch": (
        _NAME,
        ("Status", 0, _job_state),
        ("Completions", 0, _completions),
        ("Duration", 0, lambda o: age_since(o["status"].get("startTime"))),
        _AGE,
        *_WIDE,
    ),
    "nodes.": (
        _NAME,
        ("Status", 0, _node_status),
        ("Roles", 0, _roles),
        _AGE,
        ("Version", 0, _at("status.nodeInfo.kubeletVersion")),
        ("Internal-IP", 1, _internal_address),
        ("External-IP", 1, lambda _: "<none>"),
        ("OS-Image", 1, _at("status.nodeInfo.osImage")),
        ("Kernel-Version", 1, _at("status.nodeInfo.kernelVersion")),
        (
            "Container-Runtime",
            1,
            _at("status.nodeInfo.containerRuntimeVersion"),
        ),
    ),
    "services.": (
        _NAME,
        ("Type", 0, _at("spec.type")),
        ("Cluster-IP", 0, _at("spec.clusterIP")),
        ("External-IP", 0, _at("spec.externalName")),
        ("Port(s)", 0, _service_ports),
        _AGE,
        ("Selector", 1, _service_selector),
    ),
    "namespaces.": (_NAME, ("Status", 0, _at("status.phase")), _AGE),
    "configmaps.": (_NAME, ("Data", 0, _data_count), _AGE),
    "secrets.": (
        _NAME,
        ("Type", 0, _at("type")),
        ("Data", 0, _data_count),
        _AGE,
    ),
    "persistentvolumeclaims.": (
        _NAME,
        ("Status", 0, _at("status.phase")),
        ("Volume", 0, _at("spec.volumeName", "")),
        ("Capacity", 0, _at("status.capacity.storage", "")),
        ("Access Modes", 0, _access),
        ("StorageClass", 0, _at("spec.storageClassName", "")),
        _AGE,
    ),
    "persistentvolumes.": (
        _NAME,
        ("Capacity", 0, _at("spec.capacity.storage")),
        ("Access Modes", 0, _access),
        ("Reclaim Policy", 0, _at("spec.persistentVolumeReclaimPolicy")),
        ("Status", 0, _at("status.phase")),
        ("Claim", 0, _claim),
        ("StorageClass", 0, _at("spec.storageClassName", "")),
        _AGE,
    ),
    "storageclasses.storage.k8s.io": (
        ("Name", 0, _default_class),
        ("Provisioner", 0, _at("provisioner")),
        ("ReclaimPolicy", 0, _at("reclaimPolicy")),
        ("VolumeBindingMode", 0, _at("volumeBindingMode")),
        (
            "AllowVolumeExpansion",
            0,
            _at("allowVolumeExpansion", default=False),
        ),
        _AGE,
    ),
    "poddisruptionbudgets.policy": (
        _NAME,
        ("Min Available", 0, _at("spec.minAvailable", "N/A")),
        ("Max Unavailable", 0, _at("spec.maxUnavailable", "N/A")),
        ("Allowed Disruptions", 0, _at("status.disruptionsAllowed", 0)),
        _AGE,
    ),
    "events.": (
        ("Last Seen", 0, _event_seen),
        ("Type", 0, _at("type")),
        ("Reason", 0, _at("reason")),
        ("Object", 0, _event_object),
        ("Message", 0, lambda o: (o.get("message") or "").strip()),
        ("Name", 1, name_of),
    ),
}
_DEFAULT_COLUMNS: Sequence[_Column] = (_NAME, _AGE)


def _definition(column: _Column) -> Obj:
    name, priority, _ = column
    return {
        "name": name,
        "type": "string",
        "format": "name" if name == "Name" else "",
        "description": name,
        "priority": priority,
    }


def table(
    kind: Kind, objects: Sequence[Obj], metadata: Obj, *, whole: bool = False
) -> Obj:
    """Return a Table of objects."""
    columns = _COLUMNS.get(kind.key, _DEFAULT_COLUMNS)
    rows = [
        {
            "cells": [read(obj) for _, _, read in columns],
            "object": obj
            if whole
            else {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"],
            },
        }
        for obj in objects
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": rows,
    }
