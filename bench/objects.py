"""Operations on a VNF with many objects.

API and conductor are in this process; the cluster is that of the sandbox. Prints
how long an operation takes if the driver creates and deletes one object after the
other, and if it does several at the same time; both without and with a delay of each
request, as a distant cluster has it.

    .venv/bin/python bench/objects.py [--objects 60] [--delay 0.01]
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import cost
import package

from tacker_cnf import rpc
from tacker_cnf.drivers.kubernetes import cluster_task
from tacker_cnf.drivers.kubernetes.cluster_session import ClusterSession

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {{{{name: settings-{number}}}}}
data: {{{{some: data}}}}
---
"""
OPERATIONS = ("instantiate", "heal the whole", "terminate")
#: the first one is not counted
RUNS = 4


def manifest(objects: int) -> str:
    """Return the Deployment of the benchmarks after so many ConfigMaps."""
    maps = (CONFIG_MAP.format(number=number) for number in range(objects))
    return "".join(maps) + package.MANIFEST


def times(
    service: cost.Service, vnfd_id: str, calls: int, delay: float
) -> Mapping[str, float]:
    """Return operation -> seconds.

    :param calls: at the same time
    :param delay: of each request to the cluster, in seconds
    """
    send = ClusterSession.send

    def send_late(*arguments: Any, **options: Any) -> Any:
        time.sleep(delay)
        return send(*arguments, **options)

    def run() -> Iterator[float]:
        operations = cost.operations(service, vnfd_id)
        for name in OPERATIONS:
            begin = time.perf_counter()
            operations[name]()
            yield time.perf_counter() - begin - cost.REST_S

    with (
        mock.patch.object(cluster_task, "MAX_REQUESTS", calls),
        mock.patch.object(ClusterSession, "send", send_late),
    ):
        runs = [tuple(run()) for _ in range(RUNS)]
    medians = map(statistics.median, zip(*runs[1:], strict=True))
    return dict(zip(OPERATIONS, medians, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", default="", help="default: SQLite")
    parser.add_argument("--objects", type=int, default=60)
    parser.add_argument("--delay", type=float, default=0.01, help="seconds")
    arguments = parser.parse_args()
    several = cluster_task.MAX_REQUESTS
    with (
        mock.patch.object(package, "MANIFEST", manifest(arguments.objects)),
        cost.running(arguments.database, rpc.EMBEDDED) as service,
    ):
        _, vnfd_id = service.onboard()
        for delay in (0.0, arguments.delay):
            single = times(service, vnfd_id, 1, delay)
            print(f"\nrequests delayed by {delay:g} s; seconds")
            print(f"{'':16}{'1 call':>9}{several:>3} calls{'ratio':>7}")
            for name, seconds in times(
                service, vnfd_id, several, delay
            ).items():
                ratio = seconds / single[name]
                print(
                    f"{name:16}{single[name]:9.2f}{seconds:9.2f}{ratio:7.2f}"
                )


if __name__ == "__main__":
    main()
