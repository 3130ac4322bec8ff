r"""The lifecycle operations of VNFMs, compared with the bare client.

This service, and any other VNFM with the API of SOL003 whose URL is given, run
the operations of VNFs with one Deployment. In the same run and on the same
cluster, the ``kubernetes`` client alone does the same work, as the baseline. An
operation is timed from the POST to the first response with COMPLETED; the client
polls every 10 ms, or every 100 ms when many VNFs run at once.

    .venv/bin/python bench/compare.py [--pods 1 50] [--runs 3] [--vnfs 20 100]

By default this service is the sandbox's: one process with SQLite. With --database,
it is an API server and conductors, each a process of its own. The other VNFM has to
accept packages at /vnfpkgm/v1, and its token is in the environment variable
VNFM_TOKEN; the cluster is that of --kubeconfig, if it cannot reach one here.

    ... --database postgresql+psycopg2://... --queue rabbit://... --conductors 2 \
        --other http://192.0.2.7:9890 --kubeconfig FILE

--clients also runs the VNFs at once while so many clients poll an operation every
second, and while they wait for one. --plots DIRECTORY draws the ratios, with
matplotlib: ``tools/install --project .venv test bench``.
"""

import argparse
import contextlib
import json
import math
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import lcm
import msgspec
import urllib3

from tacker_cnf.drivers.base import RegisteredVim
from tacker_cnf.drivers.kubernetes import cluster_connection

BASELINE = "kubernetes client"
SERVICE = "tacker_cnf"
#: of the bars of the VNFMs; they also differ in brightness
COLOURS = ("#0b5394", "#e69f00")
#: plots beside each other
MAX_COLUMNS = 3

Makers = Mapping[str, Callable[[], Any]]
Rows = list[dict[str, Any]]


def inline_vim(path: Path) -> dict[str, Any]:
    """Return the vimConnectionInfo of a kubeconfig."""
    vim = lcm.kubeconfig.vim(lcm.kubeconfig.read(path), path.parent)
    connection = cluster_connection.of_vim(
        RegisteredVim(
            id="",
            type=vim["type"],
            auth_url=vim["auth_url"],
            auth_cred=vim,
            vim_project={},
            extra={},
        )
    )
    unregistered = msgspec.structs.replace(connection, vim_id=None)
    return {"vim1": msgspec.to_builtins(unregistered)}


def compare_single(makers: Makers, pods: int, runs: int) -> Rows:
    """Run the lifecycle of one VNF of each subject in turn."""
    subjects = {name: lcm.empty_times() for name in makers}
    for _ in range(runs):  # in turn, so that drift hits all
        for name, make in makers.items():
            lcm.run_lifecycle(make(), pods, subjects[name])
    title = f"{pods} pod" if pods == 1 else f"{pods} pods"
    return lcm.table(title, subjects, lcm.OPERATIONS)


def compare_many(makers: Makers, count: int, condition: str = "") -> Rows:
    """Print operations per second, and the longest by the mean time."""
    phases = {
        name: lcm.run_concurrent(count, 1, make)
        for name, make in makers.items()
    }
    title = f"{count} VNFs at once{condition}"
    head = "".join(f"{name:>20} /s  longest" for name in phases)
    print(f"\n{title}\n  {'operation':<16}{head}")
    rows = []
    for operation in lcm.OPERATIONS:
        rates, longest = {}, {}
        for name, phase in phases.items():
            seconds, times = phase[operation]
            rates[name] = count / seconds
            longest[name] = max(times) / statistics.mean(times)
        print(f"  {operation:<16}", end="")
        for name in phases:
            print(f"{rates[name]:23.1f}{longest[name]:9.2f}", end="")
        print()
        rows.append(
            {
                "what": title,
                "operation": operation,
                "per_s": rates,
                "longest": longest,
            }
        )
    return rows


def poll(url: str, clients: int, pause: float, failures: Any) -> None:
    """Read a URL with so many clients, until this process is ended."""
    pool = urllib3.PoolManager(maxsize=clients)

    def client(delay: float) -> None:
        time.sleep(delay)
        while True:
            response = pool.request("GET", url, headers={"Version": "2.0.0"})
            if response.status != 200:
                failures.value += 1
            time.sleep(pause)

    threads = [
        threading.Thread(target=client, args=(number / clients,))
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()


@contextlib.contextmanager
def polling(url: str, clients: int, pause: float) -> Iterator[None]:
    """Let clients read a URL; they are a process of their own.

    :raises SystemExit: a response was not 200
    """
    failures = multiprocessing.Value("i", 0)
    process = multiprocessing.Process(
        target=poll, args=(url, clients, pause, failures), daemon=True
    )
    process.start()
    time.sleep(2)
    try:
        yield
    finally:
        process.kill()
        process.join()
    if failures.value:
        raise SystemExit(f"{failures.value} polls failed")


def compare_with_clients(
    makers: Makers, count: int, clients: int, operation: str
) -> Rows:
    """Run VNFs at once while clients poll an operation, and while they wait.

    :param operation: URL of an operation that has completed
    """
    rows = []
    every_second = f", {clients} clients poll every second"
    with polling(operation, clients, 1.0):
        rows += compare_many(makers, count, every_second)
    waiting = f"{operation}?wait=30&state_not=COMPLETED"
    with polling(waiting, clients, 0.0):
        rows += compare_many(makers, count, f", {clients} clients wait")
    return rows


def draw(rows: Rows, folder: Path) -> None:
    """Draw the ratios of each measurement to the baseline, as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    measurements: dict[str, Rows] = {}
    for row in rows:
        measurements.setdefault(row["what"], []).append(row)
    single = {k: v for k, v in measurements.items() if "s" in v[0]}
    many = {k: v for k, v in measurements.items() if "per_s" in v[0]}
    if single:
        draw_bars(
            single, "s", "times the baseline", folder / "compare-single.svg"
        )
    if many:
        draw_bars(
            many,
            "per_s",
            "operations per second by the baseline's",
            folder / "compare-many.svg",
        )


def draw_bars(
    measurements: Mapping[str, Rows], figure: str, label: str, path: Path
) -> None:
    from matplotlib import pyplot, rc_context

    style = {"svg.fonttype": "none", "svg.hashsalt": path.name}
    columns = min(MAX_COLUMNS, len(measurements))
    lines = math.ceil(len(measurements) / columns)
    with rc_context(style):
        canvas, axes = pyplot.subplots(
            lines,
            columns,
            sharey=True,
            squeeze=False,
            layout="constrained",
            figsize=(1.5 + 2.7 * columns, 0.5 + 2.7 * lines),
        )
        for plot, (title, rows) in zip(
            axes.flat, measurements.items(), strict=False
        ):
            names = [name for name in rows[0][figure] if name != BASELINE]
            height = 0.8 / len(names)
            for number, name in enumerate(names):
                places = [y + number * height for y in range(len(rows))]
                ratios = [
                    row[figure][name] / row[figure][BASELINE] for row in rows
                ]
                colour = COLOURS[number]
                bars = plot.barh(
                    places, ratios, height, label=name, color=colour
                )
                plot.bar_label(bars, fmt="%.2f", padding=2)
            plot.axvline(1, color="black", linewidth=1)
            middle = [y + (0.8 - height) / 2 for y in range(len(rows))]
            plot.set_yticks(middle, [row["operation"] for row in rows])
            plot.margins(x=0.2)
            plot.set_title(title.replace(", ", ",\n"), fontsize="medium")
            plot.spines[["top", "right"]].set_visible(False)
        axes[0][0].invert_yaxis()
        canvas.supxlabel(label)
        canvas.legend(
            *axes[0][0].get_legend_handles_labels(), loc="outside upper left"
        )
        canvas.savefig(path, metadata={"Date": None})


@contextlib.contextmanager
def subjects(arguments: argparse.Namespace) -> Iterator[tuple[Makers, Makers]]:
    """Start what is compared.

    :returns: what makes a subject that polls often, and one of many
    """
    with contextlib.ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = arguments.kubeconfig or stack.enter_context(lcm.cluster(state))
        service = (
            lcm.servers(
                state,
                arguments.database,
                arguments.queue,
                arguments.conductors,
            )
            if arguments.database
            else lcm.sandbox(state, path)
        )
        urls = {SERVICE: stack.enter_context(service)}
        if arguments.other:
            urls["other VNFM"] = arguments.other
        pool = urllib3.PoolManager(maxsize=128)
        vims = inline_vim(path)
        token = os.environ.get("VNFM_TOKEN", "")

        def makers(look_every: float) -> Makers:
            def make(url: str) -> Callable[[], lcm.Product]:
                own = token if url == arguments.other else ""
                return lambda: lcm.Product(url, pool, look_every, vims, own)

            vnfms = {name: make(url) for name, url in urls.items()}
            return {BASELINE: lambda: lcm.Baseline(str(path)), **vnfms}

        # one of many polls less often, or polling would be most of the load
        yield makers(0.01), makers(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, nargs="*", default=[1, 50])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--vnfs", type=int, nargs="*", default=[20])
    parser.add_argument("--clients", type=int, default=0)
    parser.add_argument("--database", help="URL; default: the sandbox's")
    parser.add_argument("--queue", help="URL, with --database")
    parser.add_argument("--conductors", type=int, default=2)
    parser.add_argument("--other", metavar="URL", help="of another VNFM")
    parser.add_argument("--kubeconfig", type=Path, help="another cluster")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--plots", type=Path, help="draw the ratios there")
    arguments = parser.parse_args()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"load average at the beginning: {load}; {os.cpu_count()} cores")
    rows: Rows = []
    with subjects(arguments) as (one, many):
        first = {name: make() for name, make in one.items()}
        for subject in first.values():  # connections, caches
            lcm.run_lifecycle(subject, 1, lcm.empty_times())
        for pods in arguments.pods:
            rows += compare_single(one, pods, arguments.runs)
        for count in arguments.vnfs:
            rows += compare_many(many, count)
            if arguments.clients:
                rows += compare_with_clients(
                    many, count, arguments.clients, first[SERVICE].operation
                )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2))
    if arguments.plots:
        draw(rows, arguments.plots)


if __name__ == "__main__":
    main()
