"""The lifecycle of a VNF with one Deployment, over REST and by the bare client.

What the benchmarks have in common: the VNF, the same work done by the
``kubernetes`` client alone with watches, and the processes that serve both.
``bench/compare.py`` is the one to run.
"""

import concurrent.futures
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes
import package
import urllib3
import yaml

ROOT = Path(__file__).parent.parent
SANDBOX = ROOT / "tools" / "sandbox.py"
BIN = Path(sys.executable).parent
sys.path.insert(0, str(ROOT))

from tools import kubeconfig  # noqa: E402

ACTIVE = {"STARTING", "PROCESSING", "ROLLING_BACK"}
#: operation -> the method of a subject
OPERATIONS = {
    "instantiate": "instantiate",
    "scale out": "scale_out",
    "scale in": "scale_in",
    "heal one VNFC": "heal_one",
    "heal the whole": "heal_all",
    "terminate": "terminate",
}
CONF = """\
[DEFAULT]
state_path = {state}
transport_url = {queue}
default_log_levels = tacker_cnf=WARNING
[database]
connection = {database}
[api]
auth_strategy = noauth
port = {port}
[vims]
allow_loopback = true
[quotas]
vnf_instances = -1
operations = -1
vnf_packages = -1
"""


class Product:
    """A VNF, driven over REST.

    :param look_every: seconds between two reads of an operation
    :param vims: the vimConnectionInfo of the VNF; by default the default VIM
    :param token: sent as X-Auth-Token
    """

    def __init__(
        self,
        api: str,
        pool: urllib3.PoolManager,
        look_every: float = 0.01,
        vims: Mapping[str, Any] | None = None,
        token: str = "",
    ) -> None:
        self.api, self.pool = api, pool
        self.look_every = look_every
        self._vims = vims
        self._token = {"X-Auth-Token": token} if token else {}
        #: URL of the last operation
        self.operation = ""
        self.workload = f"vnf-{uuid.uuid4().hex[:8]}"
        self.instance = ""

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        url = path if path.startswith("http") else self.api + path
        raw = isinstance(body, bytes)
        data = body if raw else json.dumps(body) if body is not None else None
        kind = "application/zip" if raw else "application/json"
        response = self.pool.request(
            method,
            url,
            body=data,
            headers={
                "Version": "2.0.0",
                "Content-Type": kind,
                **self._token,
                **(headers or {}),
            },
        )
        if response.status >= 400:
            raise SystemExit(f"{method} {url}: {response.data.decode()}")
        return response

    def prepare(self, pods: int) -> None:
        vnfd_id = str(uuid.uuid4())
        path = "/vnfpkgm/v1/vnf_packages"
        made = self.call("POST", path, {}).json()
        content = package.csar(vnfd_id, self.workload, pods)
        self.call("PUT", f"{path}/{made['id']}/package_content", content)
        path = "/vnflcm/v2/vnf_instances"
        self.instance = self.call("POST", path, {"vnfdId": vnfd_id}).json()[
            "id"
        ]

    def run(self, task: str, body: Any) -> None:
        path = f"/vnflcm/v2/vnf_instances/{self.instance}/{task}"
        self.operation = self.call("POST", path, body).headers["Location"]
        while True:
            op_occ = self.call("GET", self.operation).json()
            if op_occ["operationState"] == "COMPLETED":
                return
            if op_occ["operationState"] not in ACTIVE:
                raise SystemExit(f"{task}: {op_occ}")
            time.sleep(self.look_every)

    def instantiate(self, _pods: int) -> None:
        parameters = {
            "lcm-kubernetes-def-files": [package.DEF_FILE],
            "namespace": "default",
        }
        body = {"flavourId": "simple", "additionalParams": parameters}
        if self._vims:
            body["vimConnectionInfo"] = self._vims
        self.run("instantiate", body)

    def scale(self, kind: str, steps: int) -> None:
        body = {"type": kind, "aspectId": "pods", "numberOfSteps": steps}
        self.run("scale", body)

    def scale_out(self, pods: int) -> None:
        self.scale("SCALE_OUT", pods)

    def scale_in(self, pods: int) -> None:
        self.scale("SCALE_IN", pods)

    def heal_one(self, _pods: int) -> None:
        path = f"/vnflcm/v2/vnf_instances/{self.instance}"
        info = self.call("GET", path).json()["instantiatedVnfInfo"]
        self.run("heal", {"vnfcInstanceId": [info["vnfcInfo"][0]["id"]]})

    def heal_all(self, _pods: int) -> None:
        self.run("heal", {})

    def terminate(self, _pods: int) -> None:
        self.run("terminate", {"terminationType": "GRACEFUL"})


class Baseline:
    """The same Deployment, driven by the bare client."""

    def __init__(self, kubeconfig: str) -> None:
        api = kubernetes.config.new_client_from_config(kubeconfig)
        self.core = kubernetes.client.CoreV1Api(api)
        self.apps = kubernetes.client.AppsV1Api(api)
        self.name = f"baseline-{uuid.uuid4().hex[:8]}"

    def prepare(self, _pods: int) -> None:
        pass

    def pods(self, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Watch this Deployment's pods until a condition is met."""
        selector = {"label_selector": f"app={self.name}"}
        listed = self.core.list_namespaced_pod("default", **selector)
        seen = {pod.metadata.uid: pod for pod in listed.items}
        if done(seen):
            return seen
        watch = kubernetes.watch.Watch()
        for event in watch.stream(
            self.core.list_namespaced_pod,
            "default",
            resource_version=listed.metadata.resource_version,
            **selector,
        ):
            pod = event["object"]
            if event["type"] == "DELETED":
                seen.pop(pod.metadata.uid, None)
            else:
                seen[pod.metadata.uid] = pod
            if done(seen):
                watch.stop()
        return seen

    def wait_available(self, count: int) -> None:
        def done(seen: dict[str, Any]) -> bool:
            return len(seen) == count and all(map(_ready, seen.values()))

        self.pods(done)
        while True:
            found = self.apps.read_namespaced_deployment(self.name, "default")
            status = found.status
            if (
                status.observed_generation >= found.metadata.generation
                and (status.ready_replicas or 0) == count
            ):
                return
            time.sleep(0.005)

    def instantiate(self, pods: int) -> None:
        body = yaml.safe_load(package.manifest(self.name, pods))
        self.apps.create_namespaced_deployment("default", body)
        self.wait_available(pods)

    def scale(self, count: int) -> None:
        self.apps.patch_namespaced_deployment_scale(
            self.name, "default", {"spec": {"replicas": count}}
        )
        self.wait_available(count)

    def scale_out(self, pods: int) -> None:
        self.scale(2 * pods)

    def scale_in(self, pods: int) -> None:
        self.scale(pods)

    def heal_one(self, pods: int) -> None:
        listed = self.core.list_namespaced_pod(
            "default", label_selector=f"app={self.name}"
        )
        old = listed.items[0].metadata
        self.core.delete_namespaced_pod(old.name, "default")
        self.pods(lambda seen: old.uid not in seen)
        self.wait_available(pods)

    def heal_all(self, pods: int) -> None:
        self.terminate(pods)
        self.instantiate(pods)

    def terminate(self, _pods: int) -> None:
        self.apps.delete_namespaced_deployment(
            self.name, "default", propagation_policy="Foreground"
        )
        self.pods(lambda seen: not seen)
        with contextlib.suppress(kubernetes.client.ApiException):
            while True:
                self.apps.read_namespaced_deployment(self.name, "default")
                time.sleep(0.005)


def _ready(pod: Any) -> bool:
    return pod.metadata.deletion_timestamp is None and any(
        c.type == "Ready" and c.status == "True"
        for c in pod.status.conditions or ()
    )


Times = dict[str, list[float]]


def run_lifecycle(subject: Any, pods: int, times: Times) -> None:
    """Run the lifecycle of one VNF, and time each operation."""
    subject.prepare(pods)
    for name, task in OPERATIONS.items():
        start = time.perf_counter()
        getattr(subject, task)(pods)
        times[name].append(time.perf_counter() - start)


def empty_times() -> Times:
    return {name: [] for name in OPERATIONS}


@contextlib.contextmanager
def cluster(state: Path) -> Iterator[Path]:
    """Start the cluster in a process of its own; yield its kubeconfig."""
    kubeconfig = state / "cluster.json"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "kubernetes_sandbox",
            "--port=0",
            "--nodes=2",
            "--pod-start-delay=0.3",
            f"--kubeconfig={kubeconfig}",
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(kubeconfig)
        yield kubeconfig
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def sandbox(state: Path, kubeconfig_file: Path) -> Iterator[str]:
    """Start the service in one process; yield the URL of its API."""
    service = subprocess.Popen(
        [
            sys.executable,
            str(SANDBOX),
            f"--state={state}",
            "--port=0",
            f"--kubeconfig={kubeconfig_file}",
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(state / "sandbox.json")
        yield json.loads((state / "sandbox.json").read_text())["api"]
    finally:
        service.terminate()
        service.wait(60)


@contextlib.contextmanager
def servers(
    state: Path, database: str, queue: str, conductors: int
) -> Iterator[str]:
    """Start an API server and conductors; yield the URL of the API."""
    port = free_port()
    text = CONF.format(state=state, port=port, database=database, queue=queue)
    names = ["api"] + ["conductor"] * conductors
    with programs(state, text, port, names):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def programs(
    state: Path, configuration: str, port: int, names: Iterable[str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start programs of the service, and wait until the API answers.

    :param port: of the API
    """
    conf = configure(state, configuration)
    running = [start_program(name, conf) for name in names]
    try:
        wait_until_served(port)
        yield running
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(60)


def configure(state: Path, configuration: str) -> Path:
    """Write a configuration, and prepare its database; return the file."""
    conf = state / "bench.conf"
    conf.write_text(configuration)
    for command in (("keys", "create"), ("db", "upgrade")):
        manage = [BIN / "tacker-cnf-manage", f"--config-file={conf}"]
        subprocess.run(
            [*manage, *command], check=True, stdout=subprocess.DEVNULL
        )
    return conf


def start_program(
    name: str, conf: Path, folder: Path = BIN
) -> subprocess.Popen[bytes]:
    """Start tacker-cnf-api or another program of the service; its log is
    beside the configuration.

    :param folder: where the programs are installed
    """
    with conf.with_name(f"{name}.log").open("a") as log:
        return subprocess.Popen(
            [folder / f"tacker-cnf-{name}", f"--config-file={conf}"],
            stdout=log,
            stderr=log,
        )


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_until_served(port: int, interval: float = 0.05) -> None:
    url = f"http://127.0.0.1:{port}/healthcheck"

    def is_served() -> bool:
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return urllib3.request("GET", url, retries=False).status == 200
        return False

    wait_until(is_served, "The API does not answer.", interval)


def wait_for(path: Path) -> None:
    wait_until(
        lambda: path.exists() and bool(path.read_text()),
        f"{path} did not appear",
    )


def wait_until(
    probe: Callable[[], bool], failure: str, interval: float = 0.05
) -> None:
    until = time.monotonic() + 30
    while not probe():
        if time.monotonic() > until:
            raise SystemExit(failure)
        time.sleep(interval)


@contextlib.contextmanager
def conductor(
    conf: Path, count: Callable[[], int], folder: Path = BIN
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a conductor, and wait until it works; stop it afterwards.

    :param count: returns the number of the registered conductors
    :param folder: where the program is installed
    """
    before = count()
    process = start_program("conductor", conf, folder)
    try:
        wait_until(
            lambda: count() > before, "The conductor does not start.", 0.005
        )
        yield process
    finally:
        process.terminate()
        process.wait(60)


def vim_body(vim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request that makes a cluster the default VIM."""
    layout = ("auth_url", "type", "project_name")
    return {
        "vim": {
            "name": "bench",
            "type": "kubernetes",
            "auth_url": vim["auth_url"],
            "auth_cred": {k: v for k, v in vim.items() if k not in layout},
            "is_default": True,
        }
    }


def register(
    api: str, kubeconfig_file: Path, pool: urllib3.PoolManager
) -> None:
    """Make the cluster the default VIM."""
    vim = kubeconfig.vim(
        kubeconfig.read(kubeconfig_file), kubeconfig_file.parent
    )
    Product(api, pool).call("POST", "/v1.0/vims", vim_body(vim))


def table(
    title: str, subjects: Mapping[str, Times], operations: Iterable[str]
) -> list[dict[str, Any]]:
    """Print medians, and their ratios to those of the first subject."""
    first, *others = subjects
    head = "".join(f"{name:>20} ratio" for name in others)
    print(f"\n{title}\n  {'operation':<16} {first:>10}{head}")
    rows = []
    for operation in operations:
        medians = {
            name: statistics.median(times[operation])
            for name, times in subjects.items()
        }
        print(f"  {operation:<16} {medians[first]:10.3f}", end="")
        for name in others:
            ratio = medians[name] / medians[first]
            print(f"{medians[name]:20.3f} {ratio:5.2f}", end="")
        print()
        rows.append({"what": title, "operation": operation, "s": medians})
    return rows


def run_concurrent(
    count: int, pods: int, make: Callable[[], Any]
) -> dict[str, tuple[float, list[float]]]:
    """Run an operation of several VNFs at once, then the next one.

    :returns: operation -> seconds until all have ended, and of each
    """
    phases = {}
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        subjects = [make() for _ in range(count)]
        for subject in subjects:
            subject.prepare(pods)

        def timed(act: Callable[[int], None]) -> float:
            start = time.perf_counter()
            act(pods)
            return time.perf_counter() - start

        for name, task in OPERATIONS.items():
            start = time.perf_counter()
            runs = [pool.submit(timed, getattr(s, task)) for s in subjects]
            times = [run.result() for run in runs]
            phases[name] = time.perf_counter() - start, times
    return phases
