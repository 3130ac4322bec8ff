"""Which VDU lives on which of the clusters that a VNF may use."""

import dataclasses
from collections.abc import Mapping

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes.manifests import Rendered, parameters_of
from tacker_cnf.lcm import grant_overrides
from tacker_cnf.lcm.target import Target, flavour_of
from tacker_cnf.sol.vnf_instance import InstantiationState

#: VDU -> key of vimConnectionInfo
ClusterAssignment = Mapping[str, str]


def assign_clusters(task: InfraTask, target: Target) -> ClusterAssignment:
    """Tell where the VDUs are, or are to be: a VDU that runs stays where it
    is. Else the grant says it, then the request, and by default it is the
    first cluster.

    :raises InvalidParameters: an unknown VDU, or no such cluster
    """
    vdus = flavour_of(task.package.vnfd, target.flavour_id).vdus
    requested = parameters_of(target).vim_connections
    by_grant = _assignment_from_grant(task)
    if task.target:  # else nothing was made where nothing can be
        _check("additionalParams.vim_connections", requested, vdus, task)
        _check("The grant's addResources", by_grant, vdus, task)
    first, *_ = task.vim_connections
    assigned = {
        vdu: key
        for vdu, key in {**requested, **by_grant}.items()
        if key in task.vim_connections
    }
    return {vdu: assigned.get(vdu, first) for vdu in vdus}


def _assignment_from_grant(task: InfraTask) -> ClusterAssignment:
    """Tell what the grant says of VDUs that do not run yet."""
    if task.instance.instantiation_state == InstantiationState.INSTANTIATED:
        return {}
    assignment = grant_overrides.vim_connections_by_vdu(
        task.grant_request, task.grant
    )
    for vdu, keys in assignment.items():
        if len(keys) > 1 and task.target:
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
    """Tell what is to be on each cluster that is used: the workloads of its
    VDUs, and all that is no VDU's.
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
