"""What 50 subscribers cost, and what they are told.

Of 50 subscribers 5 are dead and 5 answer after 2 seconds. First lives of VNFs
are led in turn without any subscriber and with all of them: the ratio is what
an operation pays for them. Then VNFs live at once until there were 1,000
changes of state; every subscriber that lives has to be told all of them, of
one VNF in order.

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

SUBSCRIBERS, DEAD, SLOW = 50, 5, 5
SLOWNESS = 2.0
#: one life: what is told of each operation, and that there is an instance
OPERATIONS = len(lcm.OPERATIONS)
TOLD = 3 * OPERATIONS + 1
ORDER = ["STARTING", "PROCESSING", "COMPLETED"] * OPERATIONS


class Receivers:
    """All subscribers that live, in a process of their own."""

    def __init__(self) -> None:
        #: subscriber -> VNF instance -> states
        self.told: Any = defaultdict(lambda: defaultdict(list))
        self.count: Any = defaultdict(int)
        self.last: Any = defaultdict(float)
        self.ids: Any = defaultdict(set)
        self.again = 0

    async def receive(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        if request.method == "POST":
            body = json.loads(await request.read())
            if number < SLOW:
                with contextlib.suppress(asyncio.CancelledError):  # the end
                    await asyncio.sleep(SLOWNESS)
            if body["id"] in self.ids[number]:
                self.again += 1
                return web.Response(status=204)
            self.ids[number].add(body["id"])
            states = self.told[number][body["vnfInstanceId"]]
            states.append(body.get("operationState", "CREATED"))
            self.count[number] += 1
            self.last[number] = time.time()
        return web.Response(status=204)

    async def report(self, _: web.Request) -> web.Response:
        wrong = sum(
            states != ["CREATED", *ORDER]
            for by_instance in self.told.values()
            for states in by_instance.values()
        )
        return web.json_response(
            {
                "counts": self.count,
                "last": self.last,
                "wrong": wrong,
                "again": self.again,
            }
        )

    async def forget(self, _: web.Request) -> web.Response:
        for kept in (self.told, self.count, self.last, self.ids):
            kept.clear()
        return web.Response(status=204)


def serve(asked: Connection) -> None:
    answering = Receivers()
    app = web.Application()
    app.router.add_route("*", "/n/{number}", answering.receive)
    app.router.add_get("/report", answering.report)
    app.router.add_post("/forget", answering.forget)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    asked.send(listener.getsockname()[1])
    web.run_app(app, sock=listener, print=None, access_log=None)


@contextlib.contextmanager
def receivers() -> Iterator[str]:
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs,), daemon=True
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{mine.recv()}"
    finally:
        process.terminate()


class Dying(http.server.BaseHTTPRequestHandler):
    """A subscriber that answers the test and nothing more."""

    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def subscribe(product: lcm.Product, url: str) -> list[str]:
    """Subscribe all; the dead ones die afterwards."""
    dying = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dying)
    threading.Thread(target=dying.serve_forever, daemon=True).start()
    grave = f"http://127.0.0.1:{dying.server_port}"
    uris = [f"{url}/n/{n}" for n in range(SUBSCRIBERS - DEAD)]
    uris += [f"{grave}/{n}" for n in range(DEAD)]
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
    return [child for told in threads for child in told.read_text().split()]


def used(pid: str) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def work() -> tuple[float, float]:
    """Tell the processor time of the service, which no other load changes,
    and that of its dispatcher.
    """
    for pid in children(os.getpid()):
        if b"tools/sandbox.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return used(pid), sum(map(used, children(pid)))
    raise SystemExit("the service is gone")


def ratio(
    make: Any, url: str, runs: int
) -> tuple[list[dict[str, Any]], float]:
    """Lead lives without subscribers and with them, in turn."""
    times = {False: lcm.no_times(), True: lcm.no_times()}
    worked: dict[bool, list[tuple[float, ...]]] = {False: [], True: []}
    product = make()
    for _ in range(runs):
        for all_of_them in (False, True):
            made = subscribe(product, url) if all_of_them else []
            before = work()
            lcm.life(make(), 1, times[all_of_them])
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
    none, everyone = (sum(row[k] for row in rows) for k in ("none", "all"))
    print(f"  {'all of them':<16} {none:8.3f} {everyone:8.3f} ", end="")
    print(f"{everyone / none:5.2f}")
    return rows, everyone / none


def ask(pool: urllib3.PoolManager, url: str) -> Any:
    return pool.request("GET", f"{url}/report").json()


def tell(
    make: Any, pool: urllib3.PoolManager, url: str, changes: int, at_once: int
) -> dict[str, Any]:
    """Make changes, and wait until all that live were told."""
    product = make()
    time.sleep(3 * SLOWNESS)  # what was on its way has come
    pool.request("POST", f"{url}/forget")
    made = subscribe(product, url)
    lives = -(-changes // (TOLD * at_once)) * at_once
    begun = time.time()
    for _ in range(lives // at_once):
        lcm.together(at_once, 1, make, lcm.no_times())
    ended = time.time()
    want = lives * TOLD
    fast = [str(n) for n in range(SLOW, SUBSCRIBERS - DEAD)]
    slow = [str(n) for n in range(SLOW)]
    figures: dict[str, Any] = {
        "changes": want,
        "made in": ended - begun,
    }
    for name, group in (("fast", fast), ("slow", slow)):
        patience = time.time() + 60 + want * SLOWNESS
        for _ in itertools.count():
            report = ask(pool, url)
            got = [report["counts"].get(number, 0) for number in group]
            if min(got) >= want or time.time() > patience:
                break
            time.sleep(0.5)
        last = max(report["last"].get(number, 0.0) for number in group)
        figures[f"{name} told"] = f"{min(got)} to {max(got)}"
        figures[f"{name} done after the last change, s"] = last - ended
    report = ask(pool, url)
    figures["VNFs told out of order, or not whole"] = report["wrong"]
    figures["told twice"] = report["again"]
    for location in made:
        product.call("DELETE", location)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--json", type=Path, help="write the figures there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, receivers() as url:
        state = Path(folder)
        with lcm.processes(state) as (api, _):
            pool = urllib3.PoolManager(maxsize=64)
            lcm.register(api, state / "vim.yaml", pool)

            def product() -> lcm.Product:
                return lcm.Product(api, pool)

            lcm.life(product(), 1, lcm.no_times())  # connections, caches
            rows, over_all, figures = [], 1.0, {}
            if asked.runs:
                rows, over_all = ratio(product, url, asked.runs)
            if asked.changes:
                figures = tell(
                    product, pool, url, asked.changes, asked.at_once
                )
                for name, value in figures.items():
                    told = f"{value:.1f}" if type(value) is float else value
                    print(f"  {name}: {told}")
    if asked.json:
        asked.json.write_text(
            json.dumps({"rows": rows, "ratio": over_all, **figures}, indent=2)
        )


if __name__ == "__main__":
    main()
