"""A Kubernetes cluster, and requests to it beside the service's."""

import json
import ssl
import urllib.request
from typing import Any

import fixtures
from kubernetes_sandbox.cluster import SandboxCluster

from tests.fixtures.cluster import start_pods
from tests.fixtures.write_log import WriteLogProxy

CORE = "/api/v1"
APPS = "/apis/apps/v1"
#: kinds that a package can create, and the paths of their lists
LISTED = (
    f"{CORE}/pods",
    f"{CORE}/services",
    f"{CORE}/configmaps",
    f"{CORE}/secrets",
    f"{CORE}/serviceaccounts",
    f"{CORE}/persistentvolumes",
    f"{CORE}/persistentvolumeclaims",
    f"{APPS}/deployments",
    f"{APPS}/replicasets",
    f"{APPS}/statefulsets",
    f"{APPS}/daemonsets",
    f"{APPS}/controllerrevisions",
)


class Cluster(fixtures.Fixture):
    """The sandbox cluster, in this process, on a real socket."""

    def __init__(self, pod_start_delay: float = 0.1) -> None:
        super().__init__()
        self.sandbox = SandboxCluster(
            pod_start_delay=pod_start_delay, pod_stop_delay=0.1
        )

    def _setUp(self) -> None:
        self.sandbox.start()
        self.addCleanup(self.sandbox.stop)
        self._tls = ssl.create_default_context(cadata=self.sandbox.ca_pem)

    @property
    def vim(self) -> dict[str, Any]:
        """Return the body that registers this cluster as a VIM."""
        return {
            "type": "kubernetes",
            "auth_url": self.sandbox.endpoint,
            "auth_cred": {
                "bearer_token": self.sandbox.token,
                "ssl_ca_cert": self.sandbox.ca_pem,
            },
            "vim_project": {"name": "default"},
        }

    def call(self, method: str, path: str, body: Any = None) -> Any:
        url = self.sandbox.endpoint + path
        request = urllib.request.Request(url, method=method)  # noqa: S310
        request.add_header("Authorization", f"Bearer {self.sandbox.token}")
        request.add_header("Content-Type", "application/json")
        if body is not None:
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(  # noqa: S310
            request, timeout=30, context=self._tls
        ) as response:
            return json.loads(response.read())

    def add_namespace(self, name: str) -> str:
        body = {"apiVersion": "v1", "kind": "Namespace"}
        labelled = {**body, "metadata": {"name": name}}
        self.call("POST", f"{CORE}/namespaces", labelled)
        return name

    def pods(self, namespace: str = "default") -> dict[str, Any]:
        """List the pods by their names."""
        found = self.call("GET", f"{CORE}/namespaces/{namespace}/pods")
        return {pod["metadata"]["name"]: pod for pod in found["items"]}

    def start_pods(self) -> None:
        """Start the pods that wait for their start delay."""
        start_pods(self.sandbox)

    def list_all(self) -> set[tuple[str, str, str]]:
        """Return all objects of VNFs: (kind, namespace, name)."""
        return {
            (
                path,
                one["metadata"].get("namespace", ""),
                one["metadata"]["name"],
            )
            for path in LISTED
            for one in self.call("GET", path)["items"]
        }


class LoggedCluster(Cluster):
    """The sandbox cluster behind a proxy that logs writes, except those of
    the test itself.
    """

    def _setUp(self) -> None:
        super()._setUp()
        sandbox = self.sandbox
        self.log = WriteLogProxy(sandbox.endpoint, sandbox.ca_pem)
        self.useFixture(self.log)

    @property
    def vim(self) -> dict[str, Any]:
        vim = super().vim
        vim["auth_url"] = self.log.endpoint
        vim["auth_cred"]["ssl_ca_cert"] = self.log.ca_pem
        return vim
