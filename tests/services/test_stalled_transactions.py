"""Stalled processes and stalled servers in the middle of a transaction."""

import fixtures
import sqlalchemy as sa
import testtools

from tacker_cnf.db import leases, schema
from tacker_cnf.db.session import DATABASE_DOWN, Store
from tacker_cnf.db.timeouts import Timeouts
from tests.fixtures import waiting
from tests.fixtures.tcp_proxy import TcpProxy
from tests.services.backends import MARIADB, POSTGRESQL, Database

LEASE = 6.0


class TestStalled(testtools.TestCase):
    server = POSTGRESQL
    #: a query that takes some seconds
    sleeps = "SELECT pg_sleep({})"

    def setUp(self) -> None:
        super().setUp()
        self.url = self.useFixture(Database(self, self.server)).url
        self.log = self.useFixture(fixtures.FakeLogger())
        # a migration has no time limit
        unlimited = Store(self.url)
        self.addCleanup(unlimited.close)
        schema.upgrade(unlimited)
        self.store = self.open_store()

    def open_store(self, lease: float = LEASE) -> Store:
        store = Store(self.url, Timeouts.for_lease(lease))
        self.addCleanup(store.close)
        return store

    def test_locks_of_a_stalled_process_are_released(self) -> None:
        leases.acquire(self.store, "duty", "stalled", 0.0)
        stalled = self.open_store()
        renewed = "UPDATE leases SET lease_until = 1e12"

        def pause_transaction() -> None:
            with stalled.writer() as session:
                session.execute(sa.text(renewed))
                waiting.until(
                    lambda: leases.acquire(self.store, "duty", "other", 60.0),
                    "the lease of the stalled process",
                )
                session.execute(sa.text(renewed))

        self.assertRaises(DATABASE_DOWN, pause_transaction)
        # its next transaction succeeds
        self.assertFalse(leases.acquire(stalled, "duty", "stalled", 60.0))

    def wait_for_own_lock(self) -> None:
        """Wait for a lock of another transaction of this process."""
        row = sa.text("SELECT * FROM leases FOR UPDATE")
        with self.store.writer() as first, self.store.writer() as second:
            first.execute(row).all()
            second.execute(row).all()

    def run_slow_query(self, store: Store) -> None:
        with store.reader() as session:
            session.execute(sa.text(self.sleeps.format(LEASE))).all()

    def test_waits_for_locks_and_statements_are_limited(self) -> None:
        leases.acquire(self.store, "duty", "other", 60.0)
        self.assertRaises(DATABASE_DOWN, self.wait_for_own_lock)
        # the limit of the server is well below that of this process
        store = self.open_store(4 * LEASE)
        self.assertRaises(DATABASE_DOWN, self.run_slow_query, store)
        # the server responded to both
        self.assertNotIn("Database unreachable", self.log.output)
        self.assertIn("Database transaction failed", self.log.output)
        # a migration has no time limit
        store = Store(self.url)
        self.addCleanup(store.close)
        self.run_slow_query(store)

    def test_a_locked_lease_is_neither_acquired_nor_lost(self) -> None:
        leases.acquire(self.store, "duty", "other", 0.0)
        with self.store.writer() as session:
            session.execute(sa.text("SELECT * FROM leases FOR UPDATE")).all()
            self.assertFalse(leases.acquire(self.store, "duty", "me", 60.0))
            found = leases.renew(self.store, ["duty"], "other", 60.0)
        self.assertEqual((set(), {"duty"}), tuple(found))
        self.assertTrue(leases.acquire(self.store, "duty", "me", 60.0))

    def test_a_transaction_on_a_stalled_server_fails(self) -> None:
        """The kernel, or a proxy, acknowledges; the server does not respond."""
        url = sa.make_url(self.url)
        proxy = self.useFixture(TcpProxy(url.port or 0))
        through = url.set(host="127.0.0.1", port=proxy.port)
        store = Store(
            through.render_as_string(hide_password=False),
            Timeouts.for_lease(LEASE),
        )
        self.addCleanup(store.close)
        self.assertTrue(leases.acquire(store, "duty", "me", 60.0))
        proxy.stall()
        for _ in ("an open connection", "a new one"):
            self.assertRaises(DATABASE_DOWN, self.take_lease, store)
        proxy.resume()
        self.assertFalse(self.take_lease(store))

    def test_an_outage_is_logged_once(self) -> None:
        """A transaction that was open when the outage began logs nothing."""
        url = sa.make_url(self.url)
        proxy = self.useFixture(TcpProxy(url.port or 0))
        through = url.set(host="127.0.0.1", port=proxy.port)
        store = Store(
            through.render_as_string(hide_password=False),
            Timeouts.for_lease(LEASE),
        )
        self.addCleanup(store.close)
        with store.reader() as session:
            session.execute(sa.text("SELECT 1")).all()
            proxy.close()
            self.assertRaises(DATABASE_DOWN, self.read, store)
            session.invalidate()
        self.assertRaises(DATABASE_DOWN, self.read, store)
        proxy.open()
        self.read(store)
        logged = (
            self.log.output.count("Database unreachable"),
            self.log.output.count("Database reachable again"),
        )
        self.assertEqual((1, 1), logged, self.log.output)

    def read(self, store: Store) -> None:
        with store.reader() as session:
            session.execute(sa.text("SELECT 1")).all()

    def take_lease(self, store: Store) -> bool:
        return leases.acquire(store, "duty", "another", 60.0)


class TestStalledOnMariadb(TestStalled):
    server = MARIADB
    sleeps = "SELECT sleep({})"
