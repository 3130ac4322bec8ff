"""A plain HTTP client for the cluster, and a thread that reads a watch."""

import json
import ssl
import threading
from typing import Any

import fixtures
import urllib3

from kubernetes_sandbox.cluster import SandboxCluster


class Cluster(fixtures.Fixture):
    """A running cluster, and how to speak with it."""

    def __init__(self, **wishes: Any) -> None:
        super().__init__()
        self._wishes = wishes

    def _setUp(self) -> None:
        self.cluster = SandboxCluster(**self._wishes)
        self.cluster.start()
        self.addCleanup(self.cluster.stop)
        context = ssl.create_default_context(cadata=self.cluster.ca_pem)
        self.pool = urllib3.PoolManager(ssl_context=context, maxsize=8)
        self.addCleanup(self.pool.clear)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        form: str = "application/json",
        token: str | None = None,
    ) -> tuple[int, Any]:
        """Send a request; answers the status and the decoded body."""
        data = None
        if body is not None:
            raw = isinstance(body, str)
            data = (body if raw else json.dumps(body)).encode()
        token = self.cluster.token if token is None else token
        headers = {"Authorization": f"Bearer {token}", "Content-Type": form}
        response = self.pool.request(
            method, self.cluster.endpoint + path, body=data, headers=headers
        )
        if response.headers["Content-Type"].startswith("application/json"):
            text = response.data.decode()
            lines = [json.loads(line) for line in text.splitlines() if line]
            return response.status, lines[0] if lines else None
        return response.status, response.data.decode()

    def create_namespace(self, name: str) -> None:
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})


class Watch:
    """Reads a watch in a thread until the cluster ends it."""

    def __init__(self, client: Cluster, path: str) -> None:
        self.events: list[dict[str, Any]] = []
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
            self.events += [json.loads(line) for line in lines if line]

    def join(self) -> None:
        """Wait for the end of the stream."""
        self._thread.join(60)
        self._response.release_conn()
        self._response.close()
