"""Nodes: their objects, conditions and taints."""

from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.objects import Obj, now

KEY = "nodes."
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
DEFAULT_PODS = 1000
_HEALTHY = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "sufficient memory"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "sufficient PID"),
)


def node_name(number: int) -> str:
    """Return the name of a node; the first has number 1."""
    return f"sandbox-node-{number}"


def address_of(number: int) -> str:
    """Return the address of a node."""
    return f"10.200.{number // 200}.{10 + number % 200}"


def _conditions() -> list[Obj]:
    moment = now()
    conditions = [
        {
            "type": kind,
            "status": "False",
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
            "reason": reason,
            "message": f"kubelet has {message} available"
            if "no " not in message
            else f"kubelet has {message}",
        }
        for kind, reason, message in _HEALTHY
    ]
    return [*conditions, ready_condition()]


def ready_condition() -> Obj:
    """Build the Ready condition of a node whose kubelet reports."""
    moment = now()
    return {
        "type": "Ready",
        "status": "True",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    }


def unknown_condition() -> Obj:
    """Build the Ready condition of a node whose kubelet does not report."""
    moment = now()
    return {
        "type": "Ready",
        "status": "Unknown",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }


def _node(number: int) -> Obj:
    name = node_name(number)
    size = {"cpu": "32", "memory": "128Gi", "pods": str(DEFAULT_PODS)}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "spec": {},
        "status": {
            "capacity": dict(size),
            "allocatable": dict(size),
            "conditions": _conditions(),
            "addresses": [
                {"type": "InternalIP", "address": address_of(number)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "machineID": name,
                "systemUUID": name,
                "bootID": name,
                "kernelVersion": "6.12",
                "osImage": "Sandbox",
                "containerRuntimeVersion": "sandbox://1",
                "kubeletVersion": "v1.36.2",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def make(context: ControllerContext, count: int) -> None:
    """Create the nodes of a new cluster."""
    for number in range(1, count + 1):
        context.api.create(context.kind(KEY), "", _node(number))


def is_ready(node: Obj) -> bool:
    """Return whether a node is Ready."""
    for one in (node.get("status") or {}).get("conditions") or ():
        if one["type"] == "Ready":
            return bool(one["status"] == "True")
    return False


def internal_address(node: Obj) -> str:
    """Return the InternalIP of a node."""
    for one in (node.get("status") or {}).get("addresses") or ():
        if one["type"] == "InternalIP":
            return str(one["address"])
    return ""


def tolerates(spec: Obj, taint: Obj) -> bool:
    """Return whether a pod spec tolerates a taint."""
    for one in spec.get("tolerations") or ():
        if one.get("effect") not in {None, "", taint["effect"]}:
            continue
        if one.get("operator", "Equal") == "Exists":
            if one.get("key") in {None, "", taint["key"]}:
                return True
        elif (one.get("key"), one.get("value", "")) == (
            taint["key"],
            taint.get("value", ""),
        ):
            return True
    return False


def untolerated_taints(node: Obj, spec: Obj) -> list[Obj]:
    """List the taints of a node that a pod spec does not tolerate."""
    return [
        taint
        for taint in node["spec"].get("taints") or ()
        if taint["effect"] in {"NoSchedule", "NoExecute"}
        and not tolerates(spec, taint)
    ]
