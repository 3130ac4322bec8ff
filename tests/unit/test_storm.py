"""The checks of a storm, with histories that contain problems."""

from typing import Any, ClassVar

import testtools

from tests.storm import checks
from tests.storm.cluster import Write
from tests.storm.history import Cleanup, Version

ONE = "vm:11:6a1d2a6c-0000-4000-8000-000000000001"
OTHER = "vm:22:6a1d2a6c-0000-4000-8000-000000000002"
INSTANCE = "0b3c9f8e-0000-4000-8000-00000000000a"
PATH = f"/api/v1/namespaces/n-{INSTANCE}/pods"


def version(
    at: float,
    owner: str | None,
    lease_until: float,
    state: str = "PROCESSING",
    **more: Any,
) -> Version:
    given = {
        "op_occ_id": "op",
        "instance_id": INSTANCE,
        "operation": "HEAL",
        "fence": 1,
        "recorded": 0,
        **more,
    }
    return Version(
        at=at, owner=owner, lease_until=lease_until, state=state, **given
    )


def write(at: float, sender: int | None = 11, path: str = PATH) -> Write:
    return Write(at, sender, "POST", path, "201")


def sent(number: int, state: str) -> dict[str, str]:
    return {
        "id": f"notification {number}",
        "vnfLcmOpOccId": "op",
        "operationState": state,
    }


class TestWrites(testtools.TestCase):
    #: claimed, renewed, expired, claimed by another conductor, ended
    versions = (
        version(1.0, ONE, 7.0),
        version(3.0, ONE, 9.0),
        version(10.0, OTHER, 16.0, fence=2),
        version(12.0, None, 16.0, "FAILED_TEMP", fence=2),
    )

    def found(self, *writes: Write) -> int:
        return len(checks.find_unclaimed_writes(writes, self.versions))

    def test_within_the_lease(self) -> None:
        self.assertEqual(0, self.found(write(1.0), write(8.9)))
        self.assertEqual(0, self.found(write(11.0, 22)))

    def test_before_and_after_the_lease(self) -> None:
        self.assertEqual(2, self.found(write(0.9), write(9.1)))

    def test_within_the_lease_of_another_conductor(self) -> None:
        self.assertEqual(2, self.found(write(11.0), write(8.0, 22)))

    def test_after_the_operation(self) -> None:
        self.assertEqual(1, self.found(write(12.1, 22)))

    def test_writes_to_another_instance_or_by_an_unknown_process(self) -> None:
        other = PATH.replace(INSTANCE, INSTANCE[::-1])
        self.assertEqual(1, self.found(write(2.0, path=other)))
        self.assertEqual(1, self.found(write(2.0, None)))

    def test_a_late_write_is_described(self) -> None:
        (line,) = checks.find_unclaimed_writes([write(9.5)], self.versions)
        self.assertIn("ended +0.500 s ago", line)


class TestRemovals(testtools.TestCase):
    #: claimed, expired, claimed again and released, deleted
    cleanups = (
        Cleanup(1.0, INSTANCE, "one", 7.0, is_deleted=False),
        Cleanup(10.0, INSTANCE, "two", 16.0, is_deleted=False),
        Cleanup(12.0, INSTANCE, None, None, is_deleted=False),
        Cleanup(20.0, INSTANCE, None, None, is_deleted=True),
    )

    def found(self, *writes: Write) -> int:
        return len(checks.find_unclaimed_writes(writes, (), self.cleanups))

    def delete(self, at: float, sender: int = 11) -> Write:
        return Write(at, sender, "DELETE", PATH, "200")

    def test_under_the_claim(self) -> None:
        self.assertEqual(0, self.found(self.delete(2.0), self.delete(6.9)))
        self.assertEqual(0, self.found(self.delete(11.0, 22)))

    def test_before_and_after_the_claim(self) -> None:
        late = [self.delete(at) for at in (0.9, 7.1, 12.1)]
        self.assertEqual(3, self.found(*late))

    def test_under_the_claim_of_another_process(self) -> None:
        self.assertEqual(1, self.found(self.delete(2.0), self.delete(3, 22)))

    def test_the_claim_allows_only_removals(self) -> None:
        self.assertEqual(2, self.found(write(2.0), write(21.0)))

    def test_of_a_deleted_instance(self) -> None:
        self.assertEqual(0, self.found(self.delete(20.1)))


class TestOperations(testtools.TestCase):
    def test_a_lost_operation(self) -> None:
        self.assertEqual(1, len(checks.find_lost(["op", "gone"], ["op"])))

    def test_an_operation_created_twice(self) -> None:
        versions = [version(1.0, None, 0.0)]
        self.assertEqual([], checks.find_duplicates(["op"], versions))
        self.assertEqual(1, len(checks.find_duplicates([], versions)))

    def test_an_operation_claimed_twice_at_once(self) -> None:
        first = version(1.0, ONE, 7.0)
        late, early = version(7.1, OTHER, 13.0), version(6.9, OTHER, 13.0)
        self.assertEqual([], checks.find_duplicates(["op"], [first, late]))
        self.assertEqual(
            1, len(checks.find_duplicates(["op"], [first, early]))
        )

    def test_step_recorded_twice(self) -> None:
        first = version(1.0, ONE, 7.0)
        once, twice = (version(2.0, ONE, 7.0, recorded=n) for n in (1, 2))
        self.assertEqual([], checks.find_duplicates(["op"], [first, once]))
        self.assertEqual(
            1, len(checks.find_duplicates(["op"], [first, twice]))
        )

    def test_stuck_operations(self) -> None:
        states = {"a": "COMPLETED", "b": "PROCESSING", "c": "FAILED_TEMP"}
        self.assertEqual(2, len(checks.find_stuck(states, {"instance": "b"})))
        self.assertEqual(3, len(checks.find_stuck(states, {"instance": "a"})))


class TestNotifications(testtools.TestCase):
    versions = (
        version(1.0, None, 0.0, "STARTING"),
        version(2.0, ONE, 7.0, "STARTING"),
        version(3.0, ONE, 7.0, "PROCESSING"),
        version(4.0, ONE, 7.0, "COMPLETED"),
    )

    def found(self, *states: tuple[int, str]) -> int:
        received = [sent(*state) for state in states]
        return len(checks.find_missing_notifications(self.versions, received))

    def test_complete(self) -> None:
        one, two, three = (1, "STARTING"), (2, "PROCESSING"), (3, "COMPLETED")
        self.assertEqual(0, self.found(one, two, three))
        self.assertEqual(0, self.found(one, two, one, three, two))

    def test_missing_or_out_of_order(self) -> None:
        one, two, three = (1, "STARTING"), (2, "PROCESSING"), (3, "COMPLETED")
        self.assertEqual(1, self.found(one, three))
        self.assertEqual(1, self.found(two, one, three))
        self.assertEqual(1, self.found(one, two, three, (4, "COMPLETED")))

    def test_instances(self) -> None:
        received = [
            {
                "notificationType": "VnfIdentifierCreationNotification",
                "vnfInstanceId": INSTANCE,
            }
        ]
        found = checks.find_missing_instance_notifications(
            [INSTANCE], [], received
        )
        self.assertEqual([], found)
        found = checks.find_missing_instance_notifications(
            [INSTANCE], [INSTANCE], received
        )
        self.assertEqual(1, len(found))


class TestReplicas(testtools.TestCase):
    instance: ClassVar[dict[str, Any]] = {
        "id": INSTANCE,
        "instantiatedVnfInfo": {
            "vnfcResourceInfo": [
                {"vduId": "web", "computeResource": {"resourceId": "web-1"}}
            ],
            "scaleStatus": [{"aspectId": "web_aspect", "scaleLevel": 0}],
        },
    }

    def found(self, pods: set[str], replicas: int) -> int:
        key = (INSTANCE, "web")
        given = {key: pods}, {key: replicas}
        return len(checks.find_differing_replicas(self.instance, *given))

    def test_no_difference(self) -> None:
        self.assertEqual(0, self.found({"web-1"}, 1))

    def test_other_pods(self) -> None:
        self.assertEqual(1, self.found({"web-2"}, 1))
        self.assertEqual(1, self.found(set(), 1))

    def test_other_replicas(self) -> None:
        self.assertEqual(3, self.found({"web-1", "web-2"}, 2))
