"""Base class of the tests of the store."""

from pathlib import Path
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools
from oslo_db import exception as db_errors

from tacker_cnf.db import keys, schema
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT
from tests.fixtures.database import empty_sqlite


class StoreTest(testtools.TestCase):
    """Base class with a new database."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.key_file = self.folder / "secrets.key"
        keys.create(self.key_file)
        VAULT.open(keys.load(self.key_file))
        self.store = self.open()
        if schema.version(self.store) is None:  # of a server
            schema.upgrade(self.store)

    def open(self) -> Store:
        """Open the database once more, as another process would."""
        path = self.folder / "test.sqlite"
        if not path.exists():
            path.write_bytes(empty_sqlite())
        store = Store(f"sqlite:///{path}")
        self.addCleanup(store.close)
        return store

    def lock_rows(self, times: int = 1) -> None:
        """Lock all rows for the next queries that skip locked ones, as
        another transaction does on a server; SQLite locks no rows.
        """
        left = [times]

        def skip(
            _: sa.Connection, statement: Any, *parameters: Any
        ) -> tuple[Any, ...]:
            options = _locks_of(statement)
            if left[0] and options is not None and options.skip_locked:
                left[0] -= 1
                statement = statement.where(sa.false())
            return statement, *parameters[:2]

        self._listen(skip, retval=True)

    def record_locks(self) -> list[bool]:
        """Record for each query from now on whether it locks its rows."""
        locks: list[bool] = []

        def record(_: sa.Connection, statement: Any, *__: Any) -> None:
            if isinstance(statement, sa.Select):
                locks.append(_locks_of(statement) is not None)

        self._listen(record)
        return locks

    def _listen(self, listener: Any, *, retval: bool = False) -> None:
        target = self.store.engine, "before_execute", listener
        sa.event.listen(*target, retval=retval)
        self.addCleanup(sa.event.remove, *target)

    def let_next_transaction_fail(self) -> None:
        """Make the next transaction fail with a deadlock."""

        @sa.event.listens_for(self.store.engine, "begin", once=True)
        def fail(_: sa.Connection) -> None:
            raise db_errors.DBDeadlock


def _locks_of(statement: Any) -> Any:
    """Return how a statement locks the rows that it reads; None: it locks
    none.
    """
    return getattr(statement, "_for_update_arg", None)
