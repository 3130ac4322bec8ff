"""Replay of recordings: send their requests and compare the responses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.functional import comparison
from tests.functional.cluster_fixture import Cluster, Watch

_FOLDER = Path(__file__).parents[1] / "recordings"
_GENERATED = re.compile(r"/(pods|replicasets)/(\w+-[^/?]+)")
#: Requests that change the status themselves.
_SETS_STATUS = re.compile(
    r"/status$|/customresourcedefinitions/|DELETE /api/v1/namespaces/[^/]+$"
)
_QUERY_VERSION = re.compile(r"\b(resourceVersion|continue)=([^&]+)")


def load(name: str) -> dict[str, Any]:
    """Load a recording."""
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text())
    return found


class Replay:
    """One recording that is replayed against one cluster."""

    def __init__(self, client: Cluster, recording: dict[str, Any]) -> None:
        self._client = client
        self._namespace = recording["namespace"]
        self._steps = recording["steps"]
        self._names: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._actions = recording.get("actions", {})
        client.create_namespace(self._namespace)
        self.watches = [
            (watch, Watch(client, watch["path"]))
            for watch in recording["watches"]
        ]

    def steps(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Iterate over the steps with their numbers."""
        return enumerate(self._steps)

    def prepare(self, number: int) -> None:
        """Send the requests that were not recorded before a step."""
        for method, path, body in self._actions.get(str(number), ()):
            status, found = self._client.request(method, path, body)
            assert status < 300, found

    def send_once(
        self, step: dict[str, Any], token: str | None = None
    ) -> tuple[int, Any]:
        """Send a step without waiting for the recorded response."""
        status, body = self._ask(step, token)
        self._remember(step["response"]["body"], body)
        return status, body

    def send(
        self, step: dict[str, Any], token: str | None = None
    ) -> tuple[int, Any]:
        """Send a step; repeat a read until the response is as recorded."""
        wanted = step["response"]
        if wanted["status"] < 400:
            self._wait_for_status(step)
        at_once = "right after" in step["note"]
        if not at_once and self._is_new_pod(step["request"]["path"]):
            self._wait_for_ready_pods()
        for _ in self._client.states():
            status, body = self._ask(step, token)
            again = step["request"]["method"] == "GET" or status >= 400
            if not again or not self.differences(step, status, body):
                break
        self._remember(wanted["body"], body)
        return status, body

    @staticmethod
    def is_status_final(step: dict[str, Any]) -> bool:
        """Return whether the recorded status was final."""
        return not step["note"].startswith("right after")

    def differences(
        self, step: dict[str, Any], status: int, body: Any
    ) -> list[str]:
        """List what differs between a response and the recorded one."""
        wanted = step["response"]
        found = []
        if status != wanted["status"]:
            found.append(
                f"status: recorded {wanted['status']}, found {status}"
            )
        if "events" in wanted:
            return found + comparison.event_differences(wanted["events"], body)
        if wanted.get("omitted"):
            return found
        if isinstance(body, list) and len(body) == 1:
            (body,) = body  # a watch with one event
        return found + comparison.body_differences(
            wanted["body"], body, status=self.is_status_final(step)
        )

    def _wait_for_status(self, step: dict[str, Any]) -> None:
        """Wait for the status that the response to a write contains."""
        request, body = step["request"], step["response"]["body"]
        if request["method"] not in {"PATCH", "PUT", "DELETE"}:
            return
        if _SETS_STATUS.search(f"{request['method']} {request['path']}"):
            return
        if not isinstance(body, dict) or not isinstance(
            body.get("status"), dict
        ):
            return
        wanted = comparison.without_volatile(body["status"])
        for _ in self._client.states():
            _, found = self._client.request("GET", self._path(request["path"]))
            if comparison.without_volatile(found.get("status")) == wanted:
                return
        raise AssertionError(f"The status is not {wanted}: {found}")

    def _is_new_pod(self, path: str) -> bool:
        """Return whether a pod with a generated name has to be selected."""
        found = _GENERATED.search(path)
        if found is None or found[1] != "pods" or found[2] in self._names:
            return False
        return comparison.without_generated(found[2]) != found[2]

    def _wait_for_ready_pods(self) -> None:
        """Wait until all pods are Ready, before one of them is selected."""
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        for _ in self._client.states():
            pods = self._client.request("GET", path)[1]["items"]
            if all(_is_ready(pod) for pod in pods):
                return
        raise AssertionError(f"Not all pods are ready: {pods}")

    def _ask(self, step: dict[str, Any], token: str | None) -> tuple[int, Any]:
        request = step["request"]
        return self._client.request(
            request["method"],
            self._path(request["path"]),
            self._mapped(request["body"]),
            content_type=request["content_type"],
            token=token,
            headers=request.get("headers"),
            encoded=request.get("body_base64"),
        )

    def _path(self, path: str) -> str:
        path = path.replace("fake-node", "sandbox-node")
        path = _QUERY_VERSION.sub(self._query_version, path)
        found = _GENERATED.search(path)
        if found is None:
            return path
        name = self._name(path[: found.end(1)], found[2])
        return path.replace(found[2], name)

    def _query_version(self, found: re.Match[str]) -> str:
        known = {**self._versions, **self._tokens}
        return f"{found[1]}={known.get(found[2], found[2])}"

    def _name(self, path: str, recorded: str) -> str:
        if recorded in self._names:
            return self._names[recorded]
        wanted = comparison.without_generated(recorded)
        found = self._client.request("GET", path)[1]["items"]
        for one in sorted(found, key=_is_ready, reverse=True):
            name: str = one["metadata"]["name"]
            known = name in self._names.values()
            if not known and comparison.without_generated(name) == wanted:
                self._names[recorded] = name
                return name
        return recorded

    def _mapped(self, body: Any) -> Any:
        if isinstance(body, str):
            return self._mapped_text(body)
        if isinstance(body, list):
            return [self._mapped_operation(one) for one in body]
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

    def _mapped_operation(self, operation: Any) -> Any:
        """Replace the resourceVersion in an operation of a JSON patch."""
        if operation.get("path") != "/metadata/resourceVersion":
            return operation
        version = operation["value"]
        return {**operation, "value": self._versions.get(version, version)}

    def _mapped_text(self, body: str) -> str:
        """Replace resourceVersions and uids in a body that is sent as is."""
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
        """Map the recorded names, uids and resourceVersions to ours."""
        if not isinstance(recorded, dict) or not isinstance(found, dict):
            return
        before, after = recorded.get("metadata"), found.get("metadata")
        if before and after and "continue" in after:
            self._tokens[before.get("continue", "")] = after["continue"]
        if "items" in recorded:
            self._remember_items(recorded["items"], found.get("items", []))
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
        remaining = list(found)
        for one in recorded:
            wanted = comparison.without_generated(
                one["metadata"].get("name", "")
            )
            for other in remaining:
                if (
                    comparison.without_generated(
                        other["metadata"].get("name", "")
                    )
                    == wanted
                ):
                    remaining.remove(other)
                    self._remember(one, other)
                    break


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(
        one["type"] == "Ready" and one["status"] == "True"
        for one in conditions
    )
