"""Assignment of VDUs to the clusters that a VNF may use."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes.manifests import Rendered, parameters_of
from tacker_cnf.lcm import grant_overrides
from tacker_cnf.lcm.change import flavour_of
from tacker_cnf.sol.vnf_instance import InstantiationState

#: VDU -> key of vimConnectionInfo
ClusterAssignment = Mapping[str, str]


def assign_clusters(task: InfraTask) -> ClusterAssignment:
    """Return the cluster of each VDU. A running VDU stays where it is; others
    are assigned by the grant, then by the request, else to the first cluster.

    :raises InvalidParameters: a VDU or a cluster is unknown
    """
    state = task.change.state
    vdus = flavour_of(task.package.vnfd, state.flavour_id).vdus
    requested = parameters_of(state).vim_connections
    by_grant = _assignment_from_grant(task)
    if task.change.desired:  # else it was checked at instantiation
        _check("additionalParams.vim_connections", requested, vdus, task)
        _check("The grant's addResources", by_grant, vdus, task)
    return assign(vdus, {**requested, **by_grant}, task.vim_connections)


def assign(
    vdus: Iterable[str],
    requested: ClusterAssignment,
    clusters: Collection[str],
) -> ClusterAssignment:
    """Return the cluster of each VDU: the requested one if the VNF may use it,
    else the first.
    """
    first, *_ = clusters
    return {
        vdu: requested[vdu] if requested.get(vdu) in clusters else first
        for vdu in vdus
    }


def _assignment_from_grant(task: InfraTask) -> ClusterAssignment:
    """Return the clusters that the grant assigns to VDUs not yet running.

    :raises InvalidParameters: the grant assigns one VDU to several clusters
    """
    if task.instance.instantiation_state == InstantiationState.INSTANTIATED:
        return {}
    assignment = grant_overrides.vim_connections_by_vdu(
        task.grant_request, task.grant
    )
    for vdu, keys in assignment.items():
        if len(keys) > 1 and task.change.desired:
            raise errors.InvalidParameters(
                f"The grant's addResources: VDU {vdu} is one workload, and "
                f"cannot be on several clusters ({', '.join(sorted(keys))})."
            )
    return {vdu: min(keys) for vdu, keys in assignment.items()}


def _check(
    source: str,
    requested: ClusterAssignment,
    vdus: Mapping[str, object],
    task: InfraTask,
) -> None:
    for vdu, key in requested.items():
        if vdu not in vdus:
            raise errors.InvalidParameters(
                f"{source}: there is no VDU {vdu!r}, only "
                f"{', '.join(sorted(vdus))}."
            )
        if key not in task.vim_connections:
            raise errors.InvalidParameters(
                f"{source}: VDU {vdu} is to be on {key!r}, and "
                "vimConnectionInfo has only "
                f"{', '.join(sorted(task.vim_connections))}."
            )


def split(
    rendered: Rendered, assignment: ClusterAssignment
) -> Mapping[str, Rendered]:
    """Return what each cluster gets: the workloads of its VDUs, and all
    objects that belong to no VDU.
    """
    used = list(dict.fromkeys(assignment[vdu] for vdu in rendered.workloads))
    return {
        key: dataclasses.replace(
            rendered,
            objects=tuple(
                manifest
                for manifest in rendered.objects
                if assignment.get(manifest.vdu_id or "", key) == key
            ),
        )
        for key in used or sorted(set(assignment.values()))[:1]
    }
