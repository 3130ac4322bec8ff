"""Deletes servers before Heat creates their replacements.

Heat creates the new server before it deletes the old one, but a volume can be
attached to one server only. (Cinder's multiattach types allow both, but two
systems that write to one file system destroy it.)
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
    """The servers of a VIM."""

    def is_available(self) -> bool:
        """Return whether the VIM has a compute service."""

    def find(self, server: str) -> Server | None:
        """Find a server by its id; None: not found."""

    def delete(self, server: str) -> None:
        """Start to delete a server, if it exists."""


def servers_to_delete_first(
    nova: Servers, to_replace: Sequence[Resource]
) -> list[Resource]:
    """Return the servers to delete before the update: those that keep a
    volume, and those that are deleted already.

    :param to_replace: all resources that the heal replaces
    :raises InfraError: the servers cannot be read
    """
    replaced_ids = {resource.physical_id for resource in to_replace}
    servers = [r for r in to_replace if r.type == SERVER]
    if not servers or not nova.is_available():
        return []
    return [
        server
        for server in servers
        if _must_be_deleted_first(nova.find(server.physical_id), replaced_ids)
    ]


def find_deleted(nova: Servers, tree: Tree) -> frozenset[str]:
    """Find the servers that Heat lists as failed and Nova has deleted.

    :returns: their ids
    :raises InfraError: the servers cannot be read
    """
    faulty = [
        server.physical_id
        for server in tree.of_type(SERVER)
        if server.status.endswith("_FAILED")
    ]
    if not faulty or not nova.is_available():
        return frozenset()
    return frozenset(id_ for id_ in faulty if nova.find(id_) is None)


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
    """Delete servers and wait until they are deleted.

    :raises InfraError: Nova failed, or the stack timeout is over
    """
    for server in servers:
        _delete(stack_task, nova, server)
    backoff = PollBackoff(stack_task.heat, stack_task.waiter.deadline)
    for server in servers:
        while (found := nova.find(server.physical_id)) is not None:
            _check_progress(server, found, stack_task)
            backoff.wait()


def _delete(stack_task: StackTask, nova: Servers, server: Resource) -> None:
    """Mark a server unhealthy, and delete it. The mark remains, so that the
    next update of its stack replaces the server.
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
    """Check that the deletion of a server can still succeed.

    :raises NotReady: it failed, or the timeout is over
    """
    what = f"server {resource.name} ({resource.physical_id})"
    if server.has_failed:
        raise errors.NotReady(
            f"Nova could not delete {what}: "
            f"{server.fault.message or 'no reason given'}"
        )
    if stack_task.waiter.deadline.passed:
        raise errors.NotReady(f"Nova did not delete {what} in time.")
