"""A process that stands still in the middle of a transaction."""

import sqlalchemy as sa
import testtools

from tacker_cnf.db import leases, schema
from tacker_cnf.db.session import DATABASE_DOWN, Store
from tacker_cnf.db.timeouts import Timeouts
from tests.fixtures import waiting
from tests.services.servers import MARIADB, POSTGRESQL, Database

LEASE = 3.0


class TestStalled(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.url = self.useFixture(Database(self, self.server)).url
        self.store = self.store_of_a_process()
        schema.upgrade(self.store)

    def store_of_a_process(self) -> Store:
        store = Store(self.url, Timeouts.within(LEASE))
        self.addCleanup(store.close)
        return store

    def test_what_it_holds_is_free_again(self) -> None:
        leases.take(self.store, "duty", "stalled", 0.0)
        stalled = self.store_of_a_process()
        renewed = "UPDATE leases SET lease_until = 1e12"

        def stand_still() -> None:
            with stalled.writer() as session:
                session.execute(sa.text(renewed))
                waiting.until(
                    lambda: leases.take(self.store, "duty", "other", 60.0),
                    "the lease of who stands still",
                )
                session.execute(sa.text(renewed))

        self.assertRaises(DATABASE_DOWN, stand_still)
        # it is itself again after that
        self.assertFalse(leases.take(stalled, "duty", "stalled", 60.0))


class TestStalledOnMariadb(TestStalled):
    server = MARIADB
