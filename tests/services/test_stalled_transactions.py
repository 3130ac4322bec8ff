"""A process that stands still in the middle of a transaction, and a server
that does.
"""

import fixtures
import sqlalchemy as sa
import testtools

from tacker_cnf.db import leases, schema
from tacker_cnf.db.session import DATABASE_DOWN, Store
from tacker_cnf.db.timeouts import Timeouts
from tests.fixtures import waiting
from tests.fixtures.closable_port import ClosablePort
from tests.fixtures.tcp_proxy import TcpProxy
from tests.services.backends import MARIADB, POSTGRESQL, Database

LEASE = 3.0


class TestStalled(testtools.TestCase):
    server = POSTGRESQL
    #: does nothing for some seconds, and reads a table
    sleeps = "SELECT pg_sleep({})"

    def setUp(self) -> None:
        super().setUp()
        self.url = self.useFixture(Database(self, self.server)).url
        self.log = self.useFixture(fixtures.FakeLogger())
        self.store = self.store_of_a_process()
        schema.upgrade(self.store)

    def store_of_a_process(self, lease: float = LEASE) -> Store:
        store = Store(self.url, Timeouts.for_lease(lease))
        self.addCleanup(store.close)
        return store

    def test_what_it_holds_is_free_again(self) -> None:
        leases.acquire(self.store, "duty", "stalled", 0.0)
        stalled = self.store_of_a_process()
        renewed = "UPDATE leases SET lease_until = 1e12"

        def pause_transaction() -> None:
            with stalled.writer() as session:
                session.execute(sa.text(renewed))
                waiting.until(
                    lambda: leases.acquire(self.store, "duty", "other", 60.0),
                    "the lease of who stands still",
                )
                session.execute(sa.text(renewed))

        self.assertRaises(DATABASE_DOWN, pause_transaction)
        # it is itself again after that
        self.assertFalse(leases.acquire(stalled, "duty", "stalled", 60.0))

    def wait_for_own_lock(self) -> None:
        """Wait for a lock that this process has too."""
        row = sa.text("SELECT * FROM leases FOR UPDATE")
        with self.store.writer() as first, self.store.writer() as second:
            first.execute(row).all()
            second.execute(row).all()

    def run_slow_query(self, store: Store) -> None:
        with store.reader() as session:
            session.execute(sa.text(self.sleeps.format(LEASE))).all()

    def test_no_lock_and_no_statement_is_waited_for_for_long(self) -> None:
        leases.acquire(self.store, "duty", "other", 60.0)
        self.assertRaises(DATABASE_DOWN, self.wait_for_own_lock)
        # the limit of the server is surely below that of this process
        store = self.store_of_a_process(4 * LEASE)
        self.assertRaises(DATABASE_DOWN, self.run_slow_query, store)
        # it answered both
        self.assertNotIn("Database unreachable", self.log.output)
        self.assertIn("Database transaction failed", self.log.output)
        # a migration may take its time
        store = Store(self.url)
        self.addCleanup(store.close)
        self.run_slow_query(store)

    def test_a_locked_lease_is_another_ones_for_now(self) -> None:
        leases.acquire(self.store, "duty", "other", 0.0)
        with self.store.writer() as session:
            session.execute(sa.text("SELECT * FROM leases FOR UPDATE")).all()
            self.assertFalse(leases.acquire(self.store, "duty", "me", 60.0))
            found = leases.renew(self.store, ["duty"], "other", 60.0)
        self.assertEqual((set(), {"duty"}), tuple(found))
        self.assertTrue(leases.acquire(self.store, "duty", "me", 60.0))

    def test_a_server_that_hangs(self) -> None:
        """Its kernel, or a proxy, acknowledges, and it does not answer."""
        url = sa.make_url(self.url)
        relay = self.useFixture(TcpProxy(f"tcp://{url.host}:{url.port}"))
        through = url.set(host="127.0.0.1", port=relay.port)
        store = Store(
            through.render_as_string(hide_password=False),
            Timeouts.for_lease(LEASE),
        )
        self.addCleanup(store.close)
        self.assertTrue(leases.acquire(store, "duty", "me", 60.0))
        relay.stall()
        for _ in ("a connection that is there", "a new one"):
            self.assertRaises(DATABASE_DOWN, self.take_lease, store)
        relay.resume()
        self.assertFalse(self.take_lease(store))

    def test_an_outage_is_logged_once(self) -> None:
        """A transaction that began before it and ends after it began says
        nothing of either.
        """
        url = sa.make_url(self.url)
        gate = self.useFixture(ClosablePort(url.port or 0))
        through = url.set(host="127.0.0.1", port=gate.port)
        store = Store(
            through.render_as_string(hide_password=False),
            Timeouts.for_lease(LEASE),
        )
        self.addCleanup(store.close)
        with store.reader() as session:
            session.execute(sa.text("SELECT 1")).all()
            gate.close()
            self.assertRaises(DATABASE_DOWN, self.read, store)
            session.invalidate()
        self.assertRaises(DATABASE_DOWN, self.read, store)
        gate.open()
        self.read(store)
        begun_and_ended = (
            self.log.output.count("Database unreachable"),
            self.log.output.count("Database reachable again"),
        )
        self.assertEqual((1, 1), begun_and_ended, self.log.output)

    def read(self, store: Store) -> None:
        with store.reader() as session:
            session.execute(sa.text("SELECT 1")).all()

    def take_lease(self, store: Store) -> bool:
        return leases.acquire(store, "duty", "another", 60.0)


class TestStalledOnMariadb(TestStalled):
    server = MARIADB
    sleeps = "SELECT sleep({})"
