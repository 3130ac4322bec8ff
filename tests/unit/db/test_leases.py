"""Work that one process at a time does for all."""

import sqlalchemy as sa

from tacker_cnf.db import leases, models
from tests.unit.db.base import StoreTest


class TestLeases(StoreTest):
    def take(self, name: str, owner: str) -> bool:
        return leases.take(self.store, name, owner, 60)

    def run_out(self) -> None:
        """Let every lease run out."""
        with self.store.writer() as session:
            session.execute(sa.update(models.Lease).values(lease_until=0.0))

    def test_one_has_it(self) -> None:
        self.assertTrue(self.take("a", "me"))
        self.assertTrue(self.take("a", "me"))
        self.assertFalse(self.take("a", "you"))
        self.assertTrue(self.take("b", "you"))

    def test_what_was_run_out_is_the_next_ones(self) -> None:
        self.take("a", "me")
        self.run_out()
        self.assertTrue(self.take("a", "you"))
        self.assertFalse(self.take("a", "me"))

    def test_renewal_tells_what_was_lost(self) -> None:
        for name in ("a", "b"):
            self.take(name, "me")
        self.run_out()
        self.take("b", "you")
        kept = leases.renew(self.store, ["a", "b", "c"], "me", 60)
        self.assertEqual({"a"}, kept.renewed)
        self.assertEqual(set(), kept.locked)
        self.assertFalse(self.take("a", "you"))

    def test_what_is_dropped_can_be_had_at_once(self) -> None:
        for name in ("a", "b"):
            self.take(name, "me")
        leases.drop(self.store, ["a"], "you")
        self.assertFalse(self.take("a", "you"))
        leases.drop(self.store, ["a"], "me")
        self.assertTrue(self.take("a", "you"))
        self.assertFalse(self.take("b", "you"))
        leases.give_back(self.store, "me")
        self.assertTrue(self.take("b", "you"))
