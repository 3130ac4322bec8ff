"""Work that one process at a time does for all."""

import sqlalchemy as sa

from tacker_cnf.db import leases, models
from tests.unit.db.base import StoreTest


class TestLeases(StoreTest):
    def acquire(self, name: str, owner: str) -> bool:
        return leases.acquire(self.store, name, owner, 60)

    def expire_leases(self) -> None:
        """Let every lease run out."""
        with self.store.writer() as session:
            session.execute(sa.update(models.Lease).values(lease_until=0.0))

    def test_one_has_it(self) -> None:
        self.assertTrue(self.acquire("a", "me"))
        self.assertTrue(self.acquire("a", "me"))
        self.assertFalse(self.acquire("a", "you"))
        self.assertTrue(self.acquire("b", "you"))

    def test_what_was_run_out_is_the_next_ones(self) -> None:
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

    def test_what_is_dropped_can_be_had_at_once(self) -> None:
        for name in ("a", "b"):
            self.acquire(name, "me")
        leases.release(self.store, ["a"], "you")
        self.assertFalse(self.acquire("a", "you"))
        leases.release(self.store, ["a"], "me")
        self.assertTrue(self.acquire("a", "you"))
        self.assertFalse(self.acquire("b", "you"))
        leases.release_all(self.store, "me")
        self.assertTrue(self.acquire("b", "you"))
