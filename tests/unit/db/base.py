"""Base class of the tests of the store."""

from pathlib import Path
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools
from oslo_db import exception as db_errors
from sqlalchemy import orm

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

        @sa.event.listens_for(orm.Session, "do_orm_execute")
        def skip(state: orm.ORMExecuteState) -> None:
            statement: Any = state.statement
            options = statement._for_update_arg if state.is_select else None
            if left[0] and options is not None and options.skip_locked:
                left[0] -= 1
                state.statement = statement.where(sa.false())

        self.addCleanup(sa.event.remove, orm.Session, "do_orm_execute", skip)

    def record_locks(self) -> list[bool]:
        """Record for each query from now on whether it locks its rows."""
        locks: list[bool] = []

        @sa.event.listens_for(orm.Session, "do_orm_execute")
        def record(state: orm.ORMExecuteState) -> None:
            if state.is_select:
                statement: Any = state.statement
                locks.append(statement._for_update_arg is not None)

        self.addCleanup(sa.event.remove, orm.Session, "do_orm_execute", record)
        return locks

    def let_next_transaction_fail(self) -> None:
        """Make the next transaction fail with a deadlock."""

        @sa.event.listens_for(self.store.engine, "begin", once=True)
        def fail(_: sa.Connection) -> None:
            raise db_errors.DBDeadlock
