"""Servers that go before there is another in their place.

Heat makes the new server before it deletes the old one, and a volume can be
at one of them only. (Cinder's multiattach types allow both, and two systems
that write to one file system destroy it.)
"""

from collections.abc import Sequence
from typing import Protocol

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.inventory import SERVER
from tacker_cnf.drivers.openstack.nova import Server
from tacker_cnf.drivers.openstack.stack_wait import Pace
from tacker_cnf.drivers.openstack.stacks import Resource, Tree
from tacker_cnf.drivers.openstack.work import Work


class Servers(Protocol):
    """What knows the servers of a VIM."""

    def is_there(self) -> bool:
        """Tell whether the VIM can be asked at all."""

    def find(self, server: str) -> Server | None:
        """Find a server by its id; None: it has gone."""

    def delete(self, server: str) -> None:
        """Begin to delete a server; if it has gone, that is well."""


def wanted(nova: Servers, marks: Sequence[Resource]) -> list[Resource]:
    """Choose the servers that are to go first: those with volumes that stay,
    and those that an earlier try, or somebody else, has deleted.

    :param marks: all that is made anew
    :raises InfraError: Nova could not tell
    """
    going = {mark.physical_id for mark in marks}
    servers = [mark for mark in marks if mark.type == SERVER]
    if not servers or not nova.is_there():
        return []
    return [
        server
        for server in servers
        if _goes_first(nova.find(server.physical_id), going)
    ]


def gone(nova: Servers, tree: Tree) -> frozenset[str]:
    """Find the servers that Heat lists, with a fault, and Nova has deleted.

    :raises InfraError: Nova could not tell
    """
    faulty = [
        server.physical_id
        for server in tree.of_type(SERVER)
        if server.status.endswith("_FAILED")
    ]
    if not faulty or not nova.is_there():
        return frozenset()
    return frozenset(one for one in faulty if nova.find(one) is None)


def _goes_first(server: Server | None, going: set[str]) -> bool:
    return server is None or any(
        volume.id not in going and not volume.delete_on_termination
        for volume in server.volumes
    )


def carry_out(work: Work, nova: Servers, servers: Sequence[Resource]) -> None:
    """Delete servers and wait until they have gone.

    :raises InfraError: Nova could not, or not in time
    """
    for server in servers:
        _delete(work, nova, server)
    pace = Pace(work.heat, work.waiter.deadline)
    for server in servers:
        while (found := nova.find(server.physical_id)) is not None:
            _check(server, found, work)
            pace.rest()


def _delete(work: Work, nova: Servers, server: Resource) -> None:
    """Mark a server, and delete it. One that goes stays marked: whatever
    updates its stack next makes it anew.
    """
    try:
        work.mark(server)
        nova.delete(server.physical_id)
    except errors.VnfmError:
        if _stays(nova, server):
            work.unmark([server])
        raise


def _stays(nova: Servers, server: Resource) -> bool:
    try:
        found = nova.find(server.physical_id)
    except errors.VnfmError:
        return False
    return found is not None and found.task != "deleting"


def _check(resource: Resource, server: Server, work: Work) -> None:
    """Make sure that it is worth to wait on for a server's end.

    :raises NotReady: it is not
    """
    what = f"server {resource.name} ({resource.physical_id})"
    if server.has_failed:
        raise errors.NotReady(
            f"Nova could not delete {what}: "
            f"{server.fault.message or 'it tells no reason'}"
        )
    if work.waiter.deadline.passed:
        raise errors.NotReady(f"Nova has not deleted {what} in time.")
