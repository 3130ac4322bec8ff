"""Which VNFCs go when there are to be fewer."""

import collections
from collections.abc import Iterator

from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.drivers.openstack.work import Work


def mark_leaving(work: Work, stack: Stack, task: InfraTask) -> None:
    """Mark the members of groups that are to go: a group that shrinks takes
    the unhealthy first, and of the others the oldest.

    :raises InfraError: Heat could not
    """
    assert task.target is not None
    assert task.current is not None
    less = any(
        task.target.counts.get(vdu, 0) < count
        for vdu, count in task.current.counts.items()
    )
    if less:
        found = work.vnfcs(stack)
        work.mark(v.member for v in leaving(found, task) if v.member)


def leaving(found: list[Vnfc], task: InfraTask) -> Iterator[Vnfc]:
    """Tell the VNFCs that go: those of which the NFVO was told so, or that
    the undone operation has added; else the last registered.

    :param found: the last registered of each VDU first
    """
    assert task.target is not None
    counts = collections.Counter(vnfc.vdu_id for vnfc in found)
    for vdu, count in counts.items():
        excess = count - task.target.counts.get(vdu, 0)
        if excess <= 0:
            continue
        of_vdu = [vnfc for vnfc in found if vnfc.vdu_id == vdu]
        of_vdu.sort(key=lambda vnfc: not _is_doomed(vnfc, task))
        yield from of_vdu[:excess]


def _is_doomed(vnfc: Vnfc, task: InfraTask) -> bool:
    if task.rolls_back:
        info = task.instance.instantiated_vnf_info
        known = info.vnfc_resource_info if info else ()
        return all(vnfc.id != one.id for one in known)
    asked = task.grant_request.remove_resources if task.grant_request else ()
    return any(r.resource and r.resource.resource_id == vnfc.id for r in asked)
