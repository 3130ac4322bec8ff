"""One storm: clients and faults concurrently, then the drain and checks."""

import collections
import dataclasses
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from tests.services.client import INSTANCES
from tests.storm import checks, history
from tests.storm.clients import ACTIVE, ClientThreads, RequestLog, StormClient
from tests.storm.faults import FaultInjector
from tests.storm.service import Service

CLIENTS = 8
#: seconds for each part of the drain
DRAIN_TIMEOUT_S = 600.0
#: decisions about one failed operation before its failure is accepted
MAX_DECISIONS = 4
OP_OCCS = "SELECT id, operation, operation_state AS state FROM vnf_lcm_op_occs"
BUSY = "SELECT id, busy_with FROM vnf_instances WHERE busy_with IS NOT NULL"
UNDELIVERED = (
    "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*)"
    " FROM lifecycle_events WHERE NOT fanned_out) AS count"
)


@dataclasses.dataclass
class Report:
    """The statistics of a storm, and the problems found after it."""

    operations: Mapping[str, int]
    states: Mapping[str, int]
    #: task and status -> number of responses
    response_counts: Mapping[str, int]
    faults: Mapping[str, int]
    writes: int
    #: check -> what it found
    found: Mapping[str, list[str]]


class Storm:
    """A storm on a service.

    :param log: called with a line about each part of the storm
    """

    def __init__(
        self, service: Service, seed: int, log: Callable[[str], None]
    ) -> None:
        self._service = service
        self._seed = seed
        self._log = log
        self._requests = RequestLog()
        self._client = self._make_client("drain")
        self._found: dict[str, list[str]] = {}
        self.faults = FaultInjector(service, seed)

    def _make_client(self, name: object) -> StormClient:
        rng = random.Random(f"{self._seed} {name}")  # noqa: S311
        return StormClient(self._service, self._requests, rng)

    def run(self, vnfs: int, seconds: float) -> Report:
        """Run the whole storm."""
        self._log(f"Creating VNFs: count={vnfs}")
        for _ in range(vnfs):
            self._client.create()
        self._log(f"Running clients and faults: seconds={seconds:g}")
        self._load(seconds)
        self._log("Faults repaired; completing all operations")
        self._drain("retry", "rollback", "fail")
        self._log("Comparing instances with the cluster")
        self._found["replicas and VNFCs that differ"] = self._wait_empty(
            self._list_differing
        )
        self._log("Terminating all VNFs")
        self._terminate()
        self._log("Waiting for synchronization and notifications")
        self._found["objects without an owner"] = self._wait_empty(
            self._without_owner
        )
        self._wait_empty(self._undelivered)
        return self._report()

    def _load(self, seconds: float) -> None:
        threads = ClientThreads([self._make_client(n) for n in range(CLIENTS)])
        threads.start()
        self.faults.start()
        try:
            time.sleep(seconds)
        finally:
            self.faults.stop()
            threads.stop()
        self._found["clients and faults that failed"] = [
            repr(error) for error in (*threads.errors, *self.faults.errors)
        ]

    def _drain(self, *decisions: str) -> None:
        """Decide about failed operations until all have ended."""
        until = time.monotonic() + DRAIN_TIMEOUT_S
        decided: collections.Counter[str] = collections.Counter()
        while time.monotonic() < until:
            states = self._states()
            for op_occ_id, state in states.items():
                if state == "FAILED_TEMP":
                    decided[op_occ_id] += 1
                    is_last = decided[op_occ_id] > MAX_DECISIONS
                    choices = ("fail",) if is_last else decisions
                    self._client.decide(op_occ_id, *choices)
            if not {*ACTIVE, "FAILED_TEMP"} & set(states.values()):
                return
            time.sleep(0.5)

    def _terminate(self) -> None:
        for instance in self._instantiated():
            self._client.start_operation(instance, "terminate")
        self._drain("retry")
        self._found["VNFs not terminated"] = [
            instance["id"] for instance in self._instantiated()
        ]

    def _wait_empty(self, find: Callable[[], list[str]]) -> list[str]:
        until = time.monotonic() + DRAIN_TIMEOUT_S
        while (found := find()) and time.monotonic() < until:
            time.sleep(2)
        return found

    def _fetch(self, query: str) -> list[Any]:
        with self._service.engine.connect() as connection:
            return list(connection.execute(sa.text(query)))

    def _states(self) -> dict[str, str]:
        return {row.id: row.state for row in self._fetch(OP_OCCS)}

    def _instantiated(self) -> list[Any]:
        instances = (
            self._client.get(f"{INSTANCES}/{instance_id}")
            for instance_id in self._requests.instances
        )
        return [
            instance
            for instance in instances
            if instance and instance["instantiationState"] == "INSTANTIATED"
        ]

    def _list_differing(self) -> list[str]:
        instances = self._instantiated()
        pods = self._service.cluster.pods()
        replicas = self._service.cluster.replicas()
        return [
            line
            for instance in instances
            for line in checks.find_differing_replicas(
                instance, pods, replicas
            )
        ]

    def _without_owner(self) -> list[str]:
        instantiated = {instance["id"] for instance in self._instantiated()}
        return [
            f"{instance_id}: {what}"
            for instance_id, what in self._service.cluster.owned()
            if instance_id not in instantiated
        ]

    def _undelivered(self) -> list[str]:
        (row,) = self._fetch(UNDELIVERED)
        return ["notification"] * int(row.count)

    def _report(self) -> Report:
        requests, rows = self._requests, self._fetch(OP_OCCS)
        states = {row.id: row.state for row in rows}
        busy = {row.id: row.busy_with for row in self._fetch(BUSY)}
        engine = self._service.engine
        versions = history.read(engine)
        writes = self._service.cluster.writes
        received = [one.json for one in self._service.receiver.received]
        return Report(
            operations=collections.Counter(row.operation for row in rows),
            states=collections.Counter(states.values()),
            response_counts=requests.response_counts,
            faults=self.faults.done,
            writes=len(writes),
            found={
                "operations lost": checks.find_lost(requests.accepted, states),
                "operations duplicated": checks.find_duplicates(
                    requests.accepted, versions
                ),
                "operations stuck": checks.find_stuck(states, busy),
                "notifications missing or out of order": [
                    *checks.find_missing_notifications(versions, received),
                    *checks.find_missing_instance_notifications(
                        requests.created, requests.deleted, received
                    ),
                ],
                "writes without a claim": checks.find_unclaimed_writes(
                    writes, versions, history.read_cleanups(engine)
                ),
                "responses with status 500": requests.errors,
                **self._found,
            },
        )
