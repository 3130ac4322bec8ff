"""Waits until Heat has done to a stack what it was asked."""

import re
import time
from collections.abc import Callable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import refusals
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.halting import Deadline

#: seconds between two looks: at first, and at most
SOONEST: Final = 0.2
LATEST: Final = 5.0
#: of what has passed already, how much passes until the next look
SHARE: Final = 0.05
#: failed resources that an error tells at most
TOLD: Final = 5
#: what Heat says of a nested stack on which it broke its work off
NESTED_CANCELLED: Final = re.compile(r": Stack \w+ cancelled")
#: how it says that a resource failed, that its time was up, or that somebody
#: has cancelled its work
OF_OTHERS: Final = re.compile(
    r"^Resource |resources\.|[Tt]imed out|^Stack |^Operation cancelled"
)
#: looks at events after which the stack itself is looked at
TRUSTED: Final = 10


class BrokenOff(errors.NotReady):
    """Heat broke its work off, and none of the stack's resources is why: it
    was still at work for an earlier update, or for an earlier request for this
    one, and cancelled that or fell over it.
    """


class Pace:
    """Looks often at first, and ever more seldom."""

    def __init__(self, heat: Heat, deadline: Deadline) -> None:
        self._halt = heat.halt
        self._deadline = deadline
        self._begun = time.monotonic()

    def rest(self) -> None:
        """Wait until the next look.

        :raises VnfmError: the work was called off at once
        """
        passed = time.monotonic() - self._begun
        pause = min(max(passed * SHARE, SOONEST), LATEST)
        self._halt.wait(min(pause, self._deadline.remaining))


class Waiter:
    """Waits for stacks, until a deadline."""

    def __init__(
        self, heat: Heat, deadline: Deadline, progress: Progress
    ) -> None:
        self._heat = heat
        self.deadline = deadline
        self._progress = progress

    def ended(self, identity: str, marker: str | None) -> Stack:
        """Wait until what is done to a stack has ended well.

        :param marker: the newest event from before it was begun
        :raises NotReady: it failed, or did not end in time
        :raises VnfmError: the work was called off at once
        """
        stack = self.idle(identity, marker)
        if stack.has_failed:
            kind = BrokenOff if _is_heats(stack) else errors.NotReady
            raise kind(self._why(stack))
        return stack

    def at_rest(self, stack: Stack) -> None:
        """Wait until Heat works on no resource of a stack: those beside one
        that failed go on after the stack has failed.

        :raises NotReady: it still did when time was up
        :raises VnfmError: the work was called off at once
        """
        self._until(lambda: not self._is_at_work(stack), stack.identity)

    def _is_at_work(self, stack: Stack) -> bool:
        return self._heat.tree(stack).is_busy

    def idle(self, identity: str, marker: str | None) -> Stack:
        """Wait until nothing is done to a stack, be it well or not.

        :raises NotReady: it has gone, or that was not in time
        :raises VnfmError: the work was called off at once
        """
        pace = Pace(self._heat, self.deadline)
        looks = 0
        while True:
            looks += 1
            events = self._events(identity, marker)
            marker = events[-1].id if events else marker
            self._tell(events)
            if _tells_end(identity, events) or looks % TRUSTED == 1:
                stack = self._heat.find(identity)
                if stack is None or stack.action == "DELETE":
                    raise _lost(identity)
                if not stack.is_busy:
                    return stack
            if self.deadline.passed:
                raise _late(identity)
            pace.rest()

    def gone(self, stack: Stack) -> None:
        """Wait until a stack is deleted.

        :raises NotReady: it could not be deleted, or not in time
        :raises VnfmError: the work was called off at once
        """
        self._progress(f"Deleting stack {stack.name}")
        self._until(lambda: self._has_gone(stack), stack.identity)

    def free(self, name: str) -> None:
        """Wait until a name can be given to a stack: Heat keeps that of a
        deleted one for some seconds.

        :raises NotReady: it was not in time
        :raises VnfmError: the work was called off at once
        """
        self._until(lambda: self._heat.find(name) is None, name)

    def _until(self, done: Callable[[], bool], what: str) -> None:
        pace = Pace(self._heat, self.deadline)
        while not done():
            if self.deadline.passed:
                raise _late(what)
            pace.rest()

    def _has_gone(self, stack: Stack) -> bool:
        found = self._heat.find(stack.identity)
        if found is None or found.status == "DELETE_COMPLETE":
            return True
        if found.status == "DELETE_FAILED":
            raise errors.NotReady(self._why(found))
        return False

    def _events(self, identity: str, marker: str | None) -> list[Any]:
        try:
            return self._heat.events(identity, marker)
        except refusals.Gone:
            raise _lost(identity) from None

    def _tell(self, events: list[Any]) -> None:
        for event in events:
            self._progress(f"{event.resource_name} {event.resource_status}")

    def _why(self, stack: Stack) -> str:
        """Tell why Heat failed, by its own words, the innermost last."""
        told = f"Stack {stack.name} is {stack.status}: {stack.reason}"
        failed = {
            f"{r.name} ({r.type}) is {r.status}: {r.reason}"
            for r in self._heat.tree(stack).resources
            if r.status.endswith("_FAILED")
            and not r.nested
            and _bare(r.reason or "") not in told
        }
        return " ".join([told, *sorted(failed)[:TOLD]])


def _is_heats(stack: Stack) -> bool:
    """Tell whether a failure is Heat's own: a resource's, its time limit and
    what somebody has cancelled begin by words of theirs, with or without
    convergence.
    """
    reason = stack.reason or ""
    if NESTED_CANCELLED.search(reason):
        return True
    return bool(reason) and not OF_OTHERS.search(reason)


def _bare(reason: str) -> str:
    """Leave out of a reason which resource it is of."""
    return reason.split(": ", 2)[-1]


def _tells_end(identity: str, events: list[Any]) -> bool:
    _, _, stack_id = identity.partition("/")
    return any(
        event.physical_resource_id == stack_id
        and not event.resource_status.endswith("_IN_PROGRESS")
        for event in events
    )


def _lost(identity: str) -> errors.NotReady:
    name, _, _ = identity.partition("/")
    return errors.NotReady(
        f"Stack {name} was deleted by somebody else meanwhile."
    )


def _late(what: str) -> errors.NotReady:
    name, _, _ = what.partition("/")
    return errors.NotReady(
        f"Heat has not ended its work on stack {name} in time."
    )
