"""The records of an operation, when its database answers with errors."""

import shutil
import threading

import sqlalchemy as sa

from tacker_cnf.conductor.claims import Claims, Hold
from tacker_cnf.db.session import Unreachable
from tacker_cnf.lease import boottime
from tests.unit.db.base import StoreTest

LEASE = 1.0
#: seconds within which what ends has surely ended
LONG = 20.0


class TestPersist(StoreTest):
    def test_it_ends_when_the_error_stays(self) -> None:
        """The disk is full, while the lease is renewed all along."""
        hold = Hold(LEASE)
        self.addCleanup(hold.lose)
        hold.renew(boottime())
        errors: list[Exception] = []

        def persist() -> None:
            try:
                hold.persist(self.fill)
            except Exception as error:  # noqa: BLE001
                errors.append(error)

        thread = threading.Thread(target=persist, daemon=True)
        thread.start()
        until = boottime() + LONG
        while thread.is_alive() and boottime() < until:
            hold.renew(boottime())
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
        claims.take("an operation")
        self.store.close()
        shutil.rmtree(self.folder)
        self.assertRaises(Unreachable, claims.take, "another")
        claims.heed("an operation")
