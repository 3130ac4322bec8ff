"""The named leases of one conductor."""

import sqlalchemy as sa

from tacker_cnf.db import leases
from tacker_cnf.db.lease_set import LeaseSet
from tacker_cnf.db.session import RowsLocked, epoch
from tests.fixtures.clock import ManualClock
from tests.unit.db.base import StoreTest

LEASE_S = 30.0


class TestLeaseSet(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.leases = self.lease_set("me")

    def lease_set(self, owner: str) -> LeaseSet:
        return LeaseSet(self.store, owner, LEASE_S, self.clock)

    def rows(self) -> dict[str, str | None]:
        """Return the name and the owner of each valid lease."""
        row = leases.Row
        with self.store.reader() as session:
            valid = row.lease_until.between(
                epoch() + LEASE_S / 2, epoch() + LEASE_S
            )
            found = sa.select(row.name, row.owner).where(valid)
            return dict(session.execute(found).tuples().all())

    def expire(self, **values: str) -> None:
        """Expire all leases by the clock of the database."""
        with self.store.writer() as session:
            session.execute(
                sa.update(leases.Row).values(lease_until=0.0, **values)
            )

    def test_a_lease_has_one_owner_until_it_expires(self) -> None:
        self.assertFalse(self.leases.owns("a"))
        self.assertTrue(self.leases.acquire("a"))
        other = self.lease_set("other")
        self.assertFalse(other.acquire("a"))
        self.assertFalse(other.owns("a"))
        self.clock.advance(LEASE_S - 1)
        self.assertTrue(self.leases.owns("a"))
        self.assertFalse(self.leases.owns("b"))
        self.assertEqual({"a": "me"}, self.rows())
        self.assertTrue(self.leases.acquire("a"))
        self.clock.advance(LEASE_S - 1)
        self.assertTrue(self.leases.owns("a"))
        self.clock.advance(1)
        self.assertFalse(self.leases.owns("a"))

    def test_an_expired_lease_can_be_acquired(self) -> None:
        self.leases.acquire("a")
        self.expire()
        self.assertTrue(self.lease_set("other").acquire("a"))
        self.assertEqual({"a": "other"}, self.rows())

    def test_all_leases_are_renewed(self) -> None:
        self.leases.renew()
        self.leases.acquire("a")
        self.leases.acquire("b")
        self.expire()
        self.clock.advance(LEASE_S - 1)
        self.leases.renew()
        self.assertEqual({"a": "me", "b": "me"}, self.rows())
        self.clock.advance(LEASE_S - 1)
        self.assertTrue(self.leases.owns("a"))
        self.assertTrue(self.leases.owns("b"))

    def test_lost_leases_are_dropped(self) -> None:
        self.leases.acquire("a")
        self.leases.acquire("b")
        with self.store.writer() as session:
            session.execute(
                sa.update(leases.Row)
                .where(leases.Row.name == "a")
                .values(owner="other")
            )
        self.leases.renew()
        self.assertFalse(self.leases.owns("a"))
        self.assertTrue(self.leases.owns("b"))

    def test_locked_leases_are_kept(self) -> None:
        self.leases.acquire("b")
        self.leases.acquire("a")
        self.clock.advance(1)
        self.lock_rows()
        error = self.assertRaises(RowsLocked, self.leases.renew)
        self.assertEqual("a, b", str(error))
        self.clock.advance(LEASE_S - 2)
        self.assertTrue(self.leases.owns("a"))
        self.clock.advance(1)
        self.assertFalse(self.leases.owns("a"))

    def test_only_named_leases_are_released(self) -> None:
        for name in "abcd":
            self.leases.acquire(name)
        self.leases.release("a", "b", "none")
        self.assertEqual(
            [False, False, True, True], [*map(self.leases.owns, "abcd")]
        )
        self.assertEqual({"c": "me", "d": "me"}, self.rows())
        self.lease_set("other").release("c")
        self.assertEqual({"c": "me", "d": "me"}, self.rows())
        self.leases.release_all()
        self.assertFalse(self.leases.owns("c"))
        self.assertEqual({}, self.rows())
        self.leases.release_all()

    def test_only_leases_of_this_process_are_released(self) -> None:
        self.leases.acquire("a")
        self.lease_set("me").release_all()
        self.assertEqual({"a": "me"}, self.rows())
