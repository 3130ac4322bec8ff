"""The database is away for a moment: servers wait, and say so in a line."""

import http.client
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import sqlalchemy as sa
import testtools

from tacker_cnf import conf as configuration
from tests.fixtures import waiting
from tests.fixtures.closable_port import ClosablePort
from tests.services.backends import POSTGRESQL
from tests.services.client import Client, instantiation
from tests.services.cluster import CORE, Cluster
from tests.services.deployment import Api, Deployment

SMALL: Final = "configmap secret deployment"
#: seconds for which the database is away
GONE: Final = 3.0
#: seconds of idleness for which the server used to keep no connection
IDLE: Final = 4.0
INSTANCES: Final = 5


class DatabaseOutageCase(testtools.TestCase):
    def deploy(self, **options: dict[str, Any]) -> Path:
        """Make a service; return a configuration by way of a gate."""
        self.deployment = self.useFixture(
            Deployment(self, POSTGRESQL, **options)
        )
        url = sa.make_url(self.deployment.database.url)
        self.gate = self.useFixture(ClosablePort(url.port or 5432))
        through = url.set(host="127.0.0.1", port=self.gate.port)
        return self.deployment.configure(
            "gated.conf",
            database={
                "connection": through.render_as_string(hide_password=False)
            },
        )


class TestApi(DatabaseOutageCase):
    def test_worker_that_boots_meanwhile(self) -> None:
        conf = self.deploy()
        api = self.deployment.api(conf)
        (worker,) = children(api.pid)
        self.gate.close()
        os.kill(worker, signal.SIGKILL)
        waiting.until(
            lambda: self.status(api) == 503, "an answer of the new worker"
        )
        self.assertEqual(1, len(children(api.pid) - {worker}))
        self.gate.open()
        waiting.until(lambda: self.status(api) == 200, "a healthy worker")
        self.assertIsNone(api.process.poll())
        self.assertNotIn("Traceback", api.output)

    def status(self, api: Api) -> int:
        try:
            return api.client.call("GET", "/healthcheck").status
        except OSError:  # there is no worker now
            return 0

    def test_connections_that_are_idle(self) -> None:
        """They stay, and no thread waits for them."""
        self.deploy(api={"threads": 1})
        where = urlsplit(self.deployment.api().client.endpoint).netloc
        idle = [http.client.HTTPConnection(where) for _ in range(5)]
        sockets: list[Any] = []
        for _ in range(2):
            for connection in idle:
                connection.request("GET", "/healthcheck")
                answer = connection.getresponse()
                answer.read()
                self.assertEqual(200, answer.status)
            sockets.append([connection.sock for connection in idle])
            time.sleep(IDLE)
        self.assertEqual(sockets[0], sockets[1])
        for connection in idle:
            connection.close()
        default = configuration.load([]).api.keepalive_timeout
        self.assertLessEqual(75, default)


class TestConductor(DatabaseOutageCase):
    def test_outage_is_one_line(self) -> None:
        """Whatever is at it meanwhile, and it is done afterwards."""
        conf = self.deploy(conductor={"lease": 30.0})
        self.cluster = self.useFixture(Cluster())
        client = self.deployment.api(conf).client
        conductor = self.deployment.conductor(conf)
        client.register(self.cluster.vim)
        namespaces = self.instantiate(client)
        self.gate.close()
        start = time.monotonic()
        for namespace in namespaces.values():
            for pod in self.cluster.pods(namespace):
                path = f"{CORE}/namespaces/{namespace}/pods/{pod}"
                self.cluster.call("DELETE", path)
        threading.Event().wait(max(start + GONE - time.monotonic(), 0))
        self.gate.open()
        for instance, namespace in namespaces.items():
            waiting.until(
                lambda i=instance, n=namespace: (  # type: ignore[misc]
                    client.pods(i) == set(self.cluster.pods(n))
                ),
                "what the cluster did to be known",
            )
        output = conductor.output
        self.assertNotIn("Traceback", output)
        begun_and_ended = (
            output.count("Database unreachable"),
            output.count("Database reachable again"),
        )
        # of the conductor and of its dispatcher
        self.assertEqual((2, 2), begun_and_ended, output)

    def instantiate(self, client: Client) -> dict[str, str]:
        vnfd_id = client.onboard_sample()
        instances = [client.create(vnfd_id) for _ in range(INSTANCES)]
        namespaces = {
            one: self.cluster.add_namespace(f"n-{one}") for one in instances
        }
        op_occ_ids = [
            client.start_operation(
                one, "instantiate", instantiation(SMALL, namespace)
            )
            for one, namespace in namespaces.items()
        ]
        for op_occ_id in op_occ_ids:
            done = client.wait_operation(op_occ_id)
            self.assertEqual("COMPLETED", done["operationState"], done)
        return namespaces


def children(pid: int) -> set[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return set(map(int, found.split()))
