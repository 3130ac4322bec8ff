"""Clients that request all kinds of operations, in random order."""

import collections
import http.client
import random
import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any

from tests.operation_kinds import IN, OUT
from tests.services.client import (
    FILES,
    INSTANCES,
    OP_OCCS,
    Client,
    Response,
    instantiation,
)
from tests.storm.service import Service

ACTIVE = {"STARTING", "PROCESSING", "ROLLING_BACK"}
#: statuses of a server that is temporarily unavailable
UNAVAILABLE = {502, 503, 504}
#: seconds for which a client retries one request
TIMEOUT_S = 120.0
SMALL_FLAVOUR_FILES = "configmap secret deployment"
MERGE = "application/merge-patch+json"
#: operation of a running instance -> its weight
RUNNING = {
    "scale out": 5,
    "scale in": 3,
    "heal": 2,
    "heal one": 4,
    "modify": 3,
    "change_vnfpkg": 3,
    "terminate": 3,
}
DECISIONS = {"retry": 5, "rollback": 3, "fail": 2}


class RequestLog:
    """The requests of all clients."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        #: operation -> its instance
        self.accepted: dict[str, str] = {}
        #: instance -> the last operation of it that was accepted
        self.last: dict[str, str] = {}
        self.instances: list[str] = []
        self.created: list[str] = []
        self.deleted: list[str] = []
        #: task and status -> how often
        self.response_counts: collections.Counter[str] = collections.Counter()
        #: details of responses with status 500
        self.errors: list[str] = []

    def record(self, task: str, response: Response) -> None:
        """Count a response."""
        with self.lock:
            self.response_counts[f"{task} {response.status}:"] += 1
            if response.status == 500:
                self.errors.append(f"{task}: {response.detail}")

    def record_accepted(self, instance_id: str, op_occ_id: str) -> None:
        """Record that an operation was accepted."""
        with self.lock:
            self.accepted[op_occ_id] = instance_id
            self.last[instance_id] = op_occ_id


class StormClient:
    """One client; a request without a response is sent again, with the same
    Idempotency-Key, to a random server.
    """

    def __init__(
        self, service: Service, requests: RequestLog, rng: random.Random
    ) -> None:
        self._service = service
        self._requests = requests
        self._rng = rng

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = "application/json",
    ) -> Response:
        """Send a request until there is a response."""
        key = {} if method == "GET" else {"Idempotency-Key": str(uuid.uuid4())}
        until = time.monotonic() + TIMEOUT_S
        while True:
            client: Client = self._rng.choice(self._service.clients)
            try:
                response = client.call(method, path, body, kind, key)
                if response.status not in UNAVAILABLE:
                    return response
                why: object = response.detail
            except (OSError, http.client.HTTPException) as error:
                why = error
            if time.monotonic() > until:
                raise AssertionError(f"{method} {path}: {why}")
            time.sleep(0.2)

    def get(self, path: str) -> Any:
        """Read something; None: it does not exist."""
        response = self.call("GET", path)
        if response.status == 404:
            return None
        assert response.status == 200, response.content
        return response.json

    def create(self) -> str:
        """Create an instance, and its namespace; return its id."""
        body = {
            "vnfdId": self._rng.choice(self._service.vnfd_ids),
            "vnfInstanceName": "a storm's",
        }
        response = self.call("POST", INSTANCES, body)
        assert response.status == 201, response.content
        instance_id = str(response.json["id"])
        self._service.cluster.add_namespace(instance_id)
        with self._requests.lock:
            self._requests.created.append(instance_id)
            self._requests.instances.append(instance_id)
        return instance_id

    def run_request(self) -> None:
        """Send a request about a random instance."""
        with self._requests.lock:
            instance_id = self._rng.choice(self._requests.instances)
            last = self._requests.last.get(instance_id)
        if last is None or self._rng.random() < 0.1:
            self._begin(instance_id)  # even if the last one has not ended
            return
        state = self.get(f"{OP_OCCS}/{last}")["operationState"]
        if state == "FAILED_TEMP":
            self.decide(last)
        elif state not in ACTIVE:
            self._begin(instance_id)
        elif self._rng.random() < 0.03:
            self.cancel(last)

    def decide(self, op_occ_id: str, *decisions: str) -> None:
        """Decide about an operation that failed: one of these, or any."""
        names = decisions or tuple(DECISIONS)
        weights = [DECISIONS[name] for name in names]
        (decision,) = self._rng.choices(names, weights)
        path = f"{OP_OCCS}/{op_occ_id}/{decision}"
        self._requests.record(decision, self.call("POST", path))

    def cancel(self, op_occ_id: str) -> None:
        mode = self._rng.choice(("GRACEFUL", "FORCEFUL"))
        path = f"{OP_OCCS}/{op_occ_id}/cancel"
        response = self.call("POST", path, {"cancelMode": mode})
        self._requests.record("cancel", response)

    def _begin(self, instance_id: str) -> None:
        instance = self.get(f"{INSTANCES}/{instance_id}")
        if instance is None:
            return  # another client has just deleted it
        if instance["instantiationState"] == "INSTANTIATED":
            (task,) = self._rng.choices(
                tuple(RUNNING), tuple(RUNNING.values())
            )
        else:
            tasks, weights = ("instantiate", "modify", "delete"), (8, 1, 1)
            (task,) = self._rng.choices(tasks, weights)
        if task == "delete":
            self._delete(instance_id)
        else:
            self.start_operation(instance, task)

    def start_operation(self, instance: Any, task: str) -> None:
        """Request an operation; record it when it was accepted."""
        instance_id = instance["id"]
        method, path, body, kind = self._request(instance, task)
        response = self.call(
            method, f"{INSTANCES}/{instance_id}{path}", body, kind
        )
        self._requests.record(task, response)
        if response.status == 202:
            op_occ_id = str(response.headers["Location"].rpartition("/")[2])
            self._requests.record_accepted(instance_id, op_occ_id)

    def _request(self, instance: Any, task: str) -> tuple[str, str, Any, str]:
        if task == "modify":
            name = {"vnfInstanceName": f"named {self._rng.random()}"}
            return "PATCH", "", name, MERGE
        bodies = {
            "instantiate": self._instantiation,
            "change_vnfpkg": self._change,
            "heal one": self._heal_one,
        }
        plain: dict[str, Any] = {
            "scale out": OUT,
            "scale in": IN,
            "heal": {},
            "terminate": {"terminationType": "FORCEFUL"},
        }
        body = plain[task] if task in plain else bodies[task](instance)
        path = f"/{task.partition(' ')[0]}"
        return "POST", path, body, "application/json"

    @staticmethod
    def _files(instance: Any) -> str:
        """Return the manifests; every fourth instance has all kinds."""
        return (
            FILES
            if int(instance["id"][-1], 16) % 4 == 0
            else SMALL_FLAVOUR_FILES
        )

    def _instantiation(self, instance: Any) -> Any:
        return instantiation(self._files(instance), f"n-{instance['id']}")

    def _change(self, instance: Any) -> Any:
        parameters = self._instantiation(instance)["additionalParams"]
        vnfd_ids = self._service.vnfd_ids
        (other,) = (id_ for id_ in vnfd_ids if id_ != instance["vnfdId"])
        return {
            "vnfdId": other,
            "additionalParams": {
                "upgrade_type": "RollingUpdate",
                **parameters,
            },
        }

    def _heal_one(self, instance: Any) -> Any:
        vnfcs = instance["instantiatedVnfInfo"].get("vnfcInfo", ())
        if not vnfcs:
            return {}
        return {"vnfcInstanceId": [self._rng.choice(vnfcs)["id"]]}

    def _delete(self, instance_id: str) -> None:
        response = self.call("DELETE", f"{INSTANCES}/{instance_id}")
        self._requests.record("delete", response)
        if response.status in {204, 404}:
            with self._requests.lock:
                if instance_id not in self._requests.instances:
                    return  # another client was first
                self._requests.instances.remove(instance_id)
                self._requests.deleted.append(instance_id)
            self.create()


class ClientThreads:
    """Clients in threads, until they are stopped."""

    def __init__(self, clients: Sequence[StormClient]) -> None:
        self._ends = threading.Event()
        self.errors: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._run, args=(client,))
            for client in clients
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def _run(self, client: StormClient) -> None:
        while not self._ends.wait(0.05):
            try:
                client.run_request()
            except Exception as error:  # noqa: BLE001
                self.errors.append(error)

    def stop(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()
