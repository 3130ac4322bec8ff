"""Selects the VNFCs that a scale-in removes."""

import collections
from collections.abc import Iterator

from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stacks import Resource, Stack


def members_to_remove(
    stack_task: StackTask, stack: Stack, task: InfraTask
) -> list[Resource]:
    """Return the group members to mark unhealthy for their removal.

    A group that shrinks removes unhealthy members first, then the oldest. A
    ResourceGroup always removes the highest index and would replace marked
    members, so that its members are left out.

    :raises InfraError: the stack cannot be read
    """
    assert task.target is not None
    assert task.current is not None
    has_fewer = any(
        task.target.counts.get(vdu, 0) < count
        for vdu, count in task.current.counts.items()
    )
    found = stack_task.vnfcs(stack) if has_fewer else []
    return [
        vnfc.member
        for vnfc in vnfcs_to_remove(found, task)
        if vnfc.member and vnfc.group_index is None
    ]


def vnfcs_to_remove(found: list[Vnfc], task: InfraTask) -> Iterator[Vnfc]:
    """Return the VNFCs to remove: those in the grant request, or those added
    by the operation that is rolled back; else the last created.

    :param found: by VDU, the last created first
    """
    assert task.target is not None
    counts = collections.Counter(vnfc.vdu_id for vnfc in found)
    for vdu, count in counts.items():
        excess = count - task.target.counts.get(vdu, 0)
        if excess <= 0:
            continue
        of_vdu = [vnfc for vnfc in found if vnfc.vdu_id == vdu]
        of_vdu.sort(key=lambda vnfc: not _is_to_remove(vnfc, task))
        yield from of_vdu[:excess]


def _is_to_remove(vnfc: Vnfc, task: InfraTask) -> bool:
    if task.is_rollback:
        info = task.instance.instantiated_vnf_info
        previous_vnfcs = info.vnfc_resource_info if info else ()
        return all(vnfc.id != previous.id for previous in previous_vnfcs)
    removed = task.grant_request.remove_resources if task.grant_request else ()
    return any(
        r.resource and r.resource.resource_id == vnfc.id for r in removed
    )
