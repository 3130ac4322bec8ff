"""The servers that these tests need, and a separate database or vhost.

Their addresses are read from the environment. A test whose server is
unreachable is skipped, or fails where TACKER_CNF_SERVICES=required.
"""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import uuid
from pathlib import Path
from typing import Any

import fixtures
import kombu.connection
import sqlalchemy as sa
import testtools
from oslo_config import cfg
from oslo_db import options as db_options

from tacker_cnf.db import keys, schema, session
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT

POSTGRESQL = os.environ.get(
    "TACKER_CNF_TEST_POSTGRESQL_URL",
    "postgresql+psycopg2://postgres@127.0.0.1:5432/postgres",
)
MARIADB = os.environ.get(
    "TACKER_CNF_TEST_MYSQL_URL", "mysql+pymysql://root@127.0.0.1:3306/"
)
RABBIT = os.environ.get(
    "TACKER_CNF_TEST_RABBIT_URL", "rabbit://guest:guest@127.0.0.1:5672/"
)
REQUIRED = os.environ.get("TACKER_CNF_SERVICES") == "required"


def skip_or_fail(case: unittest.TestCase, reason: str) -> None:
    """Skip a test, or let it fail where every server is required."""
    if REQUIRED:
        case.fail(reason)
    case.skipTest(reason)


def _rabbit(url: str) -> Any:
    amqp = url.replace("rabbit://", "amqp://", 1)
    return kombu.connection.Connection(amqp)  # type: ignore[no-untyped-call]


#: dialect -> query for open transactions of other sessions in a database
TRANSACTIONS = {
    "postgresql": "SELECT count(*) AS count FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND xact_start IS NOT NULL",
    "mysql": "SELECT count(*) AS count FROM information_schema.innodb_trx"
    " JOIN information_schema.processlist ON trx_mysql_thread_id = id"
    " WHERE db = database() AND id <> connection_id()",
}
#: dialect -> query for those that wait for a lock
WAITING = {
    "postgresql": "SELECT count(*) AS count FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'",
    "mysql": "SELECT count(*) AS count FROM information_schema.innodb_trx"
    " JOIN information_schema.processlist ON trx_mysql_thread_id = id"
    " WHERE db = database() AND trx_state = 'LOCK WAIT'",
}


class Database(fixtures.Fixture):
    """An empty database; it is dropped when the test ends."""

    def __init__(self, case: testtools.TestCase, server: str) -> None:
        super().__init__()
        self._case = case
        self._server = sa.make_url(server)
        self.name = f"tacker_cnf_{uuid.uuid4().hex[:12]}"

    def _setUp(self) -> None:
        self._admin = sa.create_engine(
            self._server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
        )
        try:
            self._execute_admin(f"CREATE DATABASE {self.name}")
        except sa.exc.OperationalError as error:
            address = self._server.render_as_string()
            skip_or_fail(
                self._case, f"{address} does not answer: {error.orig}"
            )
        self.addCleanup(self._drop)
        url = self._server.set(database=self.name)
        self.url = url.render_as_string(hide_password=False)
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)

    def _drop(self) -> None:
        forced = self._server.get_backend_name() == "postgresql"
        force = " WITH (FORCE)" if forced else ""
        self._execute_admin(f"DROP DATABASE {self.name}{force}")

    def recreate(self) -> None:
        """Lose all of it: leave an empty database of the same name."""
        self._drop()
        self._execute_admin(f"CREATE DATABASE {self.name}")

    def _execute_admin(self, statement: str) -> None:
        with self._admin.connect() as connection:
            connection.exec_driver_sql(statement)

    def execute(self, statement: str, **values: object) -> None:
        """Execute a statement beside the service."""
        with self.engine.begin() as connection:
            connection.execute(sa.text(statement), values)

    def has_no_transaction(self) -> bool:
        """Return whether no other session has an open transaction."""
        time.sleep(0.15)  # InnoDB refreshes its table every 0.1 s
        found = self.fetch_row(TRANSACTIONS[self._server.get_backend_name()])
        return not found["count"]

    def has_lock_waiter(self) -> bool:
        """Return whether a session waits for the lock of another one."""
        found = self.fetch_row(WAITING[self._server.get_backend_name()])
        return bool(found["count"])

    def fetch_row(self, query: str, **values: object) -> dict[str, object]:
        """Read one row beside the service."""
        with self.engine.connect() as connection:
            row = connection.execute(sa.text(query), values)
            return dict(row.mappings().one())


class Broker(fixtures.Fixture):
    """A virtual host of RabbitMQ.

    Queue names are unique in a virtual host, so two services cannot share
    one. Without ``rabbitmqctl`` to create one, the virtual host of the
    address is used, and the tests have to run serially.
    """

    def __init__(self, case: testtools.TestCase) -> None:
        super().__init__()
        self._case = case

    def _setUp(self) -> None:
        try:
            with _rabbit(RABBIT) as connection:
                connection.connect()
        except OSError as error:
            skip_or_fail(self._case, f"RabbitMQ does not answer: {error}")
        self.url = self._own_host() or RABBIT

    def _own_host(self) -> str | None:
        if shutil.which("rabbitmqctl") is None:
            return None
        name = VIRTUAL_HOSTS.acquire()
        self.addCleanup(VIRTUAL_HOSTS.release, name)
        return RABBIT[: RABBIT.index("/", len("rabbit://")) + 1] + name

    def delete_queue(self, queue: str) -> None:
        """Delete a queue, with every message in it."""
        with _rabbit(self.url) as connection:
            connection.channel().queue_delete(queue)


class VirtualHosts:
    """Virtual hosts of RabbitMQ, created and deleted several at a time, as
    ``rabbitmqctl`` takes most of a second to start.
    """

    #: how many are created at a time
    BATCH = 8

    def __init__(self) -> None:
        self._unused: list[str] = []
        self._used: list[str] = []

    def acquire(self) -> str:
        """Return a virtual host that was not used before."""
        if not self._unused:
            self._drop()
            self._create_hosts()
        return self._unused.pop()

    def release(self, name: str) -> None:
        """Mark a virtual host for deletion, with its queues."""
        self._used.append(name)

    def close(self) -> None:
        """Delete all virtual hosts that are not in use."""
        self._used += self._unused
        self._unused.clear()
        self._drop()

    def _create_hosts(self) -> None:
        names = [
            f"tacker_cnf_{uuid.uuid4().hex[:12]}" for _ in range(self.BATCH)
        ]
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        user = {"user": _rabbit(RABBIT).userid}
        created = {
            "vhosts": [{"name": name} for name in names],
            "permissions": [
                {"vhost": name} | user | everything for name in names
            ],
        }
        with tempfile.TemporaryDirectory() as folder:
            # rabbitmqctl reads the file as the broker's user
            Path(folder).chmod(0o755)
            file = Path(folder) / "definitions.json"
            file.write_text(json.dumps(created))
            file.chmod(0o644)
            _control("import_definitions", str(file))
        self._unused = names

    def _drop(self) -> None:
        used, self._used = self._used, []
        if used:
            names = ", ".join(f'<<"{name}">>' for name in used)
            drop = 'fun(Name) -> rabbit_vhost:delete(Name, <<"tests">>) end'
            _control("eval", f"lists:foreach({drop}, [{names}]).")


def _control(*arguments: str) -> None:
    subprocess.run(
        ["rabbitmqctl", "--quiet", *arguments],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


VIRTUAL_HOSTS = VirtualHosts()
atexit.register(VIRTUAL_HOSTS.close)


def open_store(case: testtools.TestCase, server: str) -> Store:
    """Open a separate database for a test case, with all tables and a key."""
    key_file = Path(case.useFixture(fixtures.TempDir()).path) / "key"
    keys.create(key_file)
    VAULT.open(keys.load(key_file))
    conf = cfg.ConfigOpts()
    conf.register_opts(db_options.database_opts, "database")
    url = case.useFixture(Database(case, server)).url
    conf.set_override("connection", url, "database")
    store = session.open_store(conf, limited=False)
    case.addCleanup(store.close)
    schema.upgrade(store)
    return store
