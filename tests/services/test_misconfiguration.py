"""A wrong configuration ends in one line of error, and no process hangs."""

import re
import socket
import time
from typing import Any

import sqlalchemy as sa
import testtools

from tests.fixtures.closable_port import ClosablePort
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

SERVERS = ("tacker-cnf-api", "tacker-cnf-conductor")
SMALL = "configmap secret deployment"
#: seconds within which each command has to end
MAX_EXIT_S = 60.0


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class MisconfigurationCase(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(Deployment(self, self.server))

    def check(
        self, says: str, programs: Any = SERVERS, **changed: Any
    ) -> None:
        conf = self.deployment.configure("broken.conf", **changed)
        for program in programs:
            name, *arguments = program.split()
            done = self.deployment.run(name, conf, *arguments)
            self.assertEqual(1, done.returncode, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            last = done.stderr.splitlines()[-1]
            self.assertTrue(last.startswith(f"{name}: "), done.stderr)
            self.assertIn(says, last)


class TestBrokenConfiguration(MisconfigurationCase):
    def test_key_file_that_is_not_there(self) -> None:
        missing = {"key_file": "/nowhere/secrets.key"}
        self.check("/nowhere/secrets.key", secrets=missing)

    def test_key_file_without_a_key(self) -> None:
        path = self.deployment.folder / "bad.key"
        path.write_text("not a key\n")
        self.check(str(path), secrets={"key_file": path})

    def test_database_url_that_is_none(self) -> None:
        programs = (*SERVERS, "tacker-cnf-manage db upgrade")
        wrong = {"connection": "not a url", "max_retries": 0}
        self.check("URL", programs, database=wrong)

    def test_value_that_an_option_cannot_have(self) -> None:
        conductor = ("tacker-cnf-conductor",)
        self.check("workers", conductor, conductor={"workers": "many"})


class TestBrokenDatabase(MisconfigurationCase):
    def test_schema_of_another_release(self) -> None:
        self.deployment.database.execute(
            "UPDATE alembic_version SET version_num = 'older'"
        )
        self.check("tacker-cnf-manage db upgrade")

    def test_database_that_is_not_there(self) -> None:
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
    """The row is the truth; the message is only a wake-up."""

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(
            # several conductors begin and end: a claim is soon another's
            Deployment(self, POSTGRESQL, conductor={"lease": 3.0})
        )
        self.cluster = self.useFixture(Cluster())

    def test_broker_that_is_not_there(self) -> None:
        self.check_without(f"guest:guest@127.0.0.1:{free_port()}/")

    def test_broker_that_says_nothing(self) -> None:
        silent_socket = self.enterContext(socket.socket())
        silent_socket.bind(("127.0.0.1", 0))
        silent_socket.listen()
        port = silent_socket.getsockname()[1]
        self.check_without(f"guest:guest@127.0.0.1:{port}/")

    def test_virtual_host_that_is_not_there(self) -> None:
        broker_host = self.deployment.broker.url.removeprefix("rabbit://")
        log = self.check_without(f"{broker_host.rpartition('/')[0]}/nowhere")
        self.assertIn("vhost nowhere not found", log)

    def test_wrong_password(self) -> None:
        broker_host = self.deployment.broker.url.rpartition("@")[2]
        log = self.check_without(f"guest:wrong@{broker_host}")
        self.assertIn("ACCESS_REFUSED", log)

    def test_broker_that_comes_late_and_goes_early(self) -> None:
        broker_url = sa.make_url(self.deployment.broker.url)
        gate = self.useFixture(ClosablePort(broker_url.port or 5672))
        gate.close()
        through = broker_url.set(host="127.0.0.1", port=gate.port)
        conf = self.deployment.configure(
            "gated.conf",
            DEFAULT={
                "transport_url": through.render_as_string(hide_password=False)
            },
            conductor={"sweep_interval": 3600.0},
        )
        client = self.deployment.api().client
        client.register(self.cluster.vim)
        conductor = self.deployment.conductor(conf)
        gate.open()
        conductor.wait_for_output(re.compile("(Broker connected)"))
        instance_id = client.create(client.onboard_sample())
        client.run(instance_id, "instantiate", instantiation(SMALL))
        gate.close()
        code, _ = conductor.stop()
        self.assertEqual(0, code)
        self.assertNotIn("Traceback", conductor.output)

    def check_without(self, address: str) -> str:
        """Run an operation; return what the conductor logs."""
        conf = self.deployment.configure(
            "deaf.conf", DEFAULT={"transport_url": f"rabbit://{address}"}
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
        code, _ = conductor.stop()
        self.assertEqual(0, code)
        for program in (api, conductor):
            self.assertNotIn("Traceback", program.output)
        return conductor.output
