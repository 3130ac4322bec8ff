"""What the processes of the service take: start, end, and memory.

Starts tacker-cnf-api with one worker and tacker-cnf-conductor in turns, and prints
medians: the processor time of the imports, the time until the API answers or the
conductor has registered, and the time from SIGTERM to the exit of an idle process.
Then prints the memory of both at rest, and after many operations and lists.

    .venv/bin/python bench/processes.py --queue URL [--database URL] \
        [--runs 5] [--operations 1000]

--programs measures those of another environment, such as one without the packages
of the tests.
"""

import argparse
import contextlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lcm
import sqlalchemy as sa
import urllib3

#: VNFs at once
VNFS = 20
LISTS = 1000
MODULES = {
    "API": "tacker_cnf.cmd.api",
    "conductor": "tacker_cnf.cmd.conductor",
}


class Service:
    """The programs of one configuration."""

    def __init__(
        self, state: Path, database: str, queue: str, programs: Path
    ) -> None:
        self.programs = programs
        self.port = lcm.free_port()
        self._database = sa.create_engine(database)
        text = lcm.CONF.format(
            state=state, port=self.port, database=database, queue=queue
        )
        self._conf = lcm.configure(state, f"{text}[api]\nworkers = 1\n")

    @contextlib.contextmanager
    def started(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start a program, and wait until it works; stop it afterwards."""
        if name == "conductor":
            with lcm.conductor(
                self._conf, self._count_conductors, self.programs
            ) as process:
                yield process
            return
        process = lcm.start_program("api", self._conf, self.programs)
        try:
            lcm.wait_until_served(self.port, 0.005)
            yield process
        finally:
            process.terminate()
            process.wait(60)

    def _count_conductors(self) -> int:
        with self._database.connect() as connection:
            query = sa.text("SELECT count(*) FROM conductors")
            return int(connection.scalar(query) or 0)


def import_time(python: Path, module: str) -> float:
    """Return the seconds of processor time to import a module."""
    code = f"import {module}, time; print(time.process_time())"
    run = subprocess.run([python, "-c", code], capture_output=True, check=True)
    return float(run.stdout)


def memory(pid: int) -> Mapping[str, float]:
    """Return name -> MiB of memory of a process: Rss has all that it uses, Pss
    (proportional) of what several processes share only a part of equal size,
    so that the sum of all processes is what they take together.
    """
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = dict(line.split(":") for line in rollup.splitlines()[1:])
    return {
        name: int(sizes[name].split()[0]) / 1024 for name in ("Rss", "Pss")
    }


def child(pid: int) -> int:
    """Return the last child of a process, which any thread has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return max(int(found) for t in tasks for found in t.read_text().split())


def measure_times(service: Service, runs: int) -> None:
    print(f"{'':12}{'import, CPU s':>14}{'start, s':>10}{'end, s':>8}")
    python = service.programs / "python"
    for name, module in MODULES.items():
        import_time(python, module)  # compile it
        starts, ends = [], []
        for _ in range(runs):
            begin = time.perf_counter()
            with service.started(name):
                starts.append(time.perf_counter() - begin)
                time.sleep(1)  # it is idle then
                begin = time.perf_counter()
            ends.append(time.perf_counter() - begin)
        imports = statistics.median(
            import_time(python, module) for _ in range(runs)
        )
        print(
            f"{name:12}{imports:14.2f}{statistics.median(starts):10.2f}"
            f"{statistics.median(ends):8.2f}"
        )


def measure_memory(
    service: Service, operations: int, kubeconfig: Path
) -> None:
    """Print the memory at rest, and after operations and lists."""
    with (
        service.started("API") as api,
        service.started("conductor") as conductor,
    ):
        time.sleep(3)  # the conductor starts the dispatcher
        pids = {
            "API, parent": api.pid,
            "API, worker": child(api.pid),
            "conductor": conductor.pid,
            "dispatcher": child(conductor.pid),
        }
        before = {name: memory(pid) for name, pid in pids.items()}
        run_operations(service.port, operations, kubeconfig)
        time.sleep(2)
        print(f"\n{'MiB':14}{'at rest':>20}{'after the load':>20}")
        print(f"{'':14}" + f"{'Rss':>10}{'Pss':>10}" * 2)
        for name, pid in pids.items():
            sizes = (*before[name].values(), *memory(pid).values())
            print(f"{name:14}" + "".join(f"{size:10.0f}" for size in sizes))


def run_operations(port: int, operations: int, kubeconfig: Path) -> None:
    api = f"http://127.0.0.1:{port}"
    pool = urllib3.PoolManager(maxsize=VNFS)
    lcm.register(api, kubeconfig, pool)

    def run_one(_: int) -> None:
        product = lcm.Product(api, pool, 0.1)
        lcm.run_lifecycle(product, 1, lcm.empty_times())

    with ThreadPoolExecutor(VNFS) as threads:
        list(threads.map(run_one, range(operations // len(lcm.OPERATIONS))))
    product = lcm.Product(api, pool)
    for _ in range(LISTS):
        product.call("GET", "/vnflcm/v2/vnf_lcm_op_occs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", help="URL; default: a SQLite file")
    parser.add_argument("--queue", help="URL", required=True)
    parser.add_argument("--programs", type=Path, default=lcm.BIN)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--operations", type=int, default=1000)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        lcm.cluster(Path(folder)) as kubeconfig,
    ):
        database = arguments.database or f"sqlite:///{folder}/bench.db"
        service = Service(
            Path(folder), database, arguments.queue, arguments.programs
        )
        measure_times(service, arguments.runs)
        measure_memory(service, arguments.operations, kubeconfig)


if __name__ == "__main__":
    main()
