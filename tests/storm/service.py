"""The service of a storm: conductors and API servers, as processes."""

from pathlib import Path
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools

from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.ports import ReservedPort
from tests.fixtures.tcp_proxy import TcpProxy
from tests.fixtures.vnfm import SAMPLES, Csar
from tests.services.client import Client
from tests.services.deployment import Api, Conductor, Deployment
from tests.storm import history
from tests.storm.cluster import StormCluster

CONDUCTORS = 3
APIS = 2
#: seconds for which a lease is valid without renewal
LEASE_S = 6.0
#: seconds that a pod needs to start
POD_START_S = 0.5
#: default ports of the database servers
PORTS = {"postgresql": 5432, "mysql": 3306}
OPTIONS: dict[str, dict[str, Any]] = {
    "conductor": {
        "lease": LEASE_S,
        "sweep_interval": 1.0,
        "sync_interval": 5.0,
        "operation_timeout": 60.0,
    },
    "kubernetes": {
        "request_timeout": 2.0,
        "contact_timeout": 3.0,
        "outage_timeout": 5.0,
        "ready_timeout": 30.0,
        "failure_grace": 3.0,
    },
    "notification": {"lease": LEASE_S, "retry_interval": 0.2},
}
DEPLOYMENT = "Files/kubernetes/deployment.yaml"


class ConductorSlot(fixtures.Fixture):
    """One conductor, which can be restarted; its database connections go
    through a TCP proxy.
    """

    def __init__(self, service: "Service", name: str) -> None:
        super().__init__()
        self._service = service
        self._name = name

    def _setUp(self) -> None:
        url = sa.make_url(self._service.deployment.database.url)
        port = url.port or PORTS[url.get_backend_name()]
        self.database = self.useFixture(TcpProxy(port))
        through = url.set(host="127.0.0.1", port=self.database.port)
        self._conf = self._service.deployment.configure(
            f"{self._name}.conf",
            database={
                "connection": through.render_as_string(hide_password=False)
            },
        )
        self.start()

    def start(self) -> None:
        """Start the conductor."""
        deployment = self._service.deployment
        self.conductor: Conductor = deployment.conductor(self._conf)


class ApiSlot(fixtures.Fixture):
    """One API server, which can be restarted at the same address."""

    def __init__(self, service: "Service", name: str) -> None:
        super().__init__()
        self._service = service
        self._name = name

    def _setUp(self) -> None:
        port = self.useFixture(ReservedPort()).port
        self._conf = self._service.deployment.configure(
            f"{self._name}.conf", api={"port": port}
        )
        self.start()
        self.client = Client(f"http://127.0.0.1:{port}")

    def start(self) -> None:
        """Start the API server."""
        self.api: Api = self._service.deployment.api(self._conf)


class Service(fixtures.Fixture):
    """All processes of a storm.

    :param server: URL of the database server
    """

    def __init__(self, case: testtools.TestCase, server: str) -> None:
        super().__init__()
        self._case = case
        self._server = server

    def _setUp(self) -> None:
        self.receiver = self.useFixture(HttpReceiver())
        self.deployment = self.useFixture(
            Deployment(self._case, self._server, **OPTIONS)
        )
        self.folder: Path = self.deployment.folder
        self.engine = self.deployment.database.engine
        history.install(self.engine)
        self.cluster = self.useFixture(StormCluster(self.folder, POD_START_S))
        self.api_slots = [
            self.useFixture(ApiSlot(self, f"api-{n}")) for n in range(APIS)
        ]
        self.conductor_slots = [
            self.useFixture(ConductorSlot(self, f"conductor-{n}"))
            for n in range(CONDUCTORS)
        ]
        self.clients = [slot.client for slot in self.api_slots]
        self._prepare(self.clients[0])

    def _prepare(self, client: Client) -> None:
        """Onboard two packages, register the cluster, subscribe."""
        text = (SAMPLES / "cnf" / DEPLOYMENT).read_text()
        other = text.replace("nginx:1.27", "nginx:1.28")
        self.vnfd_ids = []
        for files in ({}, {DEPLOYMENT: other}):
            csar = self.useFixture(Csar(files=files))
            client.onboard(csar.read())
            self.vnfd_ids.append(csar.vnfd_id)
        client.register(self.cluster.vim)
        body = {"callbackUri": f"{self.receiver.url}/callback"}
        client.call_expecting("POST", "/vnflcm/v2/subscriptions", body, 201)
