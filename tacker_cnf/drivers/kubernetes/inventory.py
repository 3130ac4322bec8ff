"""The resources of an instance in a cluster, as SOL003 types."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import VDU_LABEL, Rendered
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

#: key of the instance's metadata: the kinds of which it may have objects
OBJECT_KINDS_KEY: Final = "object_kinds"
#: kind of a VDU -> kind of the controller of its pods
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
    """List the VNFCs of an instance in a cluster.

    :param key: of the cluster in vimConnectionInfo
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
    """Return the VNFCs among some pods, in the order of their creation."""
    living_pods = sorted(filter(is_living, pods), key=_age)
    return tuple(
        _vnfc(pod, kind, key)
        for pod in living_pods
        if (kind := _kind(pod, rendered)) is not None
    )


def instance_metadata(
    rendered: Rendered, assignment: Mapping[str, str]
) -> Object:
    """Return the metadata of an instance that later operations need:
    namespace, tenant, lcm-kubernetes-def-files, object_kinds
    ([[apiVersion, kind]]), vdu_reses (VDU -> manifest), and where they are
    used, vdu_mapping and vim_connections.

    :param assignment: VDU -> key of vimConnectionInfo; empty if there is only
        one cluster
    """
    metadata: Object = {
        "namespace": rendered.namespace,
        "tenant": rendered.namespace,
        "lcm-kubernetes-def-files": list(rendered.def_files),
        OBJECT_KINDS_KEY: list_kinds(rendered),
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


def list_kinds(rendered: Rendered) -> list[list[str]]:
    """Return [apiVersion, kind] of all objects that an instance may have."""
    return [list(kind) for kind in sorted(rendered.kinds)]


def is_living(pod: Object) -> bool:
    """Return whether a pod was not deleted and has not ended."""
    phase = pod.get("status", {}).get("phase")
    has_ended = phase in {"Succeeded", "Failed"}
    return "deletionTimestamp" not in pod["metadata"] and not has_ended


def controller_of(body: Object) -> Object | None:
    """Return the ownerReference of the object's controller; None: no
    controller.
    """
    owners = body["metadata"].get("ownerReferences", ())
    return next((owner for owner in owners if owner.get("controller")), None)


def vdu_of(pod: Object) -> str | None:
    """Return the VDU in the label of a pod."""
    vdu: str | None = pod["metadata"].get("labels", {}).get(VDU_LABEL)
    return vdu


def _age(pod: Object) -> tuple[str, str]:
    meta = pod["metadata"]
    return meta.get("creationTimestamp", ""), meta["name"]


def _kind(pod: Object, rendered: Rendered) -> str | None:
    """Return the kind of the VDU that a pod belongs to; None: to no VDU.

    The pod needs the label of the VDU and the controller of its workload:
    labels may be copied to other pods.
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
