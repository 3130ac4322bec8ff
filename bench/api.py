"""Requests per second of the API, and the response time.

The API is served by tacker-cnf-api on PostgreSQL or on SQLite (--database), and
called over keep-alive connections. The baseline is /vnflcm/api_versions, which
does not use the database.

    .venv/bin/python bench/api.py [--database URL] [--seconds 2]
"""

import argparse
import concurrent.futures
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lcm
import package
import urllib3

CONF = """\
[DEFAULT]
state_path = {state}
transport_url = fake://
default_log_levels = tacker_cnf=WARNING
[database]
{connection}
[api]
auth_strategy = noauth
page_size = 1000
port = {port}
[quotas]
vnf_instances = -1
"""


def measure(
    act: Callable[[], Any], clients: int, seconds: float
) -> tuple[float, float]:
    """Return responses per second, and the median time in ms."""
    until = time.perf_counter() + seconds

    def client() -> list[float]:
        times = []
        while (start := time.perf_counter()) < until:
            act()
            times.append(time.perf_counter() - start)
        return times

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        runs = [pool.submit(client) for _ in range(clients)]
        times = [t for run in runs for t in run.result()]
    return len(times) / seconds, statistics.median(times) * 1000


def run(api: lcm.Product, seconds: float) -> None:
    packages = "/vnfpkgm/v1/vnf_packages"
    vnfd_id = str(uuid.uuid4())
    made = api.call("POST", packages, {}).json()["id"]
    content = package.csar(vnfd_id, "bench", 1)
    api.call("PUT", f"{packages}/{made}/package_content", content)
    instances = "/vnflcm/v2/vnf_instances"

    def create() -> Any:
        return api.call("POST", instances, {"vnfdId": vnfd_id})

    one = create().json()["id"]
    print(f"{'request':<26} {'clients':>7} {'1/s':>8} {'ms':>8} {'ratio':>8}")

    def report_rate(name: str, act: Callable[[], Any]) -> None:
        for clients in (1, 8):
            baseline = measure(
                lambda: api.call("GET", "/vnflcm/api_versions"),
                clients,
                seconds / 2,
            )[1]
            rate, middle = measure(act, clients, seconds)
            print(
                f"{name:<26} {clients:7} {rate:8.0f} {middle:8.2f} "
                f"{middle / baseline:8.1f}"
            )

    path = f"{instances}/{one}"
    report_rate("GET one instance", lambda: api.call("GET", path))
    unchanged = {"If-None-Match": api.call("GET", path).headers["ETag"]}

    def get_304() -> None:
        response = api.call("GET", path, headers=unchanged)
        if response.status != 304:
            raise SystemExit(f"{path}: status {response.status}, not 304")

    report_rate("GET one instance, 304", get_304)
    have = 1
    for count in (1, 100, 1000):
        for _ in range(count - have):
            create()
        have = count
        report_rate(f"GET list of {count}", lambda: api.call("GET", instances))
    report_rate("POST create", create)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", help="URL; default: a SQLite file")
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port = lcm.free_port()
        line = (
            f"connection = {arguments.database}" if arguments.database else ""
        )
        text = CONF.format(state=folder, connection=line, port=port)
        with lcm.programs(Path(folder), text, port, ["api"]):
            api = lcm.Product(
                f"http://127.0.0.1:{port}", urllib3.PoolManager(maxsize=16)
            )
            run(api, arguments.seconds)


if __name__ == "__main__":
    main()
