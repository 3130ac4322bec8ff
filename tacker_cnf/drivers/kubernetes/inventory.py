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
KINDS: Final = "object_kinds"
#: a VDU's kind -> the kind that its pods say controls them
CONTROLLERS: Final[Mapping[str, str | None]] = {
    "Deployment": "ReplicaSet",
    "ReplicaSet": "ReplicaSet",
    "StatefulSet": "StatefulSet",
    "DaemonSet": "DaemonSet",
    "Pod": None,
}


def read(
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
    return of_pods(pods, rendered, key)


def of_pods(
    pods: Iterable[Object], rendered: Rendered, key: str
) -> tuple[VnfcResourceInfo, ...]:
    """Tell the pods that are VNFCs, in the order of their creation."""
    living = sorted(filter(is_living, pods), key=_age)
    return tuple(
        _vnfc(pod, kind, key)
        for pod in living
        if (kind := _kind(pod, rendered)) is not None
    )


def described(rendered: Rendered, places: Mapping[str, str]) -> Object:
    """Tell what later operations have to know of an instance.

    :param places: VDU -> key of vimConnectionInfo; none where there is but
        one
    """
    told: Object = {
        "namespace": rendered.namespace,
        "tenant": rendered.namespace,
        "lcm-kubernetes-def-files": list(rendered.def_files),
        KINDS: [list(kind) for kind in sorted(rendered.kinds)],
        "vdu_reses": {
            vdu: manifest.body for vdu, manifest in rendered.workloads.items()
        },
    }
    if rendered.vdu_mapping:
        told["vdu_mapping"] = msgspec.to_builtins(rendered.vdu_mapping)
    return {**told, "vim_connections": dict(places)} if places else told


def is_living(pod: Object) -> bool:
    """Tell whether a pod is to stay: it was neither deleted nor has ended."""
    phase = pod.get("status", {}).get("phase")
    ended = phase in {"Succeeded", "Failed"}
    return "deletionTimestamp" not in pod["metadata"] and not ended


def has_controller(body: Object) -> bool:
    """Check whether another object owns this one, and controls it."""
    owners = body["metadata"].get("ownerReferences", ())
    return any(owner.get("controller") for owner in owners)


def _age(pod: Object) -> tuple[str, str]:
    meta = pod["metadata"]
    return meta.get("creationTimestamp", ""), meta["name"]


def _kind(pod: Object, rendered: Rendered) -> str | None:
    """Tell what kind of VDU a pod is of; None: of none.

    The label says which VDU, the owner that its workload made it and not
    somebody who copied the labels.
    """
    meta = pod["metadata"]
    vdu = meta.get("labels", {}).get(VDU_LABEL)
    workload = rendered.workloads.get(vdu)
    if workload is None:
        return None
    owners = [
        owner["kind"]
        for owner in meta.get("ownerReferences", ())
        if owner.get("controller")
    ]
    expected = CONTROLLERS[workload.kind]
    return (
        workload.kind if owners == ([expected] if expected else []) else None
    )


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
