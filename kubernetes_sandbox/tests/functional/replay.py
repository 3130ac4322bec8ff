"""Sends the requests of a recording again, and waits for like answers."""

import json
import re
import time
from pathlib import Path
from typing import Any

from tests.functional import likeness
from tests.functional.exchange import Cluster, Watch

_FOLDER = Path(__file__).parents[1] / "recordings"
_GENERATED = re.compile(r"/pods/(\w+-[^/?]+)")
_LONGEST_WAIT = 20.0
_PAUSE = 0.02


def load(name: str) -> dict[str, Any]:
    """Read a recording."""
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text())
    return found


class Replay:
    """One recording against one cluster."""

    def __init__(self, client: Cluster, recording: dict[str, Any]) -> None:
        self._client = client
        self._namespace = recording["namespace"]
        self._steps = recording["steps"]
        self._names: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        client.create_namespace(self._namespace)
        self.watches = [
            (watch, Watch(client, watch["path"]))
            for watch in recording["watches"]
        ]

    def steps(self, *without: int) -> list[tuple[int, dict[str, Any]]]:
        """List the steps with their numbers."""
        return [
            (number, step)
            for number, step in enumerate(self._steps)
            if number not in without
        ]

    def send(
        self, step: dict[str, Any], token: str | None = None
    ) -> tuple[int, Any]:
        """Send a step until its answer is as recorded, or time is up."""
        wanted = step["response"]
        self._settle(step)
        if _is_generated(step["request"]["path"]):
            self._settle_pods()
        end = time.monotonic() + _LONGEST_WAIT
        while True:
            status, body = self._ask(step, token)
            like = status == wanted["status"] and not self._differ(step, body)
            again = step["request"]["method"] == "GET" or status >= 400
            if like or not again or time.monotonic() > end:
                self._remember(wanted["body"], body)
                return status, body
            time.sleep(_PAUSE)

    @staticmethod
    def heeds_status(step: dict[str, Any]) -> bool:
        """Tell whether the recorded status was a settled one."""
        return not step["note"].startswith("right after")

    def _differ(self, step: dict[str, Any], body: Any) -> bool:
        recorded = step["response"]["body"]
        heed = self.heeds_status(step)
        return likeness.differ(recorded, body, status=heed)

    def _settle(self, step: dict[str, Any]) -> None:
        """Wait for the status that the answer to a write shows."""
        request, body = step["request"], step["response"]["body"]
        if request["method"] not in {"PATCH", "PUT", "DELETE"}:
            return
        if "customresourcedefinitions" in request["path"]:
            return  # its last status is made by the deletion itself
        if request["path"].endswith("/status"):
            return  # its status is made by the request
        if not isinstance(body, dict) or not isinstance(
            body.get("status"), dict
        ):
            return
        wanted = likeness.essence(body["status"])
        end = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < end:
            _, found = self._client.ask("GET", self._path(request["path"]))
            if likeness.essence(found.get("status")) == wanted:
                return
            time.sleep(_PAUSE)

    def _settle_pods(self) -> None:
        """Wait until all pods are Ready, before one of them is chosen."""
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        end = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < end:
            pods = self._client.ask("GET", path)[1]["items"]
            if all(_is_ready(pod) for pod in pods):
                return
            time.sleep(_PAUSE)

    def _ask(self, step: dict[str, Any], token: str | None) -> tuple[int, Any]:
        request = step["request"]
        return self._client.ask(
            request["method"],
            self._path(request["path"]),
            self._mapped(request["body"]),
            form=request["content_type"] or "application/json",
            token=token,
        )

    def _path(self, path: str) -> str:
        found = _GENERATED.search(path)
        if found is None:
            return path
        return path.replace(found[1], self._name(found[1]))

    def _name(self, recorded: str) -> str:
        if recorded in self._names:
            return self._names[recorded]
        wanted = likeness.text(recorded)
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        for pod in self._client.ask("GET", path)[1]["items"]:
            name: str = pod["metadata"]["name"]
            if likeness.text(name) == wanted:
                self._names[recorded] = name
                return name
        return recorded

    def _mapped(self, body: Any) -> Any:
        if isinstance(body, str):
            return self._mapped_text(body)
        if not isinstance(body, dict):
            return body
        metadata = dict(body.get("metadata") or {})
        for field, known in (
            ("resourceVersion", self._versions),
            ("uid", self._uids),
            ("name", self._names),
        ):
            if field in metadata:
                metadata[field] = known.get(metadata[field], metadata[field])
        return {**body, "metadata": metadata} if metadata else body

    def _mapped_text(self, body: str) -> str:
        """Put our versions and uids into a body whose bytes matter."""
        for field, known in (
            ("resourceVersion", self._versions),
            ("uid", self._uids),
        ):
            body = re.sub(
                rf'("{field}": ?")([^"]*)',
                lambda found, known=known: (  # type: ignore[misc]
                    found[1] + known.get(found[2], found[2])
                ),
                body,
            )
        return body

    def _remember(self, recorded: Any, found: Any) -> None:
        """Learn which of our names, uids and versions are which."""
        if not isinstance(recorded, dict) or not isinstance(found, dict):
            return
        if "items" in recorded:
            self._remember_items(recorded["items"], found.get("items", []))
            return
        before, after = recorded.get("metadata"), found.get("metadata")
        if not before or not after:
            return
        for field, known in (
            ("resourceVersion", self._versions),
            ("uid", self._uids),
            ("name", self._names),
        ):
            if field in before and field in after:
                known[before[field]] = after[field]

    def _remember_items(self, recorded: list[Any], found: list[Any]) -> None:
        left = list(found)
        for one in recorded:
            wanted = likeness.text(one["metadata"]["name"])
            for other in left:
                if likeness.text(other["metadata"]["name"]) == wanted:
                    left.remove(other)
                    self._remember(one, other)
                    break


def _is_generated(path: str) -> bool:
    """Tell whether a path is of a pod whose name the cluster has chosen."""
    found = _GENERATED.search(path)
    return found is not None and likeness.text(found[1]) != found[1]


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(
        one["type"] == "Ready" and one["status"] == "True"
        for one in conditions
    )
