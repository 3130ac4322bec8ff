"""An HTTP client for the cluster, and a thread that reads a watch."""

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import fixtures
import urllib3

from kubernetes_sandbox.cluster import SandboxCluster

_TIMEOUT_S = 60.0
#: more than a step of a recording needs; retries never end
_MAX_TIMERS = 1000


class Cluster(fixtures.Fixture):
    """A running cluster with an HTTP client."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = options

    def _setUp(self) -> None:
        self.cluster = SandboxCluster(**self._options)
        self.cluster.start()
        self.addCleanup(self.cluster.stop)
        context = ssl.create_default_context(cadata=self.cluster.ca_pem)
        self.pool = urllib3.PoolManager(ssl_context=context, maxsize=8)
        self.addCleanup(self.pool.clear)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str | None = "application/json",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        encoded: str | None = None,
    ) -> tuple[int, Any]:
        """Send a request; return the status and the decoded body.

        The body of a watch is the list of its events.

        :param encoded: the body in base64
        """
        data = base64.b64decode(encoded) if encoded else _bytes_of(body)
        token = self.cluster.token if token is None else token
        all_headers = {
            "User-Agent": "python-requests",
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **(headers or {}),
        }
        if content_type:
            all_headers["Content-Type"] = content_type
        url = self.cluster.endpoint + path
        response = self.pool.request(
            method, url, body=data, headers=all_headers
        )
        text = response.data.decode()
        media_type = response.headers.get("Content-Type", "")
        if not media_type.startswith("application/json"):
            return response.status, text
        if response.status == 200 and "watch=" in path and "\n" in text:
            return response.status, [*map(json.loads, text.splitlines())]
        return response.status, json.loads(text) if text else None

    def changes(self) -> Iterator[None]:
        """Yield now, and after each change of an object until a timeout."""
        end = time.monotonic() + _TIMEOUT_S
        changed = True
        while changed and time.monotonic() < end:
            version = self.cluster.resource_version
            yield
            changed = self.cluster.wait_for_change(
                version, end - time.monotonic()
            )

    def states(self) -> Iterator[None]:
        """Yield in each state that follows while the time is held."""
        self.cluster.wait_idle()
        yield
        for _ in range(_MAX_TIMERS):
            if not self.cluster.run_next_timer():
                return
            yield

    def create_namespace(self, name: str) -> None:
        self.request(
            "POST", "/api/v1/namespaces", {"metadata": {"name": name}}
        )


def _bytes_of(body: Any) -> bytes | None:
    if body is None:
        return None
    return (body if isinstance(body, str) else json.dumps(body)).encode()


class Watch:
    """Reads a watch in a thread until it ends."""

    def __init__(self, client: Cluster, path: str) -> None:
        self.events: list[dict[str, Any]] = []
        self._received = threading.Condition()
        headers = {"Authorization": f"Bearer {client.cluster.token}"}
        sign = "&" if "?" in path else "?"
        url = f"{client.cluster.endpoint}{path}{sign}watch=true"
        self._response = client.pool.request(
            "GET", url, headers=headers, preload_content=False
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        rest = b""
        for chunk in self._response.stream(amt=None):
            *lines, rest = (rest + chunk).split(b"\n")
            with self._received:
                self.events += [json.loads(line) for line in lines if line]
                self._received.notify_all()

    def wait(self, is_enough: Callable[[], bool]) -> bool:
        """Wait until the events are enough; return whether they are."""
        with self._received:
            return self._received.wait_for(is_enough, _TIMEOUT_S)

    def join(self) -> None:
        """Wait for the end of the stream."""
        self._thread.join(_TIMEOUT_S)
        self._response.release_conn()
        self._response.close()
