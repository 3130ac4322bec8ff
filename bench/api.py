"""Requests per second of the API, and the response time.

The API is served by tacker-cnf-api on PostgreSQL or on SQLite (--database), and
called over persistent connections. The baseline is /vnflcm/api_versions, which
does not use the database. The clients are threads that share the CPUs with the
server; they only look for the status and the length of a response.

    .venv/bin/python bench/api.py [--database URL] [--seconds 2] [--cpu-affinity]
"""

import argparse
import concurrent.futures
import json
import re
import socket
import statistics
import tempfile
import threading
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
cpu_affinity = {cpu_affinity}
[quotas]
vnf_instances = -1
"""


_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Client:
    """Sends requests, each thread by its own connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._own = threading.local()

    def send(self, request: bytes, expected: int) -> None:
        """Send a request, and read its response.

        :raises SystemExit: it has another status than the expected one
        """
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", self._port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._own.connection = connection
        connection.sendall(request)
        response = b""
        while (end := response.find(b"\r\n\r\n") + 4) < 4:
            response += _receive(connection)
        length = _LENGTH.search(response, 0, end)
        left = end + int(length[1] if length else 0) - len(response)
        while left > 0:
            left -= len(_receive(connection))
        if int(response[9:12]) != expected:
            raise SystemExit(f"{response[:2000]!r} instead of {expected}")


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise SystemExit("the server closed the connection")
    return data


def _request(
    method: str, path: str, body: Any = None, **headers: str
) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Version: 2.0.0",
        *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items()),
    ]
    if content:
        lines.append("Content-Type: application/json")
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content


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


def run(api: lcm.Product, client: Client, seconds: float) -> None:
    packages = "/vnfpkgm/v1/vnf_packages"
    vnfd_id = str(uuid.uuid4())
    made = api.call("POST", packages, {}).json()["id"]
    content = package.csar(vnfd_id, "bench", 1)
    api.call("PUT", f"{packages}/{made}/package_content", content)
    instances = "/vnflcm/v2/vnf_instances"
    one = api.call("POST", instances, {"vnfdId": vnfd_id}).json()["id"]
    baseline = _request("GET", "/vnflcm/api_versions")
    print(f"{'request':<26} {'clients':>7} {'1/s':>8} {'ms':>8} {'ratio':>8}")

    def report_rate(name: str, request: bytes, expected: int = 200) -> None:
        for clients in (1, 8):
            compared = measure(
                lambda: client.send(baseline, 200), clients, seconds / 2
            )[1]
            rate, middle = measure(
                lambda: client.send(request, expected), clients, seconds
            )
            print(
                f"{name:<26} {clients:7} {rate:8.0f} {middle:8.2f} "
                f"{middle / compared:8.1f}"
            )

    path = f"{instances}/{one}"
    report_rate("GET one instance", _request("GET", path))
    tag = api.call("GET", path).headers["ETag"]
    conditional = _request("GET", path, If_None_Match=tag)
    report_rate("GET one instance, 304", conditional, 304)
    create = _request("POST", instances, {"vnfdId": vnfd_id})
    have = 1
    for count in (1, 100, 1000):
        for _ in range(count - have):
            client.send(create, 201)
        have = count
        report_rate(f"GET list of {count}", _request("GET", instances))
    report_rate("POST create", create, 201)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", help="URL; default: a SQLite file")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--cpu-affinity", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port = lcm.free_port()
        line = (
            f"connection = {arguments.database}" if arguments.database else ""
        )
        text = CONF.format(
            state=folder,
            connection=line,
            port=port,
            cpu_affinity=arguments.cpu_affinity,
        )
        with lcm.programs(Path(folder), text, port, ["api"]):
            api = lcm.Product(
                f"http://127.0.0.1:{port}", urllib3.PoolManager(maxsize=16)
            )
            run(api, Client(port), arguments.seconds)


if __name__ == "__main__":
    main()
