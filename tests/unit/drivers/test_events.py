from typing import Any

import testtools

from tacker_cnf.drivers.kubernetes import events
from tests.unit.drivers.pods import (
    PULLING,
    RUNNING,
    EventsOnly,
    a_pod,
    an_event,
)


def waiting(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason, "message": "why"}}}


def ended(code: int) -> dict[str, Any]:
    return {"state": {"terminated": {"reason": "Error", "exitCode": code}}}


def scheduled(status: str) -> dict[str, Any]:
    condition = {"reason": "Unschedulable", "message": "no room"}
    return {"type": "PodScheduled", "status": status, **condition}


#: status of a pod -> its fault
STATUSES: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"phase": "Pending"}, None),
    ({"phase": "Failed", "message": "evicted"}, "Failed: evicted"),
    ({"phase": "Failed", "reason": "Evicted"}, "Failed: Evicted"),
    ({"conditions": [scheduled("True")]}, None),
    ({"conditions": [scheduled("Unknown")]}, None),
    ({"conditions": [scheduled("False")]}, "Unschedulable: no room"),
    (
        {"conditions": [{"type": "Ready", "status": "False"}]},
        None,
    ),
    ({"containerStatuses": [RUNNING]}, None),
    ({"containerStatuses": [{}]}, None),
    ({"containerStatuses": [waiting("ContainerCreating")]}, None),
    ({"containerStatuses": [waiting("PodInitializing")]}, None),
    ({"containerStatuses": [PULLING]}, "ImagePullBackOff: no such"),
    ({"containerStatuses": [RUNNING, PULLING]}, "ImagePullBackOff: no such"),
    (
        {"initContainerStatuses": [PULLING], "containerStatuses": [RUNNING]},
        "ImagePullBackOff: no such",
    ),
    ({"containerStatuses": [ended(0)]}, None),
    ({"containerStatuses": [ended(137)]}, "Error: exit code 137"),
]


class TestFault(testtools.TestCase):
    def test_fault_of_each_status(self) -> None:
        for status, fault in STATUSES:
            pod = a_pod(status=status)
            self.assertEqual(fault, events.fault(pod), str(status))

    def test_every_fault_reason(self) -> None:
        for reason in events.FAULT_REASONS:
            pod = a_pod(status={"containerStatuses": [waiting(reason)]})
            self.assertEqual(f"{reason}: why", events.fault(pod))

    def test_a_pod_without_status(self) -> None:
        self.assertIsNone(events.fault({"metadata": {"name": "web-1"}}))


class TestListWarnings(testtools.TestCase):
    def list_warnings(
        self, *found: Any, forbidden: bool = False
    ) -> tuple[str, ...]:
        cluster: Any = EventsOnly(*found, forbidden=forbidden)
        return events.list_warnings(cluster, "here", ["uid of web-1"])

    def test_only_warnings_of_the_given_objects(self) -> None:
        self.assertEqual(
            ("Pod web-1: Failed: no image",),
            self.list_warnings(
                an_event("Failed", "no image"),
                an_event("Failed", "no room", "web-2"),
                {"reason": "Odd", "message": "about nothing"},
            ),
        )

    def test_the_last_warning_of_each_reason(self) -> None:
        self.assertEqual(
            ("Pod web-1: Failed: second", "Pod web-1: BackOff: third"),
            self.list_warnings(
                an_event("Failed", "first"),
                an_event("Failed", "second"),
                an_event("BackOff", "third"),
            ),
        )

    def test_no_warnings_if_events_are_forbidden(self) -> None:
        self.assertEqual((), self.list_warnings(forbidden=True))


class TestJoinWarnings(testtools.TestCase):
    def test_warnings_are_joined_to_one_text(self) -> None:
        self.assertEqual("a; b", events.join_warnings([" a\n", "b"]))
        self.assertEqual("", events.join_warnings([]))

    def test_the_length_is_limited(self) -> None:
        text = events.join_warnings(["x" * 10**6])
        self.assertEqual("x" * events.MAX_TEXT_CHARS + "...", text)
