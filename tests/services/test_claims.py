"""Claims of operations whose rows are locked."""

import sqlalchemy as sa

from tacker_cnf.conductor.claims import Claims
from tacker_cnf.db.op_occs import Row
from tacker_cnf.db.session import RowsLocked, Store
from tests.services.backends import MARIADB, POSTGRESQL, Database
from tests.unit.db.test_op_occs import VALID_LEASE_S, OpOccTest


class TestClaims(OpOccTest):
    server = POSTGRESQL
    url = ""

    def open(self) -> Store:
        self.url = self.url or self.useFixture(Database(self, self.server)).url
        store = Store(self.url)
        self.addCleanup(store.close)
        return store

    def test_a_locked_row_is_claimed_when_it_is_free(self) -> None:
        claims = Claims(self.store, VALID_LEASE_S)
        with self.open().writer() as other:
            other.execute(sa.select(Row.id).with_for_update()).all()
            first_rollback = sa.event.listens_for(
                self.store.engine, "rollback", once=True
            )
            first_rollback(lambda _: other.commit())
            claimed = claims.acquire("an-op-occ")
        assert claimed is not None
        work, claim = claimed
        self.assertEqual(1, work.fence)
        self.assertTrue(claim.is_claimed)

    def test_a_row_that_stays_locked_is_left_to_the_sweep(self) -> None:
        claims = Claims(self.store, VALID_LEASE_S)
        with self.open().writer() as other:
            other.execute(sa.select(Row.id).with_for_update()).all()
            self.assertRaises(RowsLocked, claims.acquire, "an-op-occ")

    def test_a_locked_row_of_another_conductor_is_not_waited_for(self) -> None:
        self.claimed("other")
        with self.open().writer() as other:
            other.execute(sa.select(Row.id).with_for_update()).all()
            self.assertIsNone(
                Claims(self.store, VALID_LEASE_S).acquire("an-op-occ")
            )


class TestClaimsOnMariadb(TestClaims):
    server = MARIADB
