import copy
from collections.abc import Container, Mapping
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.readiness_checks import (
    READY_CHECKS,
    FaultGrace,
    PodReadiness,
    is_ready,
)
from tests.fixtures.clock import ManualClock
from tests.unit.drivers.pods import (
    EventsOnly,
    a_faulty_pod,
    a_pod,
    a_ready_pod,
    an_event,
)

GRACE_S = 100.0


def workload(
    status: Mapping[str, Any], generation: int = 1, **spec: Any
) -> Object:
    return {
        "metadata": {"name": "web", "generation": generation},
        "spec": spec,
        "status": dict(status),
    }


def replicas(
    ready: int, total: int | None = None, observed: int = 1, **more: int
) -> dict[str, int]:
    """Build a status without the fields that are zero, as an API server."""
    total = ready if total is None else total
    numbers = {"replicas": total, "readyReplicas": ready} | more
    found = {name: number for name, number in numbers.items() if number}
    return found | {"observedGeneration": observed}


def nodes(*numbers: int) -> dict[str, int]:
    names = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
    )
    return dict(zip(names, numbers, strict=True)) | {"observedGeneration": 1}


def condition(kind: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status}]}


#: objects with replicas, and whether they are ready
REPLICAS: list[tuple[Object, bool]] = [
    (workload(replicas(3), replicas=3), True),
    (workload(replicas(0), replicas=0), True),
    (workload(replicas(1)), True),
    (workload(replicas(0)), False),
    (workload(replicas(2), replicas=3), False),
    (workload(replicas(2, 3), replicas=3), False),
    # an obsolete pod is not deleted yet
    (workload(replicas(3, 4), replicas=3), False),
    (workload(replicas(4), replicas=3), False),
    # the controller has not observed the new number
    (workload(replicas(3), generation=2, replicas=3), False),
    (workload(replicas(3, observed=2), generation=2, replicas=3), True),
    (workload({}, replicas=0), False),
]
DAEMONS: list[tuple[Object, bool]] = [
    (workload(nodes(3, 3, 3, 3)), True),
    (workload(nodes(0, 0, 0, 0)), True),
    (workload(nodes(3, 3, 3, 2)), False),
    (workload(nodes(3, 2, 2, 2)), False),
    (workload(nodes(3, 3, 2, 3)), False),
    (workload(nodes(3, 3, 3, 3), generation=2), False),
    (workload({}), False),
]
CONDITIONS: list[tuple[str, Object, bool]] = [
    ("Job", workload({}), False),
    ("Job", workload(condition("Complete")), True),
    ("Job", workload(condition("Complete", "False")), False),
    ("Job", workload(condition("Failed")), False),
    ("CustomResourceDefinition", workload({}), False),
    ("CustomResourceDefinition", workload(condition("Established")), True),
    ("CustomResourceDefinition", workload(condition("NamesAccepted")), False),
    ("Pod", a_pod(), False),
    ("Pod", a_ready_pod(), True),
]


class TestReadyChecks(testtools.TestCase):
    def check(self, kind: str, body: Object, *, ready: bool) -> None:
        self.assertEqual(ready, READY_CHECKS[kind](body), f"{kind}: {body}")

    def test_replica_sets_and_stateful_sets(self) -> None:
        for body, ready in REPLICAS:
            self.check("ReplicaSet", body, ready=ready)
            self.check("StatefulSet", body, ready=ready)

    def test_a_deployment_is_ready_when_its_old_pods_are_replaced(
        self,
    ) -> None:
        for body, ready in copy.deepcopy(REPLICAS):
            body["status"]["updatedReplicas"] = body["spec"].get("replicas", 1)
            self.check("Deployment", body, ready=ready)
        for updated in (0, 2, 4):
            status = replicas(3, updatedReplicas=updated)
            self.check("Deployment", workload(status, replicas=3), ready=False)

    def test_daemon_sets(self) -> None:
        for body, ready in DAEMONS:
            self.check("DaemonSet", body, ready=ready)

    def test_faults_in_conditions(self) -> None:
        for kind, body, ready in CONDITIONS:
            self.check(kind, body, ready=ready)

    def test_a_deleted_or_ended_pod_is_not_ready(self) -> None:
        self.assertFalse(is_ready(a_ready_pod(deletionTimestamp="now")))
        ended = a_ready_pod()
        ended["status"]["phase"] = "Succeeded"
        self.assertFalse(is_ready(ended))
        self.assertFalse(is_ready({"metadata": {"name": "web-1"}}))


class TestFaultGrace(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()

    def test_each_object_has_its_own_grace(self) -> None:
        fault_grace = FaultGrace(GRACE_S, self.clock)
        self.assertGreater(fault_grace.remaining("a"), 0)
        self.clock.advance(GRACE_S)
        self.assertLessEqual(fault_grace.remaining("a"), 0)
        self.assertGreater(fault_grace.remaining("b"), 0)

    def test_clear_starts_the_grace_again(self) -> None:
        fault_grace = FaultGrace(GRACE_S, self.clock)
        fault_grace.remaining("a")
        self.clock.advance(GRACE_S)
        fault_grace.clear("a")
        self.assertGreater(fault_grace.remaining("a"), 0)

    def test_zero_grace(self) -> None:
        self.assertLessEqual(FaultGrace(0.0, self.clock).remaining("a"), 0)


class PodReadinessTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()

    def pod_readiness(
        self,
        expected: Mapping[str, int],
        grace: float = GRACE_S,
        daemons: Container[str] = (),
        **cluster: Any,
    ) -> PodReadiness:
        events = [an_event("Failed", "no image")]
        api: Any = EventsOnly(*events, clock=self.clock, **cluster)
        return PodReadiness(api, "here", expected, grace, daemons)


class TestPodReadiness(PodReadinessTest):
    def test_exactly_the_expected_number_must_be_ready(self) -> None:
        first, second = a_ready_pod("web-1"), a_ready_pod("web-2")
        unready = a_pod("web-3")
        deleted = a_ready_pod("web-4", deletionTimestamp="now")
        ended = a_pod("web-5", status={"phase": "Failed"})
        cases: list[tuple[Mapping[str, int], list[Object], bool]] = [
            ({"web": 2}, [first, second], True),
            ({"web": 2}, [first], False),
            ({"web": 1}, [first, second], False),
            ({"web": 0}, [], True),
            ({"web": 0}, [first], False),
            ({"web": 2}, [first, unready], False),
            ({"web": 1}, [first, unready], False),
            ({"web": 1}, [first, deleted], False),
            ({"web": 0}, [deleted], False),
            # its replacement exists already
            ({"web": 1}, [first, ended], True),
            # each VDU is checked alone, others are ignored
            ({"web": 1, "agent": 1}, [first, a_ready_pod("a", "agent")], True),
            ({"web": 1, "agent": 1}, [first, second], False),
            ({"web": 1}, [first, a_faulty_pod("x", "other")], True),
            ({"web": 1}, [first, a_pod("x", vdu=None)], True),
        ]
        for expected, pods, is_ready_now in cases:
            pending = self.pod_readiness(expected)(pods)
            names = [pod["metadata"]["name"] for pod in pods]
            self.assertEqual(
                is_ready_now, pending is None, f"{expected} {names}"
            )

    def test_a_daemon_set_may_have_pods_on_obsolete_nodes(self) -> None:
        here, lost = a_ready_pod("agent-1", "agent"), a_pod("agent-2", "agent")
        deleted = a_ready_pod("agent-3", "agent", deletionTimestamp="now")
        cases: tuple[tuple[list[Object], bool], ...] = (
            ([here, lost], True),
            ([here, a_ready_pod("agent-2", "agent")], True),
            ([lost], False),
            ([here, deleted], False),
        )
        for pods, is_ready_now in cases:
            check = self.pod_readiness({"agent": 1}, daemons={"agent"})
            names = [pod["metadata"]["name"] for pod in pods]
            self.assertEqual(is_ready_now, check(pods) is None, str(names))


class TestFaults(PodReadinessTest):
    def test_a_fault_is_tolerated_during_the_grace(self) -> None:
        check = self.pod_readiness({"web": 1})
        pods = [a_faulty_pod()]
        pending = check(pods)
        assert pending is not None
        self.assertTrue(0 < pending.recheck_after_s <= GRACE_S)
        self.clock.advance(GRACE_S)
        error = self.assertRaises(errors.NotReady, check, pods)
        self.assertEqual(
            "Pod web-1 is not ready: ImagePullBackOff: no such; "
            "Pod web-1: Failed: no image",
            str(error),
        )

    def test_the_fault_is_reported_if_events_are_forbidden(self) -> None:
        check = self.pod_readiness({"web": 1}, 0.0, forbidden=True)
        error = self.assertRaises(errors.NotReady, check, [a_faulty_pod()])
        self.assertEqual(
            "Pod web-1 is not ready: ImagePullBackOff: no such", str(error)
        )

    def test_zero_grace_tolerates_no_fault(self) -> None:
        check = self.pod_readiness({"web": 1}, 0.0)
        self.assertIsNotNone(check([a_pod()]))
        self.assertRaises(errors.NotReady, check, [a_faulty_pod()])

    def test_a_pod_that_recovered_is_tolerated_again(self) -> None:
        check = self.pod_readiness({"web": 1})
        check([a_faulty_pod()])
        self.assertIsNone(check([a_ready_pod()]))
        self.clock.advance(GRACE_S)
        self.assertIsNotNone(check([a_faulty_pod()]))

    def test_a_restart_does_not_start_the_grace_again(self) -> None:
        check = self.pod_readiness({"web": 1})
        check([a_faulty_pod()])
        self.clock.advance(GRACE_S)
        self.assertIsNotNone(check([a_pod()]))
        self.assertRaises(errors.NotReady, check, [a_faulty_pod()])

    def test_faults_of_other_vdus_are_ignored(self) -> None:
        for pods in (
            [a_faulty_pod("x", "other")],
            [a_pod("x", vdu=None, status=a_faulty_pod()["status"])],
        ):
            self.assertIsNotNone(self.pod_readiness({"web": 1}, 0.0)(pods))

    def test_a_terminating_pod_is_not_reported(self) -> None:
        pod = a_faulty_pod()
        pod["metadata"]["deletionTimestamp"] = "now"
        self.assertIsNotNone(self.pod_readiness({"web": 1}, 0.0)([pod]))


class TestBarePods(PodReadinessTest):
    def test_a_failed_bare_pod_is_an_error(self) -> None:
        check = self.pod_readiness({"web": 1}, 0.0)
        status = {"phase": "Failed", "message": "exit 1"}
        pod = a_pod(owner=None, status=status)
        self.assertRaises(errors.NotReady, check, [pod])
