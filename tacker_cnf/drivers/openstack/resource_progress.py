"""The state of the resources of a stack, as operators read it."""

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.stacks import Resource, Stack, Tree
from tacker_cnf.drivers.progress import DELETED, Progress, ResourceProgress
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import Clock
from tacker_cnf.sol.timeline import ResourceStatus

#: seconds between two reads of the resources, at least
READ_INTERVAL_S: Final = 2.0
#: the pause after a read, as a multiple of its duration
READ_SHARE: Final = 10.0
SERVER: Final = "OS::Nova::Server"

#: what identifies a resource: its stack and its name
Key = tuple[str, str]


class StackProgress:
    """Reports the resources that an action of Heat changes. Those that are
    complete at the first report were complete before the action.

    :param read: reads the resources of a stack
    """

    def __init__(
        self, read: Callable[[Stack], Tree], progress: Progress, clock: Clock
    ) -> None:
        self._read = read
        self._progress = progress
        self._next_read = Deadline.within(0, clock)
        self._before: Mapping[Key, Resource] | None = None
        self._changed: dict[Key, Resource] = {}

    def report(self, stack: Stack) -> None:
        """Report the resources as they are now, but not too often."""
        if not self._next_read.passed:
            return
        clock = self._next_read.clock
        started = clock.monotonic()
        # the operation does not depend on it
        with contextlib.suppress(errors.InfraError):
            self._report(self._read(stack))
        pause = READ_SHARE * (clock.monotonic() - started)
        self._next_read = Deadline.within(max(READ_INTERVAL_S, pause), clock)

    def _report(self, tree: Tree) -> None:
        found = {
            (resource.stack, resource.name): resource
            for resource in tree.resources
            if not resource.nested
        }
        if self._before is None:
            self._before = {
                key: resource
                for key, resource in found.items()
                if resource.status.endswith("_COMPLETE")
                and not _is_waiting(resource)
            }
        self._changed |= {
            key: resource
            for key, resource in found.items()
            if resource != self._before.get(key)
        }
        kinds = Counter(resource.type for resource in self._changed.values())
        for kind, count in kinds.items():
            self._progress.expect(kind, count)
        for key, resource in self._changed.items():
            if key not in found:
                self._progress.resource(_deleted(resource))
            elif not _is_waiting(resource):
                self._progress.resource(_progress_of(resource))


def _is_waiting(resource: Resource) -> bool:
    """Return whether Heat has not begun to create a resource."""
    return resource.status.startswith("INIT")


def _progress_of(resource: Resource) -> ResourceProgress:
    status = ResourceStatus.IN_PROGRESS
    if resource.status.endswith("_COMPLETE"):
        status = ResourceStatus.DONE
    elif resource.status.endswith("_FAILED"):
        status = ResourceStatus.FAILED
    is_failed = status == ResourceStatus.FAILED
    return _build(
        resource, status, resource.reason if is_failed else resource.status
    )


def _deleted(resource: Resource) -> ResourceProgress:
    return _build(resource, ResourceStatus.DONE, DELETED)


def _build(
    resource: Resource, status: ResourceStatus, message: str | None
) -> ResourceProgress:
    return ResourceProgress(
        kind=resource.type,
        name=resource.name,
        id=resource.stack,
        status=status,
        message=message,
        vnfc_id=resource.physical_id or None
        if resource.type == SERVER
        else None,
    )
