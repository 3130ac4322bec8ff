"""The records of an operation, when its database answers with errors."""

import shutil
import threading

import sqlalchemy as sa

from tacker_cnf.conductor.claims import Claim, Claims
from tacker_cnf.db.session import DatabaseUnreachable
from tacker_cnf.runtime.lease import boottime
from tests.unit.db.base import StoreTest

LEASE = 1.0
#: seconds within which what ends has surely ended
LEASE_S = 20.0


class TestPersist(StoreTest):
    def test_it_ends_when_the_error_stays(self) -> None:
        """The disk is full, while the lease is renewed all along."""
        claim = Claim(LEASE)
        self.addCleanup(claim.mark_lost)
        claim.renew(boottime())
        errors: list[Exception] = []

        def persist() -> None:
            try:
                claim.persist(self.fill)
            except Exception as error:  # noqa: BLE001
                errors.append(error)

        thread = threading.Thread(target=persist, daemon=True)
        thread.start()
        until = boottime() + LEASE_S
        while thread.is_alive() and boottime() < until:
            claim.renew(boottime())
            thread.join(LEASE / 10)
        (error,) = errors
        self.assertIsInstance(error, sa.exc.OperationalError)
        self.assertIn("disk is full", str(error))

    def fill(self) -> None:
        with self.store.writer() as session:
            session.execute(sa.text("PRAGMA max_page_count = 1"))
            session.execute(
                sa.text("CREATE TABLE full AS SELECT zeroblob(100000)")
            )


class TestCancel(StoreTest):
    def test_a_message_without_a_database_is_no_error(self) -> None:
        claims = Claims(self.store, LEASE)
        claims.acquire("an operation")
        self.store.close()
        shutil.rmtree(self.folder)
        self.assertRaises(DatabaseUnreachable, claims.acquire, "another")
        claims.check_cancel("an operation")
