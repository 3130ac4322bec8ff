"""Waits for the actions of Heat on a stack."""

import re
from collections.abc import Callable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.resource_progress import StackProgress
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.runtime.cancellation import Deadline

#: seconds between two polls: at first, and at most
MIN_POLL_INTERVAL_S: Final = 0.2
MAX_POLL_INTERVAL_S: Final = 5.0
#: the poll interval as a fraction of the time waited so far
POLL_INTERVAL_FACTOR: Final = 0.05
#: maximum number of failed resources in an error
MAX_REPORTED_FAILURES: Final = 5
#: the reason of a stack with a nested stack that Heat cancelled
NESTED_CANCELLED: Final = re.compile(r": Stack \w+ cancelled")
#: the reason after a failed resource, a timeout, or a cancel by a client
RESOURCE_FAILURE: Final = re.compile(
    r"^Resource |resources\.|[Tt]imed out|^Stack |^Operation cancelled"
)
#: polls of events after which the stack itself is read
POLLS_PER_STACK_READ: Final = 10


class UpdateInterrupted(errors.NotReady):
    """Heat interrupted the update, and no resource failed: an earlier update,
    or an earlier request for this one, was still in progress, and Heat
    cancelled it or failed because of it.
    """


class PollBackoff:
    """Poll interval that grows with the time waited so far."""

    def __init__(self, heat: Heat, deadline: Deadline) -> None:
        self._cancel_token = heat.cancel_token
        self._deadline = deadline
        self._started_at = deadline.clock.monotonic()

    def wait(self) -> None:
        """Wait until the next poll.

        :raises VnfmError: the operation was cancelled (FORCEFUL)
        """
        passed = self._deadline.clock.monotonic() - self._started_at
        interval = min(
            max(passed * POLL_INTERVAL_FACTOR, MIN_POLL_INTERVAL_S),
            MAX_POLL_INTERVAL_S,
        )
        self._cancel_token.wait(min(interval, self._deadline.remaining))


class StackWaiter:
    """Waits for stacks until a deadline."""

    def __init__(
        self, heat: Heat, deadline: Deadline, progress: Progress
    ) -> None:
        self._heat = heat
        self.deadline = deadline
        self._progress = progress

    def wait_complete(self, identity: str, marker: str | None) -> Stack:
        """Wait until the action on a stack is complete.

        :param marker: id of the last event before the action
        :raises NotReady: the action failed, or the timeout is over
        :raises VnfmError: the operation was cancelled (FORCEFUL)
        """
        stack = self.wait_idle(identity, marker)
        if stack.has_failed:
            kind = (
                UpdateInterrupted
                if _is_heat_internal(stack)
                else errors.NotReady
            )
            raise kind(self._failure_reason(stack))
        return stack

    def wait_resources_idle(self, stack: Stack) -> None:
        """Wait until no resource of a stack is in progress: after one has
        failed the stack has, but others are still in progress.

        :raises NotReady: the timeout is over
        :raises VnfmError: the operation was cancelled (FORCEFUL)
        """
        self._wait_until(
            lambda: not self._has_busy_resources(stack), stack.identity
        )

    def _has_busy_resources(self, stack: Stack) -> bool:
        return self._heat.tree(stack).is_busy

    def wait_idle(self, identity: str, marker: str | None) -> Stack:
        """Wait until the action on a stack is complete or has failed.

        :raises NotReady: the stack was deleted, or the timeout is over
        :raises VnfmError: the operation was cancelled (FORCEFUL)
        """
        backoff = PollBackoff(self._heat, self.deadline)
        stack_progress = self._stack_progress()
        polls = 0
        while True:
            polls += 1
            events = self._events(identity, marker)
            marker = events[-1].id if events else marker
            self._report_events(events)
            if (
                _has_final_event(identity, events)
                or polls % POLLS_PER_STACK_READ == 1
            ):
                stack = self._read(identity)
                if not stack.is_busy:
                    return stack
            stack_progress.report(stack)
            if self.deadline.passed:
                raise _timeout_error(identity)
            backoff.wait()

    def _read(self, identity: str) -> Stack:
        """Read a stack.

        :raises NotReady: it was deleted
        """
        stack = self._heat.find(identity)
        if stack is None or stack.action == "DELETE":
            raise _deleted_error(identity)
        return stack

    def wait_deleted(self, stack: Stack) -> None:
        """Wait until a stack is deleted.

        :raises NotReady: the deletion failed, or the timeout is over
        :raises VnfmError: the operation was cancelled (FORCEFUL)
        """
        self._progress(f"Deleting stack {stack.name}")
        stack_progress = self._stack_progress()
        self._wait_until(
            lambda: self._is_deleted(stack, stack_progress), stack.identity
        )

    def wait_name_free(self, name: str) -> None:
        """Wait until a stack name is free: Heat reserves the name of a
        deleted stack for some seconds.

        :raises NotReady: the timeout is over
        :raises VnfmError: the operation was cancelled (FORCEFUL)
        """
        self._wait_until(lambda: self._heat.find(name) is None, name)

    def _wait_until(self, done: Callable[[], bool], what: str) -> None:
        backoff = PollBackoff(self._heat, self.deadline)
        while not done():
            if self.deadline.passed:
                raise _timeout_error(what)
            backoff.wait()

    def _is_deleted(self, stack: Stack, stack_progress: StackProgress) -> bool:
        found = self._heat.find(stack.identity)
        if found is None or found.status == "DELETE_COMPLETE":
            return True
        if found.status == "DELETE_FAILED":
            raise errors.NotReady(self._failure_reason(found))
        stack_progress.report(stack)
        return False

    def _stack_progress(self) -> StackProgress:
        return StackProgress(
            self._heat.tree, self._progress, self.deadline.clock
        )

    def _events(self, identity: str, marker: str | None) -> list[Any]:
        try:
            return self._heat.events(identity, marker)
        except api_errors.NotFound:
            raise _deleted_error(identity) from None

    def _report_events(self, events: list[Any]) -> None:
        for event in events:
            self._progress(f"{event.resource_name} {event.resource_status}")

    def _failure_reason(self, stack: Stack) -> str:
        """Return status and reason of the stack, then of failed resources."""
        summary = f"Stack {stack.name} is {stack.status}: {stack.reason}"
        failed = {
            f"{r.name} ({r.type}) is {r.status}: {r.reason}"
            for r in self._heat.tree(stack).resources
            if r.status.endswith("_FAILED")
            and not r.nested
            and _without_resource_name(r.reason or "") not in summary
        }
        return " ".join([summary, *sorted(failed)[:MAX_REPORTED_FAILURES]])


def _is_heat_internal(stack: Stack) -> bool:
    """Return whether Heat itself failed, with or without convergence: not a
    resource, not a timeout, and no client cancelled the action.
    """
    reason = stack.reason or ""
    if NESTED_CANCELLED.search(reason):
        return True
    return bool(reason) and not RESOURCE_FAILURE.search(reason)


def _without_resource_name(reason: str) -> str:
    """Remove the name of the resource from a reason."""
    return reason.split(": ", 2)[-1]


def _has_final_event(identity: str, events: list[Any]) -> bool:
    _, _, stack_id = identity.partition("/")
    return any(
        event.physical_resource_id == stack_id
        and not event.resource_status.endswith("_IN_PROGRESS")
        for event in events
    )


def _deleted_error(identity: str) -> errors.NotReady:
    name, _, _ = identity.partition("/")
    return errors.NotReady(
        f"Stack {name} was deleted by another client during the operation."
    )


def _timeout_error(what: str) -> errors.NotReady:
    name, _, _ = what.partition("/")
    return errors.NotReady(
        f"Heat did not complete its action on stack {name} in time."
    )
