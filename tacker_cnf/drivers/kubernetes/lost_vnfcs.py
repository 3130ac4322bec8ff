"""VNFCs whose object in the cluster was deleted by another client.

Only a heal creates a bare Pod, or a whole workload, again. Pods of an existing
workload are not lost: its controller replaces them, a StatefulSet under the
same names, others under new ones.
"""

from collections.abc import Iterable, Iterator

import msgspec

from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import Manifest, Rendered
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.lcm.vnfc_ids import LOST
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo


def find(
    cluster: Cluster,
    rendered: Rendered,
    previous_vnfcs: Iterable[VnfcResourceInfo],
    found: Iterable[VnfcResourceInfo],
) -> Iterator[VnfcResourceInfo]:
    """Find the lost VNFCs of an instance in a cluster, and mark them as lost.

    :param previous_vnfcs: VNFCs that the instance had
    :param found: VNFCs of its living pods
    """
    living = {(vnfc.vdu_id, vnfc.id) for vnfc in found}
    missing = [v for v in previous_vnfcs if (v.vdu_id, v.id) not in living]
    vdus_with_pods = {vdu for vdu, _ in living}
    for vdu in dict.fromkeys(vnfc.vdu_id for vnfc in missing):
        manifest = rendered.workloads.get(vdu)
        if manifest is None or not rendered.exists(manifest):
            continue
        if vdu in vdus_with_pods and manifest.kind != "StatefulSet":
            continue
        workload = None
        if manifest.kind != "Pod":
            workload = read_workload(cluster, rendered, manifest)
        for vnfc in missing:
            if vnfc.vdu_id == vdu and _is_lost(vnfc, workload):
                yield _mark_lost(vnfc)


def read_workload(
    cluster: Cluster, rendered: Rendered, manifest: Manifest
) -> Object | None:
    """Read the workload of a VDU; None: not found, or being deleted."""
    resource = cluster.kind(manifest.api_version, manifest.kind)
    body = cluster.get(resource, manifest.name, rendered.namespace)
    deleted = body is None or "deletionTimestamp" in body["metadata"]
    return None if deleted else body


def _is_lost(vnfc: VnfcResourceInfo, workload: Object | None) -> bool:
    if workload is None:
        return True
    is_stateful = workload["kind"] == "StatefulSet"
    return is_stateful and vnfc.id in _stateful_names(workload)


def _stateful_names(workload: Object) -> Iterator[str]:
    """Yield the names of the pods that a StatefulSet has or will create."""
    spec = workload["spec"]
    start = (spec.get("ordinals") or {}).get("start", 0)
    for number in range(start, start + spec.get("replicas", 1)):
        yield f"{workload['metadata']['name']}-{number}"


def _mark_lost(vnfc: VnfcResourceInfo) -> VnfcResourceInfo:
    return msgspec.structs.replace(
        vnfc, metadata={**vnfc.metadata, LOST: True}
    )
