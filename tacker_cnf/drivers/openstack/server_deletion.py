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
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stack_wait import PollBackoff
from tacker_cnf.drivers.openstack.stacks import Resource, Tree


class Servers(Protocol):
    """What knows the servers of a VIM."""

    def is_available(self) -> bool:
        """Tell whether the VIM can be asked at all."""

    def find(self, server: str) -> Server | None:
        """Find a server by its id; None: it has gone."""

    def delete(self, server: str) -> None:
        """Begin to delete a server; if it has gone, that is well."""


def servers_to_delete_first(
    nova: Servers, to_replace: Sequence[Resource]
) -> list[Resource]:
    """Choose the servers that are to go first: those with volumes that stay,
    and those that an earlier try, or somebody else, has deleted.

    :param to_replace: all that is made anew
    :raises InfraError: Nova could not tell
    """
    replaced_ids = {mark.physical_id for mark in to_replace}
    servers = [mark for mark in to_replace if mark.type == SERVER]
    if not servers or not nova.is_available():
        return []
    return [
        server
        for server in servers
        if _must_be_deleted_first(nova.find(server.physical_id), replaced_ids)
    ]


def find_deleted(nova: Servers, tree: Tree) -> frozenset[str]:
    """Find the servers that Heat lists, with a fault, and Nova has deleted.

    :raises InfraError: Nova could not tell
    """
    faulty = [
        server.physical_id
        for server in tree.of_type(SERVER)
        if server.status.endswith("_FAILED")
    ]
    if not faulty or not nova.is_available():
        return frozenset()
    return frozenset(one for one in faulty if nova.find(one) is None)


def _must_be_deleted_first(
    server: Server | None, replaced_ids: set[str]
) -> bool:
    return server is None or any(
        volume.id not in replaced_ids and not volume.delete_on_termination
        for volume in server.volumes
    )


def delete_and_wait(
    stack_task: StackTask, nova: Servers, servers: Sequence[Resource]
) -> None:
    """Delete servers and wait until they have gone.

    :raises InfraError: Nova could not, or not in time
    """
    for server in servers:
        _delete(stack_task, nova, server)
    backoff = PollBackoff(stack_task.heat, stack_task.waiter.deadline)
    for server in servers:
        while (found := nova.find(server.physical_id)) is not None:
            _check_progress(server, found, stack_task)
            backoff.wait()


def _delete(stack_task: StackTask, nova: Servers, server: Resource) -> None:
    """Mark a server, and delete it. One that goes stays marked: whatever
    updates its stack next makes it anew.
    """
    try:
        stack_task.mark(server)
        nova.delete(server.physical_id)
    except errors.VnfmError:
        if _is_not_deleting(nova, server):
            stack_task.unmark([server])
        raise


def _is_not_deleting(nova: Servers, server: Resource) -> bool:
    try:
        found = nova.find(server.physical_id)
    except errors.VnfmError:
        return False
    return found is not None and found.task != "deleting"


def _check_progress(
    resource: Resource, server: Server, stack_task: StackTask
) -> None:
    """Make sure that it is worth to wait on for a server's end.

    :raises NotReady: it is not
    """
    what = f"server {resource.name} ({resource.physical_id})"
    if server.has_failed:
        raise errors.NotReady(
            f"Nova could not delete {what}: "
            f"{server.fault.message or 'it tells no reason'}"
        )
    if stack_task.waiter.deadline.passed:
        raise errors.NotReady(f"Nova has not deleted {what} in time.")
