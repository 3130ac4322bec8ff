"""Named leases, each of which one process at a time has."""

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import leases, models
from tests.unit.db.base import StoreTest


class TestLeases(StoreTest):
    def acquire(self, name: str, owner: str) -> bool:
        return leases.acquire(self.store, name, owner, 60)

    def expire_leases(self) -> None:
        """Expire every lease."""
        with self.store.writer() as session:
            session.execute(sa.update(models.Lease).values(lease_until=0.0))

    def test_a_lease_has_one_owner(self) -> None:
        self.assertTrue(self.acquire("a", "me"))
        self.assertTrue(self.acquire("a", "me"))
        self.assertFalse(self.acquire("a", "you"))
        self.assertTrue(self.acquire("b", "you"))

    def test_an_expired_lease_can_be_acquired(self) -> None:
        self.acquire("a", "me")
        self.expire_leases()
        self.assertTrue(self.acquire("a", "you"))
        self.assertFalse(self.acquire("a", "me"))

    def test_renewal_returns_lost_leases(self) -> None:
        for name in ("a", "b"):
            self.acquire(name, "me")
        self.expire_leases()
        self.acquire("b", "you")
        kept = leases.renew(self.store, ["a", "b", "c"], "me", 60)
        self.assertEqual({"a"}, kept.renewed)
        self.assertEqual(set(), kept.locked)
        self.assertFalse(self.acquire("a", "you"))

    def test_a_released_lease_can_be_acquired_at_once(self) -> None:
        for name in ("a", "b"):
            self.acquire(name, "me")
        leases.release(self.store, ["a"], "you")
        self.assertFalse(self.acquire("a", "you"))
        leases.release(self.store, ["a"], "me")
        self.assertTrue(self.acquire("a", "you"))
        self.assertFalse(self.acquire("b", "you"))
        leases.release(self.store, ["b"], "me")
        self.assertTrue(self.acquire("b", "you"))

    def test_a_deadlock_is_retried(self) -> None:
        self.let_next_transaction_fail()
        self.assertTrue(self.acquire("a", "me"))
        self.let_next_transaction_fail()
        kept = leases.renew(self.store, ["a"], "me", 60)
        self.assertEqual({"a"}, kept.renewed)
        self.let_next_transaction_fail()
        leases.release(self.store, ["a"], "me")
        self.assertTrue(self.acquire("a", "you"))

    def test_a_lease_inserted_by_another_process_is_not_acquired(self) -> None:
        @sa.event.listens_for(orm.Session, "do_orm_execute")
        def add(state: orm.ORMExecuteState) -> None:
            if state.is_insert:
                state.session.connection().execute(
                    sa.insert(models.Lease).values(
                        name="a", owner="you", lease_until=9e9
                    )
                )

        self.addCleanup(sa.event.remove, orm.Session, "do_orm_execute", add)
        self.assertIs(False, self.acquire("a", "me"))  # noqa: FBT003
