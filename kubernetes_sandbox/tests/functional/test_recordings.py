"""The sandbox responds as a real control plane was recorded to respond."""

from collections.abc import Sequence
from typing import Any, ClassVar

import testtools

from tests.functional import comparison, differences, replay
from tests.functional.cluster_fixture import Cluster
from tests.functional.differences import Difference
from tests.functional.replay import Replay


def _label(number: int, step: dict[str, Any]) -> str:
    request = step["request"]
    return f"step {number}: {request['method']} {request['path']}"


class RecordingTestCase(testtools.TestCase):
    options: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.client = self.useFixture(Cluster(**self.options))
        self.client.cluster.hold_timers()

    def check(self, name: str) -> None:
        run = Replay(self.client, replay.load(name))
        cluster = self.client.cluster
        tokens = {"viewer": cluster.viewer_token}
        expected = differences.steps_of(name)
        skipped = differences.skipped_steps(name)
        for number, step in run.steps():
            run.prepare(number)
            if number in skipped:
                continue
            user = step["request"].get("user")
            token = tokens.get(user, "") if user else None
            if number in expected:
                self.check_difference(
                    run, number, step, token, expected[number]
                )
            else:
                self.check_step(run, number, step, token)
        self.client.cluster.stop()
        for recorded, watch in run.watches:
            watch.join()
            self.check_watch(recorded, watch.events)

    def check_step(
        self,
        run: Replay,
        number: int,
        step: dict[str, Any],
        token: str | None = None,
    ) -> None:
        status, body = run.send(step, token)
        found = run.differences(step, status, body)
        self.assertEqual([], found, _label(number, step))

    def check_difference(
        self,
        run: Replay,
        number: int,
        step: dict[str, Any],
        token: str | None,
        expected: Difference,
    ) -> None:
        status, body = run.send_once(step, token)
        self.assertTrue(
            run.differences(step, status, body),
            f"{_label(number, step)} is as recorded: {expected.feature}",
        )

    def check_watch(
        self, recorded: dict[str, Any], events: Sequence[dict[str, Any]]
    ) -> None:
        wanted = state_sequences(map(tuple, recorded["events"]))
        found = state_sequences(map(_row, events))
        if not recorded["path"].endswith("/pods"):
            wanted = [_types_only(sequence) for sequence in wanted]
            found = [_types_only(sequence) for sequence in found]
        for sequence in wanted:
            feasible = [one for one in found if _fits(sequence, one)]
            message = f"{recorded['path']}: no {sequence} among {found}"
            self.assertTrue(feasible, message)
            found.remove(feasible[0])
        self.assertEqual([], found, recorded["path"])


StateSequence = tuple[Any, ...]


def _row(event: dict[str, Any]) -> tuple[Any, ...]:
    obj = event["object"]
    metadata, status = obj["metadata"], obj.get("status") or {}
    ready = [
        one["status"]
        for one in status.get("conditions") or ()
        if one["type"] == "Ready"
    ]
    return (
        0.0,
        event["type"],
        metadata["name"],
        "deletionTimestamp" in metadata,
        status.get("phase"),
        ready[0] if ready else None,
    )


def state_sequences(rows: Any) -> list[StateSequence]:
    """Return the sequence of states of each object, by generated name."""
    sequences: dict[tuple[str, int], list[Any]] = {}
    creations: dict[str, int] = {}
    running: set[str] = set()
    for _, kind, name, deleting, phase, ready, *_ in rows:
        if kind == "ADDED":
            if name in running:  # The recorded watch was opened again.
                continue
            running.add(name)
            creations[name] = creations.get(name, 0) + 1
        if kind == "DELETED":
            running.discard(name)
        sequence = sequences.setdefault((name, creations.get(name, 0)), [])
        seen = (kind, deleting, phase, ready)
        if not sequence or sequence[-1] != seen:
            sequence.append(seen)
    return sorted(
        (comparison.without_generated(name), *sequence)
        for (name, _), sequence in sequences.items()
    )


def _types_only(sequence: StateSequence) -> StateSequence:
    kinds: list[str] = []
    for kind, *_ in sequence[1:]:
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return (sequence[0], *((kind,) for kind in kinds))


def _fits(wanted: StateSequence, found: StateSequence) -> bool:
    """Return whether two sequences agree as far as both go."""
    shorter = min(len(wanted), len(found))
    if wanted[:shorter] != found[:shorter]:
        return False
    return not (wanted[-1][0] == "DELETED" and len(found) < len(wanted))


class TestRecordings(RecordingTestCase):
    def test_deployment(self) -> None:
        self.check("deployment")

    def test_replicaset(self) -> None:
        self.check("replicaset")

    def test_statefulset(self) -> None:
        self.check("statefulset")

    def test_statefulset_claims(self) -> None:
        self.check("statefulset-claims")

    def test_statefulset_scale_in(self) -> None:
        self.check("statefulset-scalein")

    def test_daemonset(self) -> None:
        self.check("daemonset")

    def test_pod(self) -> None:
        self.check("pod")

    def test_objects(self) -> None:
        self.check("objects")

    def test_discovery(self) -> None:
        self.check("discovery")

    def test_custom(self) -> None:
        self.check("custom")

    def test_eviction(self) -> None:
        self.check("eviction")

    def test_failures(self) -> None:
        self.check("failures")

    def test_reviews(self) -> None:
        self.check("reviews")

    def test_controller_revision(self) -> None:
        self.check("controllerrevision")

    def test_field_validation(self) -> None:
        self.check("fieldvalidation")

    def test_admission(self) -> None:
        self.check("admission")

    def test_crd(self) -> None:
        self.check("crd")

    def test_expired(self) -> None:
        self.check("expired")

    def test_kinds(self) -> None:
        self.check("kinds")

    def test_kubectl(self) -> None:
        self.check("kubectl")

    def test_kubectl_older(self) -> None:
        self.check("kubectl-older")

    def test_lists(self) -> None:
        self.check("lists")

    def test_names(self) -> None:
        self.check("names")

    def test_negotiation(self) -> None:
        self.check("negotiation")

    def test_rbac(self) -> None:
        self.check("rbac")

    def test_rollout(self) -> None:
        self.check("rollout")

    def test_auth(self) -> None:
        cluster = self.client.cluster
        run = Replay(self.client, replay.load("auth"))
        for number, step in run.steps():
            token = "invalid" if number == 0 else cluster.viewer_token
            self.check_step(run, number, step, token)


class TestSlowPods(RecordingTestCase):
    options: ClassVar[dict[str, Any]] = {"pod_start_delay": 60}

    def test_dryrun_apply(self) -> None:
        self.check("dryrun-apply")


class TestSlowlyStoppingPods(RecordingTestCase):
    options: ClassVar[dict[str, Any]] = {"pod_stop_delay": 1}

    def test_disruption(self) -> None:
        self.check("disruption")


class TestLostNode(RecordingTestCase):
    options: ClassVar[dict[str, Any]] = {"nodes": 0, "orphan_delay": 0.2}

    def test_nodelost(self) -> None:
        self.check("nodelost")
