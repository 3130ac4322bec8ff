"""Outages of some seconds of each dependency, at each step of operations.

Operations of all kinds are blocked, one at each of its steps; the database,
the cluster, the NFVO or the subscriber becomes unreachable, the steps
continue, and the dependency recovers. No operation needs a decision.
"""

import re
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
import testtools

from tests.fixtures import waiting
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.nfvo import NfvoServer
from tests.fixtures.tcp_proxy import TcpProxy
from tests.fixtures.vnfm import Csar
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)
from tests.operation_kinds import KINDS, OperationKind
from tests.services.backends import POSTGRESQL
from tests.services.client import INSTANCES, Client, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

SMALL: Final = "configmap secret deployment"
#: what a conductor logs while a dependency is unreachable
LOGGED: Final = {
    "cluster": "VIM unreachable",
    "database": "Database unreachable",
    "nfvo": "NFVO unreachable",
}
#: seconds from the continuation of the steps to the end of the outage
OUTAGE_S: Final = 4.0
#: number of instances that are prepared at a time
WORKERS: Final = 8
#: seconds, longer than the test
POD_START_DELAY_S: Final = 3600.0

#: creates a file when it runs, and waits while its phase is blocked
SCRIPT_TEXT: Final = """\
    import json, pathlib, sys, time
    script_input = json.load(sys.stdin)
    phase = script_input["operation"].rpartition("_")[2]
    folder = pathlib.Path({folder!r})
    name = f"{{script_input['vnfInstance']['id']}}-{{phase}}"
    block_file = folder / f"block-{{name}}"
    if block_file.exists():
        (folder / name).touch()
    while block_file.exists():
        time.sleep(0.02)
    print("{{}}")
"""
PHASES: Final = {"PREAMBLE": "start", "POSTAMBLE": "end"}


class BlockingNfvo(NfvoServer):
    """Grants some instances after it is released."""

    def __init__(self) -> None:
        super().__init__()
        #: ids of the instances that wait
        self.blocked: set[str] = set()
        self.released = threading.Event()

    def respond_to_grant_request(
        self, grant_request: dict[str, Any]
    ) -> Response:
        if grant_request["vnfInstanceId"] in self.blocked:
            self.released.wait()
        return super().respond_to_grant_request(grant_request)


class Operation(NamedTuple):
    """An operation, and the step that it has reached when the outage begins."""

    kind: OperationKind
    step: str
    instance_id: str

    @property
    def script_name(self) -> str:
        """Return the name of the file that the script of the step creates."""
        return f"{self.instance_id}-{PHASES[self.step]}"


class OutageCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = self.useFixture(Cluster(0.1))
        self.nfvo = self.useFixture(BlockingNfvo())
        self.addCleanup(self.nfvo.released.set)
        self.receiver = self.useFixture(HttpReceiver())
        self.ports = {
            "cluster": self.add_port(self.cluster.sandbox.endpoint),
            "nfvo": self.add_port(self.nfvo.url),
            "subscriber": self.add_port(self.receiver.url),
        }
        self.deployment = self.useFixture(self.service())
        url = sa.make_url(self.deployment.database.url)
        self.ports["database"] = self.useFixture(TcpProxy(url.port or 5432))
        through = url.set(host="127.0.0.1", port=self.ports["database"].port)
        conf = self.deployment.configure(
            "proxied.conf",
            database={
                "connection": through.render_as_string(hide_password=False)
            },
        )
        self.folder = self.deployment.folder / "scripts"
        self.folder.mkdir()
        self.client: Client = self.deployment.api(conf).client
        self.conductor = self.deployment.conductor(conf)
        self.prepare()

    def add_port(self, url: str) -> TcpProxy:
        return self.useFixture(TcpProxy(int(url.rpartition(":")[2])))

    def service(self) -> Deployment:
        return Deployment(
            self,
            POSTGRESQL,
            api={"endpoint": "http://vnfm.example"},
            nfvo={
                "endpoint": f"http://127.0.0.1:{self.ports['nfvo'].port}",
                "poll_interval": 0.2,
            },
            conductor={"lease": 300.0},
            kubernetes={"contact_timeout": 300.0, "outage_timeout": 300.0},
            notification={"retry_interval": 0.2},
        )

    def prepare(self) -> None:
        """Onboard a package with scripts, register the VIM, subscribe."""
        hooks = {
            f"{kind.hook}_{phase}"
            for kind in KINDS
            for phase in ("start", "end")
        }
        text = textwrap.dedent(SCRIPT_TEXT).format(folder=str(self.folder))
        files = {SCRIPT: text, FLAVOUR: flavour_with_scripts(*hooks)}
        csar = self.useFixture(Csar(files=files))
        self.client.onboard(csar.read())
        self.vnfd_id = csar.vnfd_id
        port = self.ports["cluster"].port
        vim = {**self.cluster.vim, "auth_url": f"https://127.0.0.1:{port}"}
        self.client.register(vim)
        port = self.ports["subscriber"].port
        body = {"callbackUri": f"http://127.0.0.1:{port}/callback"}
        self.client.call_expecting(
            "POST", "/vnflcm/v2/subscriptions", body, 201
        )

    def request(self, instance_id: str) -> Any:
        namespace = self.cluster.add_namespace(f"n-{instance_id}")
        return instantiation(SMALL, namespace)

    def vnfc_of(self, instance_id: str) -> str:
        return str(self.client.info(instance_id)["vnfcInfo"][0]["id"])

    def prepare_instance(self, kind: OperationKind) -> str:
        instance_id = self.client.create(self.vnfd_id)
        for task, body in kind.before:
            request_body = body or self.request(instance_id)
            self.client.run(instance_id, task, request_body)
        return instance_id

    def start_operation(self, kind: OperationKind, instance_id: str) -> str:
        path = f"{INSTANCES}/{instance_id}{kind.task}"
        body = kind.body(self, instance_id)
        response = self.client.call(kind.method, path, body)
        self.assertEqual(202, response.status)
        return str(response.headers["Location"].rpartition("/")[2])

    # blocking operations at a step

    def block(self, operation: Operation) -> None:
        if operation.step == "GRANT":
            self.nfvo.blocked.add(operation.instance_id)
        elif operation.step in PHASES:
            (self.folder / f"block-{operation.script_name}").touch()

    def release_all(self) -> None:
        self.nfvo.released.set()
        for path in self.folder.glob("block-*"):
            path.unlink()
        self.cluster.start_pods()

    def is_at_step(self, operation: Operation, op_occ_id: str) -> bool:
        if operation.step == "GRANT":
            return any(
                request["vnfInstanceId"] == operation.instance_id
                for request in self.nfvo.grant_requests[:]
            )
        if operation.step in PHASES:
            return (self.folder / operation.script_name).exists()
        work = self.deployment.claim_row(op_occ_id)
        return work["step"] == "INFRA" or work["owner"] is None

    def start_operations(
        self, operations: list[Operation]
    ) -> dict[str, Operation]:
        """Start operations and wait until each is at its step."""
        started = {
            self.start_operation(one.kind, one.instance_id): one
            for one in operations
        }
        for op_occ_id, one in started.items():
            waiting.until(
                lambda i=op_occ_id, o=one: self.is_at_step(o, i),  # type: ignore[misc]
                f"{one.kind.name} to be at {one.step}",
            )
        return started

    # the outage

    def run_with_outage(self, *names: str) -> None:
        dependencies = " and ".join(names)
        ports = [self.ports[name] for name in names]
        cases = [(kind, step) for kind in KINDS for step in kind.steps]
        with ThreadPoolExecutor(WORKERS) as pool:
            prepared = pool.map(lambda c: self.prepare_instance(c[0]), cases)
        operations = [
            Operation(*case, instance_id)
            for case, instance_id in zip(cases, prepared, strict=True)
        ]
        self.nfvo.grant_requests.clear()
        for one in operations:
            self.block(one)
        started = self.start_operations(
            [one for one in operations if one.step != "INFRA"]
        )
        # last, as no pod starts from now on
        self.cluster.sandbox.set_pod_start_delay(POD_START_DELAY_S)
        started |= self.start_operations(
            [one for one in operations if one.step == "INFRA"]
        )
        for port in ports:
            port.close()
        self.check_api(dependencies)
        for name in LOGGED.keys() & set(names):
            self.conductor.wait_for_output(re.compile(f"({LOGGED[name]})"))
        self.release_all()
        threading.Event().wait(OUTAGE_S)
        for port in ports:
            port.open()
        for op_occ_id, one in started.items():
            place = (
                f"{dependencies} unreachable at {one.step} of {one.kind.name}"
            )
            self.assert_done(place, one.kind, one.instance_id, op_occ_id)

    def check_api(self, dependencies: str) -> None:
        """Send requests to the API during an outage."""
        response = self.client.call("GET", INSTANCES)
        self.assertEqual(
            503 if dependencies == "database" else 200, response.status
        )

    def assert_done(
        self, place: str, kind: OperationKind, instance_id: str, op_occ_id: str
    ) -> None:
        end = self.client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", end["operationState"], f"{place}: {end}")
        row = self.deployment.database.fetch_row(
            "SELECT busy_with FROM vnf_instances WHERE id = :id",
            id=instance_id,
        )
        self.assertEqual({"busy_with": None}, row, place)
        states = [kind.first_state, "PROCESSING", "COMPLETED"]
        states = list(dict.fromkeys(states))
        notifications = self.receiver.wait(
            len(states), vnfLcmOpOccId=op_occ_id
        )
        self.assertEqual(states, _states(notifications), place)
        if kind.name == "terminate":
            pods = self.cluster.pods(f"n-{instance_id}")
            self.assertEqual({}, pods, place)


class TestDatabase(OutageCase):
    def test_it_is_unreachable(self) -> None:
        self.run_with_outage("database")


class TestCluster(OutageCase):
    def test_it_is_unreachable(self) -> None:
        self.run_with_outage("cluster")


class TestPeers(OutageCase):
    def test_the_nfvo_and_the_subscriber_are_unreachable(self) -> None:
        self.run_with_outage("nfvo", "subscriber")


def _states(notifications: list[ReceivedRequest]) -> list[str]:
    """Return the states in the order of their first notification: one that
    was not acknowledged may have been sent twice.
    """
    return list(dict.fromkeys(r.json["operationState"] for r in notifications))
