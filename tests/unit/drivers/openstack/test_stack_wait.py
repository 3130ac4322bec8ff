"""Wait for a stack: which events are read, and how often."""

import types
from collections.abc import Iterable, Sequence
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors, stack_wait
from tacker_cnf.drivers.openstack.stack_wait import PollBackoff, StackWaiter
from tacker_cnf.drivers.openstack.stacks import Stack, Tree
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tests.fixtures.clock import SteppingClock
from tests.unit.drivers.openstack import stack_resources

IDENTITY = "vnf-1/root"


def event(number: int, status: str, of: str = "front") -> Any:
    return types.SimpleNamespace(
        id=f"e{number}",
        resource_name=of,
        resource_status=status,
        physical_resource_id="root" if of == "vnf-1" else "another",
    )


class FakeHeat:
    """A Heat that returns the next events and state at each read."""

    def __init__(
        self,
        *events: Sequence[Any],
        states: Iterable[str | None],
        reason: str = "why",
    ) -> None:
        self.clock = SteppingClock()
        self.cancel_token = CancelToken(clock=self.clock)
        self._reason = reason
        #: the resources, one listing for each read; the last one is repeated
        self.listings = [stack_resources.grouped("a")]
        self._events = list(events)
        self._states = list(states)
        self.markers: list[str | None] = []
        self.find_count = 0

    def events(self, identity: str, marker: str | None) -> Sequence[Any]:
        assert identity == IDENTITY
        self.markers.append(marker)
        return self._events.pop(0) if self._events else ()

    def find(self, name: str) -> Stack | None:
        assert name == IDENTITY
        self.find_count += 1
        several = len(self._states) > 1
        state = self._states.pop(0) if several else self._states[0]
        if state is None:
            return None
        return Stack(
            id="root", name="vnf-1", status=state, reason=self._reason
        )

    def tree(self, stack: Stack) -> Tree:
        del stack
        several = len(self.listings) > 1
        listing = self.listings.pop(0) if several else self.listings[0]
        return listing.tree()


def build_waiter(heat: Any, within: float = 60) -> StackWaiter:
    return StackWaiter(heat, Deadline.within(within, heat.clock), Progress())


class TestMarker(testtools.TestCase):
    def test_each_poll_starts_after_the_last_event(self) -> None:
        heat = FakeHeat(
            [event(1, "UPDATE_IN_PROGRESS"), event(2, "UPDATE_COMPLETE")],
            [],
            [event(3, "UPDATE_COMPLETE", "vnf-1")],
            states=["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"],
        )
        stack = build_waiter(heat).wait_complete(IDENTITY, "before")
        self.assertEqual(["before", "e2", "e2"], heat.markers)
        self.assertEqual("UPDATE_COMPLETE", stack.status)

    def test_the_final_event_of_an_earlier_action_is_ignored(self) -> None:
        # Heat has purged the marker, and returns all events
        heat = FakeHeat(
            [event(1, "CREATE_COMPLETE", "vnf-1")],
            [event(2, "UPDATE_COMPLETE", "vnf-1")],
            states=["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"],
        )
        build_waiter(heat).wait_complete(IDENTITY, "purged")
        self.assertEqual(["purged", "e1"], heat.markers)

    def test_a_stack_without_events_is_read_every_few_polls(self) -> None:
        busy = ["UPDATE_IN_PROGRESS"] * 3
        heat = FakeHeat(states=[*busy, "UPDATE_COMPLETE"])
        build_waiter(heat).wait_complete(IDENTITY, None)
        self.assertEqual(4, heat.find_count)
        self.assertEqual(
            3 * stack_wait.POLLS_PER_STACK_READ + 1, len(heat.markers)
        )

    def test_a_deletion_ends_the_wait(self) -> None:
        for state in (None, "DELETE_IN_PROGRESS", "DELETE_COMPLETE"):
            error = self.assertRaises(
                errors.NotReady,
                build_waiter(FakeHeat(states=[state])).wait_idle,
                IDENTITY,
                None,
            )
            self.assertIn("deleted by another client", str(error))

    def test_events_not_found_end_the_wait(self) -> None:
        heat = FakeHeat(states=[None])

        def raise_not_found(*_: object) -> None:
            raise api_errors.NotFound("Heat answered 404")

        untyped: Any = heat
        untyped.events = raise_not_found
        error = self.assertRaises(
            errors.NotReady, build_waiter(heat).wait_complete, IDENTITY, None
        )
        self.assertIn("deleted by another client", str(error))

    def test_the_deadline_ends_the_wait(self) -> None:
        heat = FakeHeat(states=["UPDATE_IN_PROGRESS"])
        error = self.assertRaises(
            errors.NotReady,
            build_waiter(heat, within=0).wait_complete,
            IDENTITY,
            None,
        )
        self.assertIn("did not complete its action on stack vnf-1", str(error))
        self.assertEqual([], heat.clock.waits)

    def test_an_interrupted_update_is_distinguished_from_a_failed_one(
        self,
    ) -> None:
        reasons = {
            "Resource UPDATE failed: ResourceInError: resources.a: why": False,
            "ResourceInError: resources.web: No valid host": False,
            "Resource CREATE failed: resources.a: build was cancelled": False,
            "Timed out": False,
            "Update timed out": False,
            "Operation cancelled": False,
            "": False,
            "Resource UPDATE failed: resources.a: Stack UPDATE cancelled": True,
            "Stack UPDATE cancelled": False,
            "(pymysql.err.IntegrityError) (1451, 'Cannot delete')": True,
        }
        for reason, interrupted in reasons.items():
            heat = FakeHeat(states=["UPDATE_FAILED"], reason=reason)
            error = self.assertRaises(
                errors.NotReady,
                build_waiter(heat).wait_complete,
                IDENTITY,
                None,
            )
            self.assertEqual(
                interrupted,
                isinstance(error, stack_wait.UpdateInterrupted),
                reason,
            )
            self.assertIn(
                f"Stack vnf-1 is UPDATE_FAILED: {reason}", str(error)
            )

    def test_resources_in_progress_of_a_failed_stack_are_waited_for(
        self,
    ) -> None:
        heat = FakeHeat(states=["UPDATE_FAILED"])
        heat.listings = [
            stack_resources.grouped("a"),
            stack_resources.grouped("a"),
        ]
        heat.listings[0].add(
            "b", stack_resources.GROUP, status="UPDATE_IN_PROGRESS"
        )
        stack = Stack(id="root", name="vnf-1", status="UPDATE_FAILED")
        build_waiter(heat).wait_resources_idle(stack)
        self.assertEqual(1, len(heat.clock.waits))

    def test_the_deadline_ends_the_wait_for_resources(self) -> None:
        heat = FakeHeat(states=["UPDATE_FAILED"])
        heat.listings = [stack_resources.grouped("a")]
        heat.listings[0].add(
            "b", stack_resources.GROUP, status="UPDATE_IN_PROGRESS"
        )
        stack = Stack(id="root", name="vnf-1", status="UPDATE_FAILED")
        error = self.assertRaises(
            errors.NotReady,
            build_waiter(heat, within=0).wait_resources_idle,
            stack,
        )
        self.assertIn("did not complete its action on stack vnf-1", str(error))


class TestPollBackoff(testtools.TestCase):
    def measure_pause(self, passed: float, left: float = 10000) -> float:
        """Return the poll interval after so many seconds."""
        heat: Any = FakeHeat(states=[None])
        backoff = PollBackoff(heat, Deadline.within(passed + left, heat.clock))
        heat.clock.advance(passed)
        backoff.wait()
        return float(heat.clock.waits[0])

    def test_the_interval_grows_with_the_time(self) -> None:
        for passed, pause in (
            (0, 0.2),
            (4, 0.2),
            (20, 1.0),
            (60, 3.0),
            (100, 5.0),
            (10000, 5.0),
        ):
            self.assertEqual(pause, self.measure_pause(passed), str(passed))

    def test_the_interval_ends_at_the_deadline(self) -> None:
        self.assertEqual(1.0, self.measure_pause(100, left=1))
        self.assertEqual(0.0, self.measure_pause(100, left=0))
