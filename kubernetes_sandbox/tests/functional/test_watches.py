"""Watches and lists beyond the recordings."""

import json
from pathlib import Path
from typing import Any

import testtools

from tests.functional.cluster_fixture import Cluster, Watch

_MAPS = "/api/v1/namespaces/default/configmaps"

_RECORDINGS = Path(__file__).parent.parent / "recordings"


def _names(page: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in page["items"]]


def _recorded(name: str, status: int, path: str) -> dict[str, Any]:
    """Return the first body that a real API server sent with a status."""
    recording = json.loads((_RECORDINGS / f"{name}.json").read_text())
    found: dict[str, Any] = next(
        step["response"]["body"]
        for step in recording["steps"]
        if step["response"]["status"] == status
        and path in step["request"]["path"]
    )
    return found


class TestWatches(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client = self.useFixture(Cluster())

    def create(self, name: str, **labels: str) -> dict[str, Any]:
        body = {"metadata": {"name": name, "labels": labels}}
        result: dict[str, Any] = self.client.request("POST", _MAPS, body)[1]
        return result

    def label(self, name: str, **labels: str | None) -> None:
        patch = {"metadata": {"labels": labels}}
        content_type = "application/merge-patch+json"
        self.client.request(
            "PATCH", f"{_MAPS}/{name}", patch, content_type=content_type
        )

    def seen(self, query: str) -> list[tuple[str, str]]:
        watch = Watch(self.client, f"{_MAPS}?timeoutSeconds=1&{query}")
        watch.join()
        return [
            (event["type"], event["object"]["metadata"].get("name", ""))
            for event in watch.events
        ]

    def test_object_enters_and_leaves_a_selector(self) -> None:
        version = self.create("one", app="a")["metadata"]["resourceVersion"]
        self.label("one", app="b")
        self.label("one", app="b", more="x")
        self.label("one", app=None)
        query = f"labelSelector=app%3Db&resourceVersion={version}"
        self.assertEqual(
            [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")],
            self.seen(query),
        )

    def test_resumed_watch_sends_missed_events(self) -> None:
        version = self.create("one")["metadata"]["resourceVersion"]
        self.create("two")
        self.client.request("DELETE", f"{_MAPS}/one")
        self.assertEqual(
            [("ADDED", "two"), ("DELETED", "one")],
            self.seen(f"resourceVersion={version}"),
        )

    def test_initial_events_end_with_a_bookmark(self) -> None:
        query = (
            "sendInitialEvents=true&allowWatchBookmarks=true"
            "&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Dx"
        )
        self.create("x")
        self.assertEqual(
            [("ADDED", "x"), ("BOOKMARK", "")], self.seen(query)[:2]
        )

    def test_pages_contain_the_whole_list(self) -> None:
        for number in range(5):
            self.create(f"map-{number}", paged="yes")
        names: list[str] = []
        query = "?limit=2&labelSelector=paged%3Dyes"
        path: str | None = _MAPS + query
        while path:
            page = self.client.request("GET", path)[1]
            names += [item["metadata"]["name"] for item in page["items"]]
            token = page["metadata"].get("continue")
            path = f"{_MAPS}{query}&continue={token}" if token else None
        self.assertEqual([f"map-{number}" for number in range(5)], names)

    def test_expired_pages_go_on_inconsistently(self) -> None:
        for number in range(4):
            self.create(f"map-{number}", paged="yes")
        query = f"{_MAPS}?limit=2&labelSelector=paged%3Dyes"
        token = self.client.request("GET", query)[1]["metadata"]["continue"]
        self.create("map-9", paged="yes")
        self.client.request("DELETE", f"{_MAPS}/map-2")
        page = self.client.request("GET", f"{query}&continue={token}")[1]
        self.assertEqual(["map-2", "map-3"], _names(page))
        self.client.cluster.compact()
        status, answer = self.client.request(
            "GET", f"{query}&continue={token}"
        )
        self.assertEqual((410, "Expired"), (status, answer["reason"]))
        recorded = _recorded("expired", 410, "continue=")
        self.assertEqual(recorded["message"], answer["message"])
        token = answer["metadata"]["continue"]
        page = self.client.request("GET", f"{query}&continue={token}")[1]
        self.assertEqual(["map-3", "map-9"], _names(page))

    def test_finalizer_defers_removal(self) -> None:
        body = {"metadata": {"name": "held", "finalizers": ["a.example/b"]}}
        self.client.request("POST", _MAPS, body)
        answer = self.client.request("DELETE", f"{_MAPS}/held")[1]
        self.assertIn("deletionTimestamp", answer["metadata"])
        self.assertEqual(200, self.client.request("GET", f"{_MAPS}/held")[0])
        patch = {"metadata": {"finalizers": None}}
        content_type = "application/merge-patch+json"
        self.client.request(
            "PATCH", f"{_MAPS}/held", patch, content_type=content_type
        )
        self.assertEqual(404, self.client.request("GET", f"{_MAPS}/held")[0])

    def test_delete_preconditions(self) -> None:
        uid = self.create("one")["metadata"]["uid"]
        wrong = {"preconditions": {"uid": "other"}}
        right = {"preconditions": {"uid": uid}}
        path = f"{_MAPS}/one"
        self.assertEqual(409, self.client.request("DELETE", path, wrong)[0])
        self.assertEqual(200, self.client.request("DELETE", path, right)[0])

    def test_role_binding_grants_access(self) -> None:
        root = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
        role = {"metadata": {"name": "r"}, "rules": [rule]}
        binding = {
            "metadata": {"name": "r"},
            "subjects": [{"kind": "User", "name": "viewer"}],
            "roleRef": {"kind": "Role", "name": "r"},
        }
        self.client.request("POST", f"{root}/roles", role)
        self.client.request("POST", f"{root}/rolebindings", binding)
        token = self.client.cluster.viewer_token
        for place, wanted in (("default", 200), ("kube-system", 403)):
            path = f"/api/v1/namespaces/{place}/pods"
            status = self.client.request("GET", path, token=token)[0]
            self.assertEqual(wanted, status)
