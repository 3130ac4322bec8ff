"""Configuration errors: a program prints one line and exits."""

import re
import socket
import time
from typing import Any

import sqlalchemy as sa
import testtools

from tests.fixtures.ports import ReservedPort
from tests.fixtures.tcp_proxy import TcpProxy
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

SERVERS = ("tacker-cnf-api", "tacker-cnf-conductor")
SMALL = "configmap secret deployment"
#: seconds within which each command has to end
MAX_EXIT_S = 60.0


class MisconfigurationCase(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(Deployment(self, self.server))

    def check(
        self, message: str, programs: Any = SERVERS, **changed: Any
    ) -> None:
        conf = self.deployment.configure("broken.conf", **changed)
        for program in programs:
            name, *arguments = program.split()
            code, output = self.deployment.run(name, conf, *arguments)
            self.assertEqual(1, code, output)
            self.assertNotIn("Traceback", output)
            last = output.splitlines()[-1]
            self.assertTrue(last.startswith(f"{name}: "), output)
            self.assertIn(message, last)


class TestBrokenConfiguration(MisconfigurationCase):
    def test_missing_key_file(self) -> None:
        missing = {"key_file": "/nowhere/secrets.key"}
        self.check("/nowhere/secrets.key", secrets=missing)

    def test_key_file_without_a_key(self) -> None:
        path = self.deployment.folder / "bad.key"
        path.write_text("not a key\n")
        self.check(str(path), secrets={"key_file": path})

    def test_invalid_database_url(self) -> None:
        programs = (*SERVERS, "tacker-cnf-manage db upgrade")
        wrong = {"connection": "not a url", "max_retries": 0}
        self.check("URL", programs, database=wrong)

    def test_no_options_of_keystone(self) -> None:
        self.check(
            "[keystone_authtoken] auth_type is not set",
            ("tacker-cnf-api",),
            api={"auth_strategy": "keystone"},
        )

    def test_invalid_network(self) -> None:
        networks = {"allowed_networks": "10.0.0.0/33"}
        self.check("[vims] allowed_networks: ", vims=networks)

    def test_invalid_value_of_an_option(self) -> None:
        conductor = ("tacker-cnf-conductor",)
        self.check("workers", conductor, conductor={"workers": "many"})


class TestBrokenDatabase(MisconfigurationCase):
    def test_schema_of_another_release(self) -> None:
        self.deployment.database.execute(
            "UPDATE alembic_version SET version_num = 'older'"
        )
        self.check("tacker-cnf-manage db upgrade")

    def test_missing_database(self) -> None:
        url = self.deployment.database.url
        missing_url = url.replace(
            self.deployment.database.name, "no_such_database"
        )
        programs = (*SERVERS, "tacker-cnf-manage db upgrade")
        self.check(
            "no_such_database",
            programs,
            database={"connection": missing_url, "max_retries": 0},
        )


class TestBrokenDatabaseOnMariadb(TestBrokenDatabase):
    server = MARIADB


class TestUnreachableQueue(testtools.TestCase):
    """Operations are read from the database; a message only wakes up."""

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(Deployment(self, POSTGRESQL))
        self.cluster = self.useFixture(Cluster())

    def test_unreachable_broker(self) -> None:
        port = self.useFixture(ReservedPort()).port
        self.check_without(f"guest:guest@127.0.0.1:{port}/")

    def test_silent_broker(self) -> None:
        silent_socket = self.enterContext(socket.socket())
        silent_socket.bind(("127.0.0.1", 0))
        silent_socket.listen()
        port = silent_socket.getsockname()[1]
        self.check_without(f"guest:guest@127.0.0.1:{port}/")

    def test_missing_virtual_host(self) -> None:
        broker_host = self.deployment.broker.url.removeprefix("rabbit://")
        log = self.check_without(f"{broker_host.rpartition('/')[0]}/nowhere")
        self.assertIn("vhost nowhere not found", log)

    def test_wrong_password(self) -> None:
        broker_host = self.deployment.broker.url.rpartition("@")[2]
        log = self.check_without(f"guest:wrong@{broker_host}")
        self.assertIn("ACCESS_REFUSED", log)

    def test_broker_that_starts_late_and_stops_early(self) -> None:
        broker_url = sa.make_url(self.deployment.broker.url)
        proxy = self.useFixture(TcpProxy(broker_url.port or 5672))
        proxy.close()
        through = broker_url.set(host="127.0.0.1", port=proxy.port)
        conf = self.deployment.configure(
            "proxied.conf",
            DEFAULT={
                "transport_url": through.render_as_string(hide_password=False)
            },
            conductor={"sweep_interval": 3600.0},
        )
        client = self.deployment.api().client
        client.register(self.cluster.vim)
        conductor = self.deployment.conductor(conf)
        proxy.open()
        conductor.wait_for_output(re.compile("(Broker connected)"))
        instance_id = client.create(client.onboard_sample())
        client.run(instance_id, "instantiate", instantiation(SMALL))
        proxy.close()
        self.assertEqual(0, conductor.stop())
        self.assertNotIn("Traceback", conductor.output)

    def check_without(self, address: str) -> str:
        """Run an operation; return what the conductor logs."""
        conf = self.deployment.configure(
            "no-broker.conf", DEFAULT={"transport_url": f"rabbit://{address}"}
        )
        api = self.deployment.api(conf)
        client = api.client
        client.register(self.cluster.vim)
        instance_id = client.create(client.onboard_sample())
        start = time.monotonic()
        op_occ_id = client.start_operation(
            instance_id, "instantiate", instantiation(SMALL)
        )
        self.assertLess(time.monotonic() - start, MAX_EXIT_S)
        conductor = self.deployment.conductor(conf)
        done = client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(0, conductor.stop())
        for program in (api, conductor):
            self.assertNotIn("Traceback", program.output)
        return conductor.output
