"""Outages of some seconds of each dependency, at each step of operations.

All kinds of operations are blocked at a step; the database, the cluster, the
NFVO or the subscriber becomes unreachable, the step continues, and the
dependency recovers. No operation needs a decision.
"""

import contextlib
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import sqlalchemy as sa
import testtools

from tests.fixtures import waiting
from tests.fixtures.closable_port import ClosablePort
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.nfvo import NfvoServer
from tests.fixtures.vnfm import Csar
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)
from tests.operation_kinds import KINDS, STEPS, OperationKind
from tests.services.backends import POSTGRESQL
from tests.services.client import INSTANCES, Client, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

SMALL: Final = "configmap secret deployment"
#: seconds of an outage, and until the steps continue during it
OUTAGE_S: Final = 5.0
BLOCKED_S: Final = 1.0
#: seconds that a pod takes to start, so that it is waited for
POD_START_DELAY_S: Final = 2.0

#: creates a file when it runs, and waits while its phase is blocked
SCRIPT_TEXT: Final = """\
    import json, pathlib, sys, time
    script_input = json.load(sys.stdin)
    phase = script_input["operation"].rpartition("_")[2]
    folder = pathlib.Path({folder!r})
    hold = folder / f"hold-{{phase}}"
    if hold.exists():
        (folder / f"{{script_input['vnfInstance']['id']}}-{{phase}}").touch()
    while hold.exists():
        time.sleep(0.02)
    print("{{}}")
"""
PHASES: Final = {"PREAMBLE": "start", "POSTAMBLE": "end"}


class BlockingNfvo(NfvoServer):
    """Grants after it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()
        self.released.set()

    def respond_to_grant_request(
        self, grant_request: dict[str, Any]
    ) -> Response:
        self.released.wait(60)
        return super().respond_to_grant_request(grant_request)


class OutageCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = self.useFixture(Cluster(0.1))
        self.nfvo = self.useFixture(BlockingNfvo())
        self.receiver = self.useFixture(HttpReceiver())
        self.ports = {
            "cluster": self.add_port(self.cluster.sandbox.endpoint),
            "nfvo": self.add_port(self.nfvo.url),
            "subscriber": self.add_port(self.receiver.url),
        }
        self.deployment = self.useFixture(self.service())
        url = sa.make_url(self.deployment.database.url)
        self.ports["database"] = self.useFixture(
            ClosablePort(url.port or 5432)
        )
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
        self.deployment.conductor(conf)
        self.prepare()

    def add_port(self, url: str) -> ClosablePort:
        return self.useFixture(ClosablePort(int(url.rpartition(":")[2])))

    def service(self) -> Deployment:
        return Deployment(
            self,
            POSTGRESQL,
            api={"endpoint": "http://vnfm.example"},
            nfvo={
                "endpoint": f"http://127.0.0.1:{self.ports['nfvo'].port}",
                "poll_interval": 0.2,
            },
            kubernetes={"contact_timeout": 20.0},
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
        answer = self.client.call(kind.method, path, body)
        self.assertEqual(202, answer.status)
        return str(answer.headers["Location"].rpartition("/")[2])

    # blocking operations at a step

    @contextlib.contextmanager
    def block_step(self, step: str) -> Iterator[Callable[[str, str], bool]]:
        """Block operations at a step.

        Yield a function that returns whether an operation is there; it takes
        the ids of the instance and of the operation.
        """
        if step == "GRANT":
            self.nfvo.released.clear()
            yield self.is_waiting_for_grant
            self.nfvo.released.set()
        elif step == "INFRA":
            self.cluster.sandbox.set_pod_start_delay(POD_START_DELAY_S)
            yield self.is_changing_vim
            self.cluster.sandbox.set_pod_start_delay(0.1)
        else:
            block_file = self.folder / f"hold-{PHASES[step]}"
            block_file.touch()
            yield lambda i, _: (self.folder / f"{i}-{PHASES[step]}").exists()
            block_file.unlink()

    def is_waiting_for_grant(self, instance_id: str, _op_occ_id: str) -> bool:
        return any(
            a["vnfInstanceId"] == instance_id
            for a in self.nfvo.grant_requests[:]
        )

    def is_changing_vim(self, _instance_id: str, op_occ_id: str) -> bool:
        work = self.deployment.claim_row(op_occ_id)
        return work["step"] == "INFRA" or work["owner"] is None

    def wait_all_at(
        self,
        is_at_step: Callable[[str, str], bool],
        op_occ_ids: dict[str, str],
    ) -> None:
        for instance_id, op_occ_id in op_occ_ids.items():
            waiting.until(
                lambda i=instance_id, o=op_occ_id: is_at_step(i, o),  # type: ignore[misc]
                f"{op_occ_id} to be at its step",
            )

    # the outage

    def run_with_outage(self, *names: str) -> None:
        dependencies = " and ".join(names)
        ports = [self.ports[name] for name in names]
        for step in STEPS:
            kinds = [kind for kind in KINDS if step in kind.steps]
            with ThreadPoolExecutor(len(kinds)) as pool:
                prepared = list(pool.map(self.prepare_instance, kinds))
            self.nfvo.grant_requests.clear()
            with self.block_step(step) as is_at_step:
                op_occ_ids = {
                    instance_id: self.start_operation(kind, instance_id)
                    for kind, instance_id in zip(kinds, prepared, strict=True)
                }
                self.wait_all_at(is_at_step, op_occ_ids)
                for port in ports:
                    port.close()
                outage_start = time.monotonic()
                self.check_api(dependencies)
                threading.Event().wait(BLOCKED_S)
            threading.Event().wait(
                max(outage_start + OUTAGE_S - time.monotonic(), 0)
            )
            for port in ports:
                port.open()
            for kind, (instance_id, op_occ_id) in zip(
                kinds, op_occ_ids.items(), strict=True
            ):
                place = f"{dependencies} unreachable at {step} of {kind.name}"
                self.assert_done(place, kind, instance_id, op_occ_id)

    def check_api(self, dependencies: str) -> None:
        """Send requests to the API during an outage."""
        answer = self.client.call("GET", INSTANCES)
        self.assertEqual(
            503 if dependencies == "database" else 200, answer.status
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
