"""Short outages of the database: servers wait, and log one line."""

import contextlib
import http.client
import os
import re
import signal
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import sqlalchemy as sa
import testtools

from tacker_cnf.db.session import Store
from tests.fixtures import waiting
from tests.fixtures.processes import children
from tests.fixtures.tcp_proxy import TcpProxy
from tests.services.backends import POSTGRESQL
from tests.services.client import Client, instantiation
from tests.services.cluster import CORE, Cluster
from tests.services.deployment import Api, Conductor, Deployment

SMALL: Final = "configmap secret deployment"
DISPATCHER_UP: Final = re.compile(r"Dispatcher lease acquired: owner=(\S+)")
INSTANCES: Final = 5


class DatabaseOutageCase(testtools.TestCase):
    def deploy(self, **options: dict[str, Any]) -> Path:
        """Deploy a service; return a configuration that uses a proxy."""
        self.deployment = self.useFixture(
            Deployment(self, POSTGRESQL, **options)
        )
        url = sa.make_url(self.deployment.database.url)
        self.proxy = self.useFixture(TcpProxy(url.port or 5432))
        through = url.set(host="127.0.0.1", port=self.proxy.port)
        return self.deployment.configure(
            "proxied.conf",
            database={
                "connection": through.render_as_string(hide_password=False)
            },
        )


class TestApi(DatabaseOutageCase):
    def test_a_worker_that_starts_during_an_outage_responds(self) -> None:
        conf = self.deploy()
        api = self.deployment.api(conf)
        (worker,) = children(api.pid)
        self.proxy.close()
        os.kill(worker, signal.SIGKILL)
        waiting.until(
            lambda: self.status(api) == 503, "a response of the new worker"
        )
        self.assertEqual(1, len(set(children(api.pid)) - {worker}))
        self.proxy.open()
        waiting.until(lambda: self.status(api) == 200, "a healthy worker")
        self.assertTrue(api.is_running)
        self.assertNotIn("Traceback", api.output)

    def status(self, api: Api) -> int:
        try:
            return api.client.call("GET", "/healthcheck").status
        except OSError:  # there is no worker now
            return 0

    def test_idle_connections_are_kept(self) -> None:
        """Idle connections occupy no thread."""
        self.deploy(api={"threads": 1})
        address = urlsplit(self.deployment.api().client.endpoint).netloc
        idle = [http.client.HTTPConnection(address) for _ in range(5)]
        before = [self.socket_after_request(one) for one in idle]
        after = [self.socket_after_request(one) for one in idle]
        self.assertEqual(before, after)
        for connection in idle:
            connection.close()

    def test_connections_that_are_idle_for_too_long(self) -> None:
        self.deploy(api={"keepalive_timeout": 1})
        where = urlsplit(self.deployment.api().client.endpoint).netloc
        with contextlib.closing(
            http.client.HTTPConnection(where, timeout=120)
        ) as connection:
            idle = self.socket_after_request(connection)
            self.assertEqual(b"", idle.recv(1))

    def socket_after_request(
        self, connection: http.client.HTTPConnection
    ) -> Any:
        """Send a request; return the socket of the connection."""
        connection.request("GET", "/healthcheck")
        response = connection.getresponse()
        response.read()
        self.assertEqual(200, response.status)
        return connection.sock


class TestReader(DatabaseOutageCase):
    def test_a_list_does_not_use_a_connection_that_was_closed(self) -> None:
        self.deploy()
        store = Store(self.deployment.database.url)
        self.addCleanup(store.close)
        database = self.deployment.database
        with store.reader() as reader:
            pid = reader.scalar(sa.text("SELECT pg_backend_pid()"))
        database.execute("SELECT pg_terminate_backend(:pid)", pid=pid)
        waiting.until(
            lambda: (
                not database.fetch_row(
                    "SELECT count(*) AS count FROM pg_stat_activity "
                    "WHERE pid = :pid",
                    pid=pid,
                )["count"]
            ),
            "the end of the connection",
        )
        with store.reader() as reader:
            self.assertNotEqual(
                pid, reader.scalar(sa.text("SELECT pg_backend_pid()"))
            )


class TestConductor(DatabaseOutageCase):
    def test_an_outage_is_logged_once(self) -> None:
        """Changes during the outage are recorded after it."""
        conf = self.deploy(conductor={"lease": 30.0})
        self.cluster = self.useFixture(Cluster())
        client = self.deployment.api(conf).client
        conductor = self.deployment.conductor(conf)
        client.register(self.cluster.vim)
        namespaces = self.instantiate(client)
        conductor.wait_for_output(DISPATCHER_UP)
        self.proxy.close()
        for namespace in namespaces.values():
            for pod in self.cluster.pods(namespace):
                path = f"{CORE}/namespaces/{namespace}/pods/{pod}"
                self.cluster.call("DELETE", path)
        self.wait_for_lines(conductor, "Database unreachable")
        self.proxy.open()
        for instance, namespace in namespaces.items():
            waiting.until(
                lambda i=instance, n=namespace: (  # type: ignore[misc]
                    client.pods(i) == set(self.cluster.pods(n))
                ),
                "the new pods",
            )
        self.wait_for_lines(conductor, "Database reachable again")
        output = conductor.output
        self.assertNotIn("Traceback", output)
        self.assertEqual(2, output.count("Database unreachable"), output)

    def wait_for_lines(self, conductor: Conductor, event: str) -> None:
        """Wait until a conductor and its dispatcher have logged an event."""
        waiting.until(lambda: conductor.output.count(event) == 2, event)

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
