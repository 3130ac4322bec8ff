"""What the watches of single namespaces cost a conductor.

A conductor whose credentials do not allow to watch all pods of a cluster watches
each namespace that has VNFs. Starts these watches for several numbers of
namespaces, on a cluster in another process. Prints the memory and the processor time
that they need while nothing happens, and the time until a new pod is reported.

    .venv/bin/python bench/watches.py [--namespaces 10 100 1000]
"""

import argparse
import contextlib
import dataclasses
import json
import queue
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cost
import lcm
import urllib3

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.drivers.base import RegisteredVim, WatchTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL
from tacker_cnf.drivers.kubernetes.pod_watch import NamespaceWatches
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tools import kubeconfig

#: seconds for which nothing happens
IDLE_S = 10.0
#: pods that are created, one after the other
PODS = 10


class Cluster:
    """The cluster, as its administrator uses it."""

    def __init__(self, path: Path) -> None:
        self.vim = kubeconfig.vim(kubeconfig.read(path))
        authority = self.vim["ssl_ca_cert"]
        self._http = urllib3.PoolManager(ca_cert_data=authority)

    def post(self, path: str, body: Any) -> None:
        response = self._http.request(
            "POST",
            self.vim["auth_url"] + path,
            body=json.dumps(body),
            headers={
                "Authorization": f"Bearer {self.vim['bearer_token']}",
                "Content-Type": "application/json",
            },
        )
        assert response.status < 400, response.data

    def add_namespace(self, name: str) -> None:
        self.post("/api/v1/namespaces", {"metadata": {"name": name}})

    def add_pod(self, namespace: str, name: str) -> None:
        self.post(
            f"/api/v1/namespaces/{namespace}/pods",
            {
                "metadata": {"name": name, "labels": {INSTANCE_LABEL: name}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        )


@dataclasses.dataclass
class Use:
    """What this process uses."""

    mebibytes: float
    cpu_seconds: float
    threads: int

    @classmethod
    def now(cls) -> "Use":
        return cls(
            cost.memory(), time.process_time(), threading.active_count()
        )


def run(watches: NamespaceWatches) -> None:
    with contextlib.suppress(errors.Cancelled):
        watches.run()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "not within 300 s"
        time.sleep(0.1)


def report(cluster: Cluster, names: list[str]) -> None:
    """Watch namespaces, and print what it costs."""
    conf = configuration.load([])
    conf.set_override("allow_loopback", override=True, group="vims")
    driver = KubernetesDriver(conf)
    credentials = {
        name: cluster.vim[name] for name in ("bearer_token", "ssl_ca_cert")
    }
    connection = driver.connection_of(
        RegisteredVim(
            "a-vim", "kubernetes", cluster.vim["auth_url"], credentials, {}, {}
        )
    )
    token, missed, changed = (
        CancelToken(),
        set[str | None](),
        queue.Queue[str](),
    )
    task = WatchTask(
        vim_connection=connection,
        tenants=lambda: frozenset(names),
        on_change=changed.put,
        on_missed=missed.add,
        cancel_token=token,
    )
    before = Use.now()
    watches = NamespaceWatches(
        lambda cancel_token: driver._pool.connect(  # noqa: SLF001
            connection, RetryPolicy.without_deadline(cancel_token)
        ),
        task,
    )
    thread = threading.Thread(target=run, args=(watches,), daemon=True)
    thread.start()
    wait_for(lambda: len(missed) == len(names))
    time.sleep(2)
    started = Use.now()
    time.sleep(IDLE_S)
    idle = Use.now()
    delays = []
    for number in range(PODS):
        name = f"pod-{len(names)}-{number}"
        begin = time.perf_counter()
        cluster.add_pod(names[number * len(names) // PODS], name)
        while changed.get(timeout=60) != name:
            pass
        delays.append(time.perf_counter() - begin)
    cpu = (idle.cpu_seconds - started.cpu_seconds) / IDLE_S * 100
    print(
        f"{len(names):10}{started.threads - before.threads:9}"
        f"{idle.mebibytes - before.mebibytes:9.1f}{cpu:9.1f}"
        f"{statistics.median(delays) * 1000:9.1f}"
    )
    watches.close()
    token.cancel(errors.Cancelled("measured"), forceful=True)
    thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--namespaces", type=int, nargs="*", default=[10, 100, 1000]
    )
    arguments = parser.parse_args()
    print(f"{'namespaces':>10}{'threads':>9}{'MiB':>9}{'CPU %':>9}{'ms':>9}")
    for count in arguments.namespaces:
        with (
            tempfile.TemporaryDirectory() as folder,
            lcm.cluster(Path(folder)) as path,
        ):
            cluster = Cluster(path)
            names = [f"vnf-{number}" for number in range(count)]
            for name in names:
                cluster.add_namespace(name)
            report(cluster, names)


if __name__ == "__main__":
    main()
