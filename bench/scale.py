"""How the cost grows with the number of VNF instances and operations.

Adds copies of one VNF instance and of its operations to the database, ten
operations for each instance, and measures requests and a heal before and after.
API and conductor are in this process, the cluster in another one. Prints the
processor time, the statements, and the ratio to the smallest number.

    .venv/bin/python bench/scale.py [--database URL] [--instances 100 1000 10000]
"""

import argparse
import datetime
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cost
import lcm
import sqlalchemy as sa

from tacker_cnf import rpc
from tacker_cnf.conductor.vim_usage import VimUsage
from tacker_cnf.db import conductors, models
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.services.vim_connections import VimConnections

OP_OCCS_EACH = 10
BATCH = 1000
INSTANCE = models.VnfInstance.__table__
OP_OCC = models.VnfLcmOpOcc.__table__


class Copies:
    """Copies of a VNF instance, and of its last operation."""

    def __init__(self, engine: sa.Engine, instance_id: str) -> None:
        # without timeouts
        self._engine = sa.create_engine(engine.url)
        self._count = 1
        self._seconds = 0.0
        with engine.connect() as connection:
            self._instance = (
                connection.execute(
                    sa.select(INSTANCE).where(INSTANCE.c.id == instance_id)
                )
                .mappings()
                .one()
            )
            self._op_occ = (
                connection.execute(
                    sa.select(OP_OCC)
                    .where(OP_OCC.c.vnf_instance_id == instance_id)
                    .limit(1)
                )
                .mappings()
                .one()
            )

    def grow(self, count: int) -> None:
        """Add copies until there are so many."""
        while self._count < count:
            ids = [
                str(uuid.uuid4())
                for _ in range(min(BATCH, count - self._count))
            ]
            with self._engine.begin() as connection:
                connection.execute(
                    sa.insert(INSTANCE), [*self._instances(ids)]
                )
                connection.execute(sa.insert(OP_OCC), [*self._op_occs(ids)])
            self._count += len(ids)
        if self._engine.dialect.name == "postgresql":
            with self._engine.connect() as connection:
                connection.execute(sa.text("ANALYZE"))

    def _instances(self, ids: list[str]) -> Iterator[Mapping[str, Any]]:
        for instance_id in ids:
            yield {
                **self._instance,
                "id": instance_id,
                "created_at": self._later(),
            }

    def _later(self) -> datetime.datetime:
        """Return another time at each call, after those of the original."""
        self._seconds += 0.01
        created: datetime.datetime = self._instance["created_at"]
        return created + datetime.timedelta(seconds=self._seconds)

    def _op_occs(self, ids: list[str]) -> Iterator[Mapping[str, Any]]:
        for instance_id in ids:
            for _ in range(OP_OCCS_EACH):
                yield {
                    **self._op_occ,
                    "id": str(uuid.uuid4()),
                    "vnf_instance_id": instance_id,
                    "start_time": self._later(),
                }


def actions(
    service: cost.Service, path: str, vnfd_id: str
) -> Mapping[str, tuple[Callable[[], Any], int]]:
    """Return what is measured, and how often."""
    name = f"{cost.INSTANCES}?filter=(eq,vnfInstanceName,the-one)"
    state = f"{cost.OP_OCCS}?filter=(eq,operationState,PROCESSING)"
    store = service.parts.store

    def start() -> None:
        """Start a conductor, a process of its own, until it works; stop it."""
        with lcm.conductor(
            service.conf_file, lambda: store.read(None, conductors.count)
        ):
            pass

    def read_vims() -> None:
        drivers = DriverRegistry(service.parts.conf)
        VimUsage(store, VimConnections(drivers)).refresh()

    return {
        "GET VNF instance": (lambda: service.call("GET", path), 50),
        "page of instances": (lambda: service.call("GET", cost.INSTANCES), 20),
        "page of operations": (lambda: service.call("GET", cost.OP_OCCS), 20),
        "instance by name": (lambda: service.call("GET", name), 20),
        "operations by state": (lambda: service.call("GET", state), 20),
        "POST create": (lambda: cost.instance_of(service, vnfd_id), 20),
        "heal": (lambda: service.operate(f"{path}/heal", {}), 3),
        "conductor start": (start, 3),
        "VIMs of all instances": (read_vims, 3),
    }


def run(service: cost.Service, counts: list[int]) -> None:
    _, vnfd_id = service.onboard()
    path = cost.instance_of(service, vnfd_id)
    request = {"flavourId": "simple", "additionalParams": cost.PARAMETERS}
    service.operate(f"{path}/instantiate", request)
    instance_id = path.rpartition("/")[2]
    copies = Copies(service.parts.store.engine, instance_id)
    service.call("PATCH", path, {"vnfInstanceName": "the-one"})
    time.sleep(1)
    first: dict[str, float] = {}
    for count in counts:
        copies.grow(count)
        print(f"\n{count} instances, {count * OP_OCCS_EACH} operations")
        print(f"{'':24}{'CPU ms':>9}{'ms':>9}{'ratio':>7}{'statements':>12}")
        for name, (act, calls) in actions(service, path, vnfd_id).items():
            act()
            counter = service.counter
            one = cost.median(
                [cost.measure(counter, act) for _ in range(calls)]
            )
            ratio = one.wall_ms / first.setdefault(name, one.wall_ms)
            print(
                f"{name:24}{one.cpu_ms:9.2f}{one.wall_ms:9.2f}{ratio:7.2f}"
                f"{one.statements:12.0f}"
            )
        print(f"{'memory, MiB':24}{cost.memory():9.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", default="", help="default: SQLite")
    parser.add_argument(
        "--instances", type=int, nargs="*", default=[100, 1000, 10000]
    )
    arguments = parser.parse_args()
    with cost.running(arguments.database, rpc.EMBEDDED) as service:
        run(service, arguments.instances)


if __name__ == "__main__":
    main()
