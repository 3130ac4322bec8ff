"""Marks of instances that may have leftovers, and their claims."""

from tacker_cnf.db import instances, leftovers, packages
from tests.factories import NOW, an_instance
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_package

ID = "an-instance"
EXPIRED = -1.0


class TestClaim(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        with self.store.writer() as session:
            packages.add(session, a_package(vnfd_id="a-vnfd"))
            session.flush()
            instances.add(session, an_instance(id=ID), "a-package", NOW)
            session.flush()
            leftovers.mark(session, ID)

    def claim(self, seconds: float) -> None:
        with self.store.writer() as session:
            self.assertTrue(leftovers.claim(session, ID, "frozen", seconds))

    def release(self) -> None:
        """Release the claim as a conductor that found nothing."""
        with self.store.writer() as session:
            leftovers.release(session, ID, "frozen", ())

    def is_marked(self) -> bool:
        with self.store.reader() as session:
            return leftovers.get(session, ID) is not None

    def test_a_release_clears_the_mark(self) -> None:
        self.claim(60.0)
        self.release()
        self.assertFalse(self.is_marked())

    def test_an_operation_ends_an_expired_claim(self) -> None:
        self.claim(EXPIRED)
        with self.store.writer() as session:
            instances.reserve(session, ID, "op-1", 0)
        self.release()
        self.assertTrue(self.is_marked())

    def test_a_new_mark_ends_an_expired_claim(self) -> None:
        self.claim(EXPIRED)
        with self.store.writer() as session:
            leftovers.mark(session, ID)
        self.release()
        self.assertTrue(self.is_marked())
