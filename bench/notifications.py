"""The cost of 50 subscribers, and the delivery of their notifications.

Of 50 subscribers 5 are dead and 5 respond after 2 seconds. First, lifecycles
of VNFs run in turn without subscribers and with all of them: the ratio is the
cost for an operation. Then VNFs run concurrently until there were 1,000
changes of state; every live subscriber has to receive all of them, in order
for each VNF.

    .venv/bin/python bench/notifications.py [--runs N] [--changes 1000]
"""

import argparse
import asyncio
import contextlib
import http.server
import itertools
import json
import multiprocessing
import os
import socket
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import lcm
import urllib3
from aiohttp import web

SUBSCRIBERS, DEAD_SUBSCRIBERS, SLOW_SUBSCRIBERS = 50, 5, 5
SLOW_RESPONSE_S = 2.0
#: one lifecycle: notifications of each operation, and of the creation
OPERATIONS = len(lcm.OPERATIONS)
NOTIFICATIONS_PER_LIFE = 3 * OPERATIONS + 1
ORDER = ["STARTING", "PROCESSING", "COMPLETED"] * OPERATIONS


class Receivers:
    """All live subscribers, in one process."""

    def __init__(self) -> None:
        #: subscriber -> VNF instance -> states
        self.received_states: Any = defaultdict(lambda: defaultdict(list))
        self.count: Any = defaultdict(int)
        self.last: Any = defaultdict(float)
        self.ids: Any = defaultdict(set)
        self.duplicates = 0

    async def receive(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        if request.method == "POST":
            body = json.loads(await request.read())
            if number < SLOW_SUBSCRIBERS:
                with contextlib.suppress(asyncio.CancelledError):  # the end
                    await asyncio.sleep(SLOW_RESPONSE_S)
            if body["id"] in self.ids[number]:
                self.duplicates += 1
                return web.Response(status=204)
            self.ids[number].add(body["id"])
            states = self.received_states[number][body["vnfInstanceId"]]
            states.append(body.get("operationState", "CREATED"))
            self.count[number] += 1
            self.last[number] = time.time()
        return web.Response(status=204)

    async def report(self, _: web.Request) -> web.Response:
        wrong = sum(
            states != ["CREATED", *ORDER]
            for by_instance in self.received_states.values()
            for states in by_instance.values()
        )
        return web.json_response(
            {
                "counts": self.count,
                "last": self.last,
                "wrong": wrong,
                "again": self.duplicates,
            }
        )

    async def reset(self, _: web.Request) -> web.Response:
        for kept in (self.received_states, self.count, self.last, self.ids):
            kept.clear()
        return web.Response(status=204)


def serve(connection: Connection) -> None:
    responding = Receivers()
    app = web.Application()
    app.router.add_route("*", "/n/{number}", responding.receive)
    app.router.add_get("/report", responding.report)
    app.router.add_post("/forget", responding.reset)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    connection.send(listener.getsockname()[1])
    web.run_app(app, sock=listener, print=None, access_log=None)


@contextlib.contextmanager
def receivers() -> Iterator[str]:
    parent_end, child_end = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(child_end,), daemon=True
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{parent_end.recv()}"
    finally:
        process.terminate()


class VanishingSubscriber(http.server.BaseHTTPRequestHandler):
    """A subscriber that only responds to the test notification."""

    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def subscribe(product: lcm.Product, url: str) -> list[str]:
    """Create all subscriptions; the dead subscribers then stop."""
    dying = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), VanishingSubscriber
    )
    threading.Thread(target=dying.serve_forever, daemon=True).start()
    dead_url = f"http://127.0.0.1:{dying.server_port}"
    uris = [f"{url}/n/{n}" for n in range(SUBSCRIBERS - DEAD_SUBSCRIBERS)]
    uris += [f"{dead_url}/{n}" for n in range(DEAD_SUBSCRIBERS)]
    path = "/vnflcm/v2/subscriptions"
    made = [
        product.call("POST", path, {"callbackUri": uri}).headers["Location"]
        for uri in uris
    ]
    dying.shutdown()
    dying.server_close()
    return made


def children(pid: int | str) -> list[str]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [
        child
        for children_file in threads
        for child in children_file.read_text().split()
    ]


def used(pid: str) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def work() -> tuple[float, float]:
    """Return the CPU time of the service, which is independent of other
    load, and that of its dispatcher.
    """
    for pid in children(os.getpid()):
        if b"tools/sandbox.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return used(pid), sum(map(used, children(pid)))
    raise SystemExit("the service has ended")


def ratio(
    make: Any, url: str, runs: int
) -> tuple[list[dict[str, Any]], float]:
    """Run lifecycles without subscribers and with them, in turn."""
    times = {False: lcm.empty_times(), True: lcm.empty_times()}
    worked: dict[bool, list[tuple[float, ...]]] = {False: [], True: []}
    product = make()
    for _ in range(runs):
        for all_of_them in (False, True):
            made = subscribe(product, url) if all_of_them else []
            before = work()
            lcm.run_lifecycle(make(), 1, times[all_of_them])
            parts = zip(before, work(), strict=True)
            worked[all_of_them].append(tuple(b - a for a, b in parts))
            for location in made:
                product.call("DELETE", location)
    rows = []
    print(f"\n  {'operation':<16} {'none s':>8} {'all s':>8} ratio")
    for name in lcm.OPERATIONS:
        low, high = (statistics.median(times[k][name]) for k in (False, True))
        print(f"  {name:<16} {low:8.3f} {high:8.3f} {high / low:5.2f}")
        rows.append({"operation": name, "none": low, "all": high})
    for all_of_them, name in ((False, "no"), (True, "all")):
        parts = zip(*worked[all_of_them], strict=True)
        own, of_dispatcher = (statistics.median(p) / OPERATIONS for p in parts)
        print(
            f"  processor s an operation, {name} subscribers: {own:.3f}",
            end="",
        )
        print(f", and {of_dispatcher:.3f} of the dispatcher")
    none, all_subscribers = (
        sum(row[k] for row in rows) for k in ("none", "all")
    )
    print(f"  {'all of them':<16} {none:8.3f} {all_subscribers:8.3f} ", end="")
    print(f"{all_subscribers / none:5.2f}")
    return rows, all_subscribers / none


def fetch_report(pool: urllib3.PoolManager, url: str) -> Any:
    return pool.request("GET", f"{url}/report").json()


def run_changes(
    make: Any, pool: urllib3.PoolManager, url: str, changes: int, at_once: int
) -> dict[str, Any]:
    """Run changes, and wait until all live subscribers received them."""
    product = make()
    time.sleep(3 * SLOW_RESPONSE_S)  # deliveries in progress have arrived
    pool.request("POST", f"{url}/forget")
    made = subscribe(product, url)
    lives = -(-changes // (NOTIFICATIONS_PER_LIFE * at_once)) * at_once
    start = time.time()
    for _ in range(lives // at_once):
        lcm.run_concurrent(at_once, 1, make)
    ended = time.time()
    want = lives * NOTIFICATIONS_PER_LIFE
    fast = [
        str(n) for n in range(SLOW_SUBSCRIBERS, SUBSCRIBERS - DEAD_SUBSCRIBERS)
    ]
    slow = [str(n) for n in range(SLOW_SUBSCRIBERS)]
    figures: dict[str, Any] = {
        "changes": want,
        "made in": ended - start,
    }
    for name, group in (("fast", fast), ("slow", slow)):
        deadline = time.time() + 60 + want * SLOW_RESPONSE_S
        for _ in itertools.count():
            report = fetch_report(pool, url)
            got = [report["counts"].get(number, 0) for number in group]
            if min(got) >= want or time.time() > deadline:
                break
            time.sleep(0.5)
        last = max(report["last"].get(number, 0.0) for number in group)
        figures[f"{name} received"] = f"{min(got)} to {max(got)}"
        figures[f"{name} done after the last change, s"] = last - ended
    report = fetch_report(pool, url)
    figures["VNFs notified out of order, or incompletely"] = report["wrong"]
    figures["received twice"] = report["again"]
    for location in made:
        product.call("DELETE", location)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, receivers() as url:
        state = Path(folder)
        with (
            lcm.cluster(state) as kubeconfig,
            lcm.sandbox(state, kubeconfig) as api,
        ):
            pool = urllib3.PoolManager(maxsize=64)
            lcm.register(api, kubeconfig, pool)

            def product() -> lcm.Product:
                return lcm.Product(api, pool)

            lcm.run_lifecycle(
                product(), 1, lcm.empty_times()
            )  # connections, caches
            rows, over_all, figures = [], 1.0, {}
            if arguments.runs:
                rows, over_all = ratio(product, url, arguments.runs)
            if arguments.changes:
                figures = run_changes(
                    product, pool, url, arguments.changes, arguments.at_once
                )
                for name, value in figures.items():
                    text = f"{value:.1f}" if type(value) is float else value
                    print(f"  {name}: {text}")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"rows": rows, "ratio": over_all, **figures}, indent=2)
        )


if __name__ == "__main__":
    main()
