"""A client of the API, over a real connection."""

import itertools
import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import fixtures

from tacker_cnf.api import middleware
from tacker_cnf.sol.api import Api
from tests.fixtures import waiting
from tests.fixtures.vnfm import ACTIVE, Csar

FILES = (
    "configmap secret services pod replicaset deployment daemonset statefulset"
)
INSTANCES = "/vnflcm/v2/vnf_instances"
OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES = "/vnfpkgm/v1/vnf_packages"
OPERATION_TIMEOUT_S = 180.0


class Response:
    """An HTTP response, and its JSON."""

    def __init__(self, status: int, headers: Any, content: bytes) -> None:
        self.status = status
        self.headers = headers
        self.content = content

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def detail(self) -> str:
        return str(self.json["detail"])


def instantiation(files: str = FILES, namespace: str = "default") -> Any:
    """Build the body of an instantiation of the sample CNF."""
    return {
        "flavourId": "simple" if "pod" in files else "small",
        "additionalParams": {
            "namespace": namespace,
            "lcm-kubernetes-def-files": [
                f"Files/kubernetes/{name}.yaml" for name in files.split()
            ],
        },
    }


class Client(fixtures.Fixture):
    """Sends requests to one API server."""

    def __init__(self, endpoint: str) -> None:
        super().__init__()
        self.endpoint = endpoint

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = "application/json",
        headers: Mapping[str, str] = {},
    ) -> Response:
        """Send a request; a body that is not bytes is sent as JSON."""
        url = path if path.startswith("http") else self.endpoint + path
        request = urllib.request.Request(url, method=method)  # noqa: S310
        api = middleware.api_of(urllib.parse.urlsplit(url).path) or Api.LCM_V2
        for name, value in {"Version": api.number, **headers}.items():
            request.add_header(name, value)
        if body is not None:
            raw = isinstance(body, bytes)
            request.data = body if raw else json.dumps(body).encode()
            request.add_header("Content-Type", kind)
        try:
            with urllib.request.urlopen(request, timeout=300) as response:  # noqa: S310
                return Response(
                    response.status, response.headers, response.read()
                )
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, error.headers, error.read())

    def call_expecting(
        self, method: str, path: str, body: Any, status: int
    ) -> Any:
        """Send a request that has to succeed; return its JSON, if any."""
        response = self.call(method, path, body)
        assert response.status == status, (response.status, response.content)
        return response.json if response.content else None

    def onboard(self, csar: bytes) -> str:
        """Onboard a package and return its id."""
        created = self.call_expecting("POST", PACKAGES, {}, 201)["id"]
        path = f"{PACKAGES}/{created}/package_content"
        response = self.call("PUT", path, csar, "application/zip")
        assert response.status == 202, response.content
        return str(created)

    def onboard_sample(self) -> str:
        """Onboard the sample CNF with a unique VNFD id; return that id."""
        csar = self.useFixture(Csar())
        self.onboard(csar.read())
        return csar.vnfd_id

    def register(self, vim: dict[str, Any], name: str = "cluster") -> str:
        """Register a VIM as the default one."""
        body = {**vim, "name": name, "is_default": True}
        created = self.call_expecting("POST", "/v1.0/vims", {"vim": body}, 201)
        return str(created["vim"]["id"])

    def create(self, vnfd_id: str) -> str:
        """Create a VNF instance and return its id."""
        body = {"vnfdId": vnfd_id, "vnfInstanceName": "a test's"}
        return str(self.call_expecting("POST", INSTANCES, body, 201)["id"])

    def show(self, instance_id: str) -> Any:
        return self.call_expecting(
            "GET", f"{INSTANCES}/{instance_id}", None, 200
        )

    def info(self, instance_id: str) -> Any:
        return self.show(instance_id).get("instantiatedVnfInfo", {})

    def pods(self, instance_id: str, vdu: str | None = None) -> set[str]:
        """Return the pods of an instance, or of one of its VDUs."""
        return {
            vnfc["id"]
            for vnfc in self.info(instance_id).get("vnfcResourceInfo", ())
            if vdu in {None, vnfc["vduId"]}
        }

    def op_occ(self, op_occ_id: str) -> Any:
        return self.call_expecting("GET", f"{OP_OCCS}/{op_occ_id}", None, 200)

    def post_task(self, instance_id: str, task: str, body: Any) -> Response:
        """Request a lifecycle operation."""
        return self.call("POST", f"{INSTANCES}/{instance_id}/{task}", body)

    def start_operation(self, instance_id: str, task: str, body: Any) -> str:
        """Start a lifecycle operation; return the id of its occurrence."""
        response = self.post_task(instance_id, task, body)
        assert response.status == 202, (response.status, response.content)
        return str(response.headers["Location"].rsplit("/", 1)[1])

    def wait_operation(
        self, op_occ_id: str, timeout: float = OPERATION_TIMEOUT_S
    ) -> Any:
        """Wait until an operation has ended or failed; return it."""

        def read_ended() -> Any:
            op_occ = self.op_occ(op_occ_id)
            return op_occ if op_occ["operationState"] not in ACTIVE else None

        return waiting.until(read_ended, f"the end of {op_occ_id}", timeout)

    def run(self, instance_id: str, task: str, body: Any) -> Any:
        """Run a lifecycle operation, which has to complete; return it."""
        op_occ = self.wait_operation(
            self.start_operation(instance_id, task, body)
        )
        assert op_occ["operationState"] == "COMPLETED", op_occ
        return op_occ

    def decide(self, op_occ_id: str, decision: str) -> Any:
        """Retry, roll back or fail an operation; return it at its end."""
        response = self.call("POST", f"{OP_OCCS}/{op_occ_id}/{decision}")
        assert response.status in {200, 202}, response.content
        return self.wait_operation(op_occ_id)


Call = Callable[[Client], Response]


def call_concurrently(
    clients: Sequence[Client], calls: Sequence[Call]
) -> list[Response]:
    """Make calls at the same time, to all servers in turn."""
    together = threading.Barrier(len(calls))

    def make(client: Client, call: Call) -> Response:
        together.wait(60)
        return call(client)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(make, itertools.cycle(clients), calls))
