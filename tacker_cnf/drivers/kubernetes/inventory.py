"""What an instance has in a cluster, as SOL003 tells it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import VDU_LABEL, Rendered
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

Object = dict[str, Any]

#: where metadata tells of which kinds an instance may have objects
OBJECT_KINDS_KEY: Final = "object_kinds"
#: a VDU's kind -> the kind that its pods say controls them
CONTROLLERS: Final[Mapping[str, str | None]] = {
    "Deployment": "ReplicaSet",
    "ReplicaSet": "ReplicaSet",
    "StatefulSet": "StatefulSet",
    "DaemonSet": "DaemonSet",
    "Pod": None,
}


def list_vnfcs(
    cluster: Cluster, rendered: Rendered, key: str
) -> tuple[VnfcResourceInfo, ...]:
    """Take the inventory of an instance in one cluster.

    :param key: by which vimConnectionInfo names the cluster
    """
    pods = cluster.list(
        cluster.kind("v1", "Pod"),
        rendered.namespace,
        label_selector=rendered.selector,
    )["items"]
    return vnfcs_from_pods(pods, rendered, key)


def vnfcs_from_pods(
    pods: Iterable[Object], rendered: Rendered, key: str
) -> tuple[VnfcResourceInfo, ...]:
    """Tell the pods that are VNFCs, in the order of their creation."""
    living_pods = sorted(filter(is_living, pods), key=_age)
    return tuple(
        _vnfc(pod, kind, key)
        for pod in living_pods
        if (kind := _kind(pod, rendered)) is not None
    )


def instance_metadata(
    rendered: Rendered, assignment: Mapping[str, str]
) -> Object:
    """Tell what later operations have to know of an instance.

    :param assignment: VDU -> key of vimConnectionInfo; none where there is but
        one
    """
    metadata: Object = {
        "namespace": rendered.namespace,
        "tenant": rendered.namespace,
        "lcm-kubernetes-def-files": list(rendered.def_files),
        OBJECT_KINDS_KEY: [list(kind) for kind in sorted(rendered.kinds)],
        "vdu_reses": {
            vdu: manifest.body for vdu, manifest in rendered.workloads.items()
        },
    }
    if rendered.vdu_mapping:
        metadata["vdu_mapping"] = msgspec.to_builtins(rendered.vdu_mapping)
    return (
        {**metadata, "vim_connections": dict(assignment)}
        if assignment
        else metadata
    )


def is_living(pod: Object) -> bool:
    """Tell whether a pod is to stay: it was neither deleted nor has ended."""
    phase = pod.get("status", {}).get("phase")
    has_ended = phase in {"Succeeded", "Failed"}
    return "deletionTimestamp" not in pod["metadata"] and not has_ended


def controller_of(body: Object) -> Object | None:
    """Return the ownerReference of the object that controls this one."""
    owners = body["metadata"].get("ownerReferences", ())
    return next((one for one in owners if one.get("controller")), None)


def vdu_of(pod: Object) -> str | None:
    """Return the VDU that a pod is labelled with."""
    vdu: str | None = pod["metadata"].get("labels", {}).get(VDU_LABEL)
    return vdu


def _age(pod: Object) -> tuple[str, str]:
    meta = pod["metadata"]
    return meta.get("creationTimestamp", ""), meta["name"]


def _kind(pod: Object, rendered: Rendered) -> str | None:
    """Tell what kind of VDU a pod is of; None: of none.

    The label says which VDU, the owner that its workload made it and not
    somebody who copied the labels.
    """
    workload = rendered.workloads.get(vdu_of(pod) or "")
    if workload is None:
        return None
    controller = controller_of(pod)
    kind = controller["kind"] if controller else None
    return workload.kind if kind == CONTROLLERS[workload.kind] else None


def _vnfc(pod: Object, kind: str, key: str) -> VnfcResourceInfo:
    meta = pod["metadata"]
    return VnfcResourceInfo(
        id=meta["name"],
        vdu_id=meta["labels"][VDU_LABEL],
        compute_resource=ResourceHandle(
            vim_connection_id=key,
            resource_id=meta["name"],
            vim_level_resource_type=kind,
        ),
        metadata={"uid": meta["uid"]},
    )
