"""An upgrade of the service while it runs operations.

The steps are those of doc/source/admin/upgrade.rst.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa
import testtools
from alembic import command

from tacker_cnf.db import keys, schema
from tests.fixtures import waiting
from tests.fixtures.vnfm import ACTIVE
from tests.operation_kinds import IN, OUT
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import INSTANCES, OP_OCCS, Client, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import PROGRAMS, Deployment
from tests.services.former_release import FormerRelease
from tests.storm import checks, history

#: VNF instances with operations at the same time
VNFS = 3
SMALL = "configmap secret deployment"
OPTIONS: dict[str, dict[str, Any]] = {"conductor": {"workers": VNFS}}


class FormerDeployment(Deployment):
    """A deployment of the former release, and later of this one."""

    def _setUp(self) -> None:
        self.former = self.useFixture(FormerRelease())
        self.programs = self.former.programs
        self.preloaded = False
        super()._setUp()

    def _prepare(self) -> None:
        keys.create(self.folder / "state" / "secrets.key")
        with self.database.engine.begin() as connection:
            command.upgrade(schema._config(connection), self.former.schema)

    def install(self) -> None:
        """Install this release, for programs that are started from now on."""
        self.programs = PROGRAMS
        self.preloaded = True


class Load:
    """Operations of several VNF instances, and requests between them.

    :param clients: of the API servers that a load balancer selects now
    """

    def __init__(
        self, cluster: Cluster, vnfd_id: str, *clients: Client
    ) -> None:
        self._cluster = cluster
        self._vnfd_id = vnfd_id
        self.clients = clients
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(VNFS + 1)
        self._futures: list[Future[None]] = []
        #: operations that were accepted, and that are completed
        self.accepted: set[str] = set()
        self.completed: list[str] = []
        #: the status of each GET
        self.statuses: set[int] = set()

    def start(self) -> None:
        tasks = [self._live] * VNFS + [self._read]
        self._futures = [self._pool.submit(task) for task in tasks]

    def stop(self) -> None:
        """Stop when the current operations have ended."""
        self._stopping.set()
        self._pool.shutdown()
        for future in self._futures:
            future.result()

    def wait_for_more(self) -> None:
        """Wait until some more operations are completed."""
        wanted = len(self.completed) + VNFS

        def is_reached() -> bool:
            for future in self._futures:
                if future.done():
                    future.result()
            return len(self.completed) >= wanted

        waiting.until(is_reached, f"{wanted} operations", 120.0)

    @property
    def _client(self) -> Client:
        clients = self.clients  # replaced by another thread
        return clients[len(self.completed) % len(clients)]

    def _live(self) -> None:
        instance_id = self._client.create(self._vnfd_id)
        namespace = self._cluster.add_namespace(instance_id)
        request = instantiation(SMALL, namespace)
        self._run(instance_id, "instantiate", request)
        while not self._stopping.is_set():
            self._run(instance_id, "scale", OUT)
            self._run(instance_id, "heal", {"cause": "an upgrade"})
            self._run(instance_id, "scale", IN)

    def _run(self, instance_id: str, task: str, body: Any) -> None:
        op_occ_id = self._client.start_operation(instance_id, task, body)
        self.accepted.add(op_occ_id)

        waiting.until(
            lambda: self._has_ended(op_occ_id), f"the end of {op_occ_id}", 60.0
        )
        self.completed.append(op_occ_id)

    def _has_ended(self, op_occ_id: str) -> bool:
        op_occ = self._client.op_occ(op_occ_id)
        assert op_occ["operationState"] in {*ACTIVE, "COMPLETED"}, op_occ
        return bool(op_occ["operationState"] == "COMPLETED")

    def _read(self) -> None:
        while not self._stopping.wait(0.02):
            for path in (INSTANCES, OP_OCCS):
                self.statuses.add(self._client.call("GET", path).status)


class TestRollingUpgrade(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(
            FormerDeployment(self, self.server, **OPTIONS)
        )
        history.install(self.deployment.database.engine)
        self.cluster = self.useFixture(Cluster())
        self.api = self.deployment.api()
        self.conductors = [self.deployment.conductor() for _ in range(2)]
        client = self.api.client
        client.register(self.cluster.vim)
        self.load = Load(self.cluster, client.onboard_sample(), client)
        self.addCleanup(self.load.stop)

    def test_no_operation_is_lost_doubled_or_fails(self) -> None:
        self.load.start()
        self.load.wait_for_more()
        self.upgrade_database()
        self.upgrade_conductors()
        self.upgrade_api()
        self.load.stop()
        self.check()

    def upgrade_database(self) -> None:
        self.deployment.install()
        output = self.deployment.manage("db upgrade")
        former = self.deployment.former.schema
        self.assertIn(f"from version {former} to {schema.HEAD}", output)
        self.load.wait_for_more()

    def upgrade_conductors(self) -> None:
        new = self.deployment.conductor()
        for conductor in self.conductors:
            self.load.wait_for_more()
            self.assertEqual(0, conductor.stop())
        self.load.wait_for_more()
        self.assertTrue(new.is_running)

    def upgrade_api(self) -> None:
        new = self.deployment.api().client
        self.load.clients = (self.api.client, new)
        self.load.wait_for_more()
        self.load.clients = (new,)
        self.load.wait_for_more()
        self.assertEqual(0, self.api.stop())
        self.load.wait_for_more()

    def check(self) -> None:
        self.assertEqual({200}, self.load.statuses)
        self.assertEqual(self.load.accepted, set(self.load.completed))
        with self.deployment.database.engine.connect() as connection:
            query = "SELECT id, operation_state FROM vnf_lcm_op_occs"
            rows = connection.execute(sa.text(query)).all()
        present: dict[str, str] = {row.id: row.operation_state for row in rows}
        versions = history.read(self.deployment.database.engine)
        self.assertEqual({"COMPLETED"}, set(present.values()))
        for found in (
            checks.find_lost(self.load.accepted, present),
            checks.find_duplicates(self.load.accepted, versions),
        ):
            self.assertEqual([], found)


class TestRollingUpgradeOnMariadb(TestRollingUpgrade):
    server = MARIADB
