import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from tacker_cnf.db import instances, models
from tacker_cnf.db.session import (
    DuplicateEntry,
    ReferenceError,  # noqa: A004
    epoch,
    transaction,
)
from tests.factories import NOW, an_instance
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_package, a_vim

COUNT = sa.select(sa.func.count()).select_from(models.Vim)


class Interrupted(Exception):
    """An error in the middle of a transaction."""


def fail() -> None:
    raise Interrupted


class TestWriter(StoreTest):
    def count(self) -> int | None:
        with self.store.reader() as session:
            return session.scalar(COUNT)

    def test_a_transaction_is_committed(self) -> None:
        with self.store.writer() as session:
            session.add_all([a_vim(id=name, name=name) for name in "ab"])
        self.assertEqual(2, self.count())

    def test_a_failed_transaction_is_rolled_back(self) -> None:
        def write_and_fail() -> None:
            with self.store.writer() as session:
                session.add(a_vim())
                session.flush()
                fail()

        self.assertRaises(Interrupted, write_and_fail)
        self.assertEqual(0, self.count())

    def test_a_constraint_violation_rolls_back_the_transaction(self) -> None:
        def add_duplicate() -> None:
            with self.store.writer() as session:
                session.add(a_vim(id="a"))
                session.flush()
                session.add(a_vim(id="b"))

        self.assertRaises(DuplicateEntry, add_duplicate)
        self.assertEqual(0, self.count())

    def test_a_database_error_contains_no_values(self) -> None:
        with self.store.writer() as session:
            session.add_all([a_vim(id=name, name=name) for name in "ab"])

        def rename_to_existing() -> None:
            change = {"name": "b", "description": "hunter2"}
            with self.store.writer() as session:
                session.execute(
                    sa.update(models.Vim)
                    .where(models.Vim.id == "a")
                    .values(**change)
                )

        error = self.assertRaises(DuplicateEntry, rename_to_existing)
        self.assertIn("UPDATE vims SET", str(error))
        self.assertNotIn("hunter2", str(error))

    def test_a_reference_to_a_missing_row_is_rejected(self) -> None:
        def refer_to_missing_rows() -> None:
            with self.store.writer() as session:
                use = models.VimUse(vnf_instance_id="no", vim_id="none")
                session.add(use)

        self.assertRaises(ReferenceError, refer_to_missing_rows)

    def test_a_failed_transaction_does_not_block_writers(self) -> None:
        def broken() -> None:
            with self.store.writer():
                fail()

        for _ in range(20):
            self.assertRaises(Interrupted, broken)
        with self.store.writer() as session:
            session.add(a_vim())
        self.assertEqual(1, self.count())


class TestReader(StoreTest):
    def test_a_reader_sees_only_committed_rows(self) -> None:
        other = self.open()
        with self.store.writer() as writer:
            writer.add(a_vim())
            writer.flush()
            with other.reader() as reader:
                self.assertEqual(0, reader.scalar(COUNT))
        with other.reader() as reader:
            self.assertEqual(1, reader.scalar(COUNT))

    def test_a_reader_has_a_snapshot(self) -> None:
        with self.store.reader() as reader:
            self.assertEqual(0, reader.scalar(COUNT))
            with self.open().writer() as writer:
                writer.add(a_vim())
            self.assertEqual(0, reader.scalar(COUNT))

    def test_a_reader_does_not_wait_for_a_writer(self) -> None:
        with self.store.writer() as writer:
            writer.add(a_vim())
            writer.flush()
            done = threading.Event()

            def read() -> None:
                with self.open().reader() as reader:
                    reader.scalar(COUNT)
                done.set()

            threading.Thread(target=read).start()
            self.assertTrue(done.wait(60))

    def test_changes_of_a_reader_are_rolled_back(self) -> None:
        with self.store.reader() as session:
            session.add(a_vim())
            session.flush()
        with self.store.reader() as session:
            self.assertEqual(0, session.scalar(COUNT))


class TestSqlite(StoreTest):
    def pragma(self, name: str) -> Any:
        with self.store.engine.connect() as connection:
            return connection.exec_driver_sql(f"PRAGMA {name}").scalar()

    def test_pragmas_are_set_on_each_connection(self) -> None:
        for name, value in (
            ("journal_mode", "wal"),
            ("foreign_keys", 1),
            ("busy_timeout", 20000),
        ):
            self.assertEqual(value, self.pragma(name), name)

    def test_writers_that_read_first_wait_for_each_other(self) -> None:
        with self.store.writer() as session:
            session.add(a_package(user_defined_data={"n": 0}))

        @transaction
        def add_one(store: Any) -> None:
            with store.writer() as session:
                row = session.get(models.VnfPackage, "a-package")
                row.user_defined_data = {"n": row.user_defined_data["n"] + 1}

        def add_all(store: Any) -> None:
            for _ in range(3):
                at_once.wait()
                add_one(store)

        stores = [self.open() for _ in range(4)]
        at_once = threading.Barrier(len(stores), timeout=60)
        self.run_concurrently(
            lambda store=store: add_all(store) for store in stores
        )
        with self.store.reader() as session:
            row = session.get_one(models.VnfPackage, "a-package")
            self.assertEqual({"n": 12}, row.user_defined_data)

    def run_concurrently(self, functions: Any) -> None:
        failures: list[Exception] = []

        def run(function: Callable[[], object]) -> None:
            try:
                function()
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        threads = [threading.Thread(target=run, args=(f,)) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual([], failures)


class TestCascades(StoreTest):
    def test_the_use_of_a_vim_is_deleted_with_its_instance(self) -> None:
        with self.store.writer() as session:
            session.add(a_vim())
            session.add(a_package(vnfd_id="a-vnfd"))
            session.flush()
            kept = an_instance()
            instances.add(session, kept, "a-package", NOW)
            session.flush()
            session.add(models.VimUse(vnf_instance_id=kept.id, vim_id="a-vim"))
        self.assertRaises(ReferenceError, self.delete, models.Vim, "a-vim")
        self.delete(models.VnfInstance, kept.id)
        self.delete(models.Vim, "a-vim")

    def delete(self, kind: Any, key: str) -> None:
        with self.store.writer() as session:
            session.delete(session.get_one(kind, key))


class TestEpoch(StoreTest):
    def test_epoch_is_the_current_time(self) -> None:
        with self.store.reader() as session:
            first = session.scalar(sa.select(epoch()))
            second = session.scalar(sa.select(epoch() + 10.0))
        assert first is not None
        assert second is not None
        self.assertGreater(first, 1_700_000_000)
        self.assertTrue(9.0 < second - first < 12.0)
