"""Selects the VNFCs that a scale-in removes."""

import collections
from collections.abc import Iterator

from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stacks import Resource, Stack
from tacker_cnf.lcm.change import Change, State
from tacker_cnf.sol.grant import GrantRequest


def members_to_remove(
    stack_task: StackTask,
    stack: Stack,
    change: Change,
    grant_request: GrantRequest | None,
) -> list[Resource]:
    """Return the group members to mark unhealthy for their removal.

    A group that shrinks removes unhealthy members first, then the oldest. A
    ResourceGroup always removes the highest index and would replace marked
    members, so that its members are left out.

    :raises InfraError: the stack cannot be read
    """
    assert change.desired is not None
    assert change.current is not None
    has_fewer = any(
        change.desired.counts.get(vdu, 0) < count
        for vdu, count in change.current.counts.items()
    )
    found = stack_task.vnfcs(stack) if has_fewer else []
    return [
        vnfc.member
        for vnfc in vnfcs_to_remove(found, change.desired, grant_request)
        if vnfc.member and vnfc.group_index is None
    ]


def vnfcs_to_remove(
    found: list[Vnfc], desired: State, grant_request: GrantRequest | None
) -> Iterator[Vnfc]:
    """Return the VNFCs to remove: those that a state to be restored did not
    have, or those in the grant request; else the last created.

    :param found: by VDU, the last created first
    """
    counts = collections.Counter(vnfc.vdu_id for vnfc in found)
    for vdu, count in counts.items():
        excess = count - desired.counts.get(vdu, 0)
        if excess <= 0:
            continue
        of_vdu = [vnfc for vnfc in found if vnfc.vdu_id == vdu]
        of_vdu.sort(
            key=lambda vnfc: not _is_to_remove(vnfc, desired, grant_request)
        )
        yield from of_vdu[:excess]


def _is_to_remove(
    vnfc: Vnfc, desired: State, grant_request: GrantRequest | None
) -> bool:
    if desired.vnfcs is not None:
        return all(vnfc.id != previous.id for previous in desired.vnfcs)
    removed = grant_request.remove_resources if grant_request else ()
    return any(
        r.resource and r.resource.resource_id == vnfc.id for r in removed
    )
