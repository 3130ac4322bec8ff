"""The cluster of a storm: the sandbox behind a fault proxy."""

import base64
import json
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fixtures
from trustme import CA

from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL, VDU_LABEL
from tests.fixtures import waiting
from tests.services.cluster import APPS, CORE, LISTED

LISTENING_RE = re.compile(r"(?:listens on|Listening at:) (https://[^\s;]+)")
NAMESPACE = re.compile(r"/namespaces/n-([0-9a-f-]{36})(?:/|$)")
#: groups whose kinds are reviews, which are not stored
REVIEW_PATHS = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")


class Write(NamedTuple):
    """A request that changes something in the cluster."""

    at: float
    sender: int | None
    method: str
    path: str
    outcome: str

    @property
    def instance_id(self) -> str | None:
        found = NAMESPACE.search(self.path)
        return found[1] if found else None


class Process(fixtures.Fixture):
    """A process of the cluster, which prints its address."""

    def __init__(self, log: Path, *command: str) -> None:
        super().__init__()
        self._log = log
        self._command = command

    def _setUp(self) -> None:
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.addCleanup(self._end)
        self.url = waiting.until(self._listens, f"{self._command[0]}", 60)

    def _listens(self) -> str | None:
        if self.process.poll() is not None:
            raise AssertionError(f"It ended: {self._log.read_text()}")
        found = LISTENING_RE.search(self._log.read_text())
        return found[1] if found else None

    def _end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)

    def write(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()


class StormCluster(fixtures.Fixture):
    """A cluster with injected faults and a log of all changes."""

    def __init__(self, folder: Path, pod_start_delay: float) -> None:
        super().__init__()
        self._folder = folder
        self._delay = pod_start_delay

    def _setUp(self) -> None:
        config = self._folder / "kubeconfig"
        sandbox = Process(
            self._folder / "sandbox.log",
            "kubernetes_sandbox",
            f"--kubeconfig={config}",
            f"--pod-start-delay={self._delay}",
            "--nodes=3",
        )
        self._url = self.useFixture(sandbox).url
        written = json.loads(config.read_text())
        self._token = written["users"][0]["user"]["token"]
        ca = written["clusters"][0]["cluster"]["certificate-authority-data"]
        self._tls = ssl.create_default_context(
            cadata=base64.b64decode(ca).decode()
        )
        authority = CA()
        pair = authority.issue_cert("127.0.0.1")
        pem = pair.private_key_and_cert_chain_pem
        pem.write_to_path(self._folder / "proxy.pem")
        self._proxy = self.useFixture(
            Process(
                self._folder / "proxy.log",
                "tests.storm.fault_proxy",
                self._url,
                str(self._folder),
            )
        )
        self.vim = {
            "type": "kubernetes",
            "auth_url": self._proxy.url,
            "auth_cred": {
                "bearer_token": self._token,
                "ssl_ca_cert": authority.cert_pem.bytes().decode(),
            },
            "vim_project": {"name": "default"},
        }

    def set_fault(self, **fault: Any) -> None:
        """Set a fault; without arguments, clear it."""
        self._proxy.write(json.dumps(fault or None))

    @property
    def writes(self) -> list[Write]:
        """The requested changes, in order."""
        lines = (self._folder / "writes.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return sorted(
            Write(
                at=one["at"],
                sender=one["sender"],
                method=one["method"],
                path=one["path"],
                outcome=one["fate"],
            )
            for one in found
            if not one["path"].startswith(REVIEW_PATHS)
            and "dryRun=" not in one["query"]
        )

    # requests to the cluster without the proxy

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request without faults; None: 404."""
        request = urllib.request.Request(self._url + path, method=method)  # noqa: S310
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", "application/json")
        if body is not None:
            request.data = json.dumps(body).encode()
        for _ in range(100):
            try:
                with urllib.request.urlopen(  # noqa: S310
                    request, timeout=60, context=self._tls
                ) as response:
                    return json.loads(response.read())
            except urllib.error.HTTPError as error:
                with error:
                    if error.code == 404:
                        return None
                    raise
            except OSError:  # its API server restarts
                time.sleep(0.2)
        raise AssertionError("The cluster does not answer")

    def add_namespace(self, instance_id: str) -> str:
        """Create the namespace of an instance; return its name."""
        name = f"n-{instance_id}"
        body = {"metadata": {"name": name}}
        self.call("POST", f"{CORE}/namespaces", body)
        return name

    def pods(self) -> dict[tuple[str, str], set[str]]:
        """Return the names of the pods of each instance's VDUs."""
        found: dict[tuple[str, str], set[str]] = {}
        for pod in self._items(f"{CORE}/pods"):
            labels = pod["metadata"].get("labels", {})
            if "deletionTimestamp" in pod["metadata"]:
                continue
            key = (labels.get(INSTANCE_LABEL, ""), labels.get(VDU_LABEL, ""))
            found.setdefault(key, set()).add(pod["metadata"]["name"])
        return found

    def replicas(self) -> dict[tuple[str, str], int]:
        """Return spec.replicas of each instance's workloads."""
        paths = ("deployments", "replicasets", "statefulsets")
        return {
            (labels[INSTANCE_LABEL], body["metadata"]["name"]): int(
                body["spec"]["replicas"]
            )
            for path in paths
            for body in self._items(f"{APPS}/{path}")
            if INSTANCE_LABEL in (labels := body["metadata"].get("labels", {}))
            and not body["metadata"].get("ownerReferences")
        }

    def owned(self) -> Iterator[tuple[str, str]]:
        """List all objects with the label of an instance, or in its namespace:
        (instance, object).
        """
        for path in LISTED:
            for body in self._items(path):
                meta = body["metadata"]
                label = meta.get("labels", {}).get(INSTANCE_LABEL)
                place = meta.get("namespace", "")
                own = meta["name"] in {"kube-root-ca.crt", "default"}
                in_namespace = place.startswith("n-") and not own
                if label or in_namespace:
                    kind = path.rpartition("/")[2]
                    yield (
                        label or place.removeprefix("n-"),
                        f"{place}/{kind}/{meta['name']}",
                    )

    def _items(self, path: str) -> Iterable[Any]:
        found = self.call("GET", path)
        return found["items"] if found else ()
