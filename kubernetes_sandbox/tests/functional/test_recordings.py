"""The sandbox answers as a real control plane was recorded to answer."""

from collections.abc import Sequence
from typing import Any

import testtools

from tests.functional import likeness, replay
from tests.functional.exchange import Cluster
from tests.functional.replay import Replay


class RecordingTestCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client = self.useFixture(Cluster())

    def check(self, name: str, *without: int) -> None:
        run = Replay(self.client, replay.load(name))
        viewer = self.client.cluster.viewer_token
        for number, step in run.steps(*without):
            token = viewer if step["request"].get("user") else None
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
        request, wanted = step["request"], step["response"]
        told = f"step {number}: {request['method']} {request['path']}"
        self.assertEqual(wanted["status"], status, f"{told}: {body}")
        recorded = wanted["body"]
        if isinstance(recorded, dict) and recorded.get("kind") == "EventList":
            self.assertEqual(
                sorted(likeness.events_told(recorded)),
                sorted(likeness.events_told(body)),
                told,
            )
            return
        heed = run.heeds_status(step)
        unlike = likeness.differences(
            likeness.told(recorded, status=heed),
            likeness.told(body, status=heed),
        )
        self.assertEqual([], unlike, told)

    def check_watch(
        self, recorded: dict[str, Any], events: Sequence[dict[str, Any]]
    ) -> None:
        wanted = stories(map(tuple, recorded["events"]))
        found = stories(map(_row, events))
        if not recorded["path"].endswith("/pods"):
            wanted = [_types_only(story) for story in wanted]
            found = [_types_only(story) for story in found]
        for story in wanted:
            fitting = [one for one in found if _fits(story, one)]
            told = f"{recorded['path']}: no {story} among {found}"
            self.assertTrue(fitting, told)
            found.remove(fitting[0])
        self.assertEqual([], found, recorded["path"])


Story = tuple[Any, ...]


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


def stories(rows: Any) -> list[Story]:
    """Tell each object's life: its name's stem, then what it went through."""
    lives: dict[tuple[str, int], list[Any]] = {}
    births: dict[str, int] = {}
    living: set[str] = set()
    for _, kind, name, deleting, phase, ready, *_ in rows:
        if kind == "ADDED":
            if name in living:  # the watch was opened again
                continue
            living.add(name)
            births[name] = births.get(name, 0) + 1
        if kind == "DELETED":
            living.discard(name)
        life = lives.setdefault((name, births.get(name, 0)), [])
        seen = (kind, deleting, phase, ready)
        if not life or life[-1] != seen:
            life.append(seen)
    return sorted(
        (likeness.text(name), *life) for (name, _), life in lives.items()
    )


def _types_only(story: Story) -> Story:
    kinds: list[str] = []
    for kind, *_ in story[1:]:
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return (story[0], *((kind,) for kind in kinds))


def _fits(wanted: Story, found: Story) -> bool:
    """Tell whether two lives agree as far as both go."""
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
        # Its quota came too late to be enforced; the sandbox's never does.
        self.check("failures", 4)

    def test_reviews(self) -> None:
        self.check("reviews")

    def test_controller_revision(self) -> None:
        self.check("controllerrevision")

    def test_field_validation(self) -> None:
        self.check("fieldvalidation")

    def test_auth(self) -> None:
        cluster = self.client.cluster
        run = Replay(self.client, replay.load("auth"))
        for number, step in run.steps():
            token = "nobody" if number == 0 else cluster.viewer_token
            self.check_step(run, number, step, token)
