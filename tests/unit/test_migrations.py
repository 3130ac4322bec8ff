"""Migrations of the database schema."""

import re
from pathlib import Path
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools
from alembic import autogenerate, command, config, migration, script
from testtools.matchers import GreaterThan

from tacker_cnf import errors
from tacker_cnf.db import instances, keys, models, schema, subscriptions
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT, Vault
from tacker_cnf.sol.api import Api


class TestMigrations(testtools.TestCase):
    def test_the_latest_revision_is_the_one_that_servers_require(self) -> None:
        alembic_config = config.Config()
        directory = schema.__file__.replace("schema.py", "migrations")
        alembic_config.set_main_option("script_location", directory)
        scripts = script.ScriptDirectory.from_config(alembic_config)
        self.assertEqual(schema.HEAD, scripts.get_current_head())

    def test_the_migrated_schema_equals_the_models(self) -> None:
        store = Store("sqlite://")
        self.addCleanup(store.close)
        self.assertIsNone(schema.version(store))
        schema.upgrade(store)
        self.assertEqual(schema.HEAD, schema.version(store))
        with store.engine.connect() as connection:
            found = autogenerate.compare_metadata(
                migration.MigrationContext.configure(connection),
                models.Base.metadata,
            )
            tables = set(sa.inspect(connection).get_table_names())
        self.assertEqual([], found)
        self.assertEqual(
            {*models.Base.metadata.tables, "alembic_version"}, tables
        )


class TestExpansion(testtools.TestCase):
    """Migrations only extend the schema, so that the processes of the former
    release work with it (doc/source/admin/upgrade.rst).
    """

    #: before the first rolling upgrade, some changed existing columns
    since = "0008"
    allowed = re.compile(
        r"CREATE TABLE \w+|CREATE INDEX \w+"
        r"|ALTER TABLE \w+ ADD COLUMN(?=.* DEFAULT |(?!.* NOT NULL))"
        r"|UPDATE alembic_version|PRAGMA|SELECT"
    )

    def test_migrations_only_extend_the_schema(self) -> None:
        store = Store("sqlite://")
        self.addCleanup(store.close)
        statements: list[str] = []

        @sa.event.listens_for(store.engine, "before_cursor_execute")
        def record(*arguments: Any) -> None:
            statements.append(" ".join(arguments[2].split()))

        with store.engine.begin() as connection:
            command.upgrade(schema._config(connection), self.since)
            statements.clear()
            command.upgrade(schema._config(connection), schema.HEAD)
        self.assertThat(len(statements), GreaterThan(5))
        others = [s for s in statements if not self.allowed.match(s)]
        self.assertEqual([], others)

    def test_what_does_not_extend_it_is_noticed(self) -> None:
        for statement in (
            "ALTER TABLE vims DROP COLUMN name",
            "ALTER TABLE vims ADD COLUMN size INTEGER NOT NULL",
            "CREATE UNIQUE INDEX x ON vims (name)",
            "UPDATE vims SET name = ''",
        ):
            self.assertIsNone(self.allowed.match(statement))

    def test_a_later_schema_is_usable_and_an_earlier_one_not(self) -> None:
        for found, expected in (
            (None, False),
            ("0001", False),
            (schema.HEAD, True),
            ("9999", True),
            ("other", False),
        ):
            self.assertEqual(expected, schema.is_usable(found), str(found))

    def test_an_earlier_release_does_not_upgrade(self) -> None:
        store = Store("sqlite://")
        self.addCleanup(store.close)
        schema.upgrade(store)
        with store.engine.begin() as connection:
            later = "UPDATE alembic_version SET version_num = '9999'"
            connection.execute(sa.text(later))
        error = self.assertRaises(errors.VnfmError, schema.upgrade, store)
        self.assertIn("9999 of a later release", str(error))


class TestFrom0001(testtools.TestCase):
    """Rows of the first schema, which encrypted fewer columns."""

    hidden = '{"password":"hunter2"}'

    def setUp(self) -> None:
        super().setUp()
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        keys.create(folder / "key")
        VAULT.open(keys.load(folder / "key"))
        self.store = Store(f"sqlite:///{folder / 'test.sqlite'}")
        self.addCleanup(self.store.close)
        with self.store.engine.begin() as connection:
            command.upgrade(schema._config(connection), "0001")
            connection.execute(
                sa.text(
                    "INSERT INTO vnf_packages (id, onboarding_state,"
                    " operational_state, user_defined_data, created_at,"
                    " vnfd_id) VALUES ('p', 'ONBOARDED', 'ENABLED', '{}',"
                    " '2026-01-01 00:00:00', 'd')"
                )
            )
        self.add("full", self.hidden)
        self.add("bare", None)

    def add(self, instance_id: str, value: str | None) -> None:
        with self.store.engine.begin() as connection:
            connection.execute(
                sa.text(
                    "INSERT INTO vnf_instances (id, vnfd_id, vnf_provider,"
                    " vnf_product_name, vnf_software_version, vnfd_version,"
                    " instantiation_state, created_at, generation,"
                    " vnf_configurable_properties, extensions, metadata)"
                    " VALUES (:id, 'd', 'p', 'n', '1', '1',"
                    " 'NOT_INSTANTIATED', '2026-01-01 00:00:00', 0,"
                    " :value, :value, :value)"
                ),
                {"id": instance_id, "value": value},
            )

    def stored_values(self) -> list[str]:
        columns = "vnf_configurable_properties, extensions, metadata"
        query = f"SELECT {columns} FROM vnf_instances WHERE id = 'full'"  # noqa: S608
        with self.store.engine.connect() as connection:
            return list(connection.execute(sa.text(query)).one())

    def check(self) -> None:
        for text in self.stored_values():
            self.assertNotIn("hunter2", text)
            self.assertNotIn("password", text)
        with self.store.reader() as session:
            full = instances.get(session, "full")
            bare = instances.get(session, "bare")
        for found, expected in ((full, {"password": "hunter2"}), (bare, {})):
            self.assertEqual(
                [expected] * 3,
                [
                    found.vnf_configurable_properties,
                    found.extensions,
                    found.metadata,
                ],
            )

    def test_plain_values_are_encrypted_and_can_be_read(self) -> None:
        schema.upgrade(self.store, "a-project")
        self.check()

    def test_an_interrupted_upgrade_is_completed_by_the_next(self) -> None:
        done = VAULT.fernet.encrypt(self.hidden.encode()).decode()
        with self.store.engine.begin() as connection:
            connection.execute(
                sa.text("UPDATE vnf_instances SET extensions = :done"),
                {"done": done},
            )
            connection.execute(
                sa.text(
                    "UPDATE vnf_instances SET extensions = NULL"
                    " WHERE id = 'bare'"
                )
            )
        schema.upgrade(self.store, "a-project")
        self.check()

    def test_an_upgrade_without_keys_changes_nothing(self) -> None:
        fernet, VAULT._fernet = VAULT._fernet, Vault()._fernet
        self.addCleanup(setattr, VAULT, "_fernet", fernet)
        before = self.stored_values()
        error = self.assertRaises(
            errors.VnfmError, schema.upgrade, self.store, "a-project"
        )
        self.assertEqual("No key file was loaded.", str(error))
        self.assertEqual("0001", schema.version(self.store))
        self.assertEqual(before, self.stored_values())

    def test_existing_rows_go_to_the_named_project(self) -> None:
        schema.upgrade(self.store, "a-project")
        with self.store.reader() as session:
            found = instances.get(session, "full")
            package_id = session.scalar(
                sa.select(models.VnfInstance.vnf_package_id).limit(1)
            )
        self.assertEqual("a-project", found.project_id)
        self.assertEqual("p", package_id)

    def test_references_hold_after_the_upgrade(self) -> None:
        schema.upgrade(self.store, "a-project")
        with self.store.engine.connect() as connection:
            check = connection.exec_driver_sql("PRAGMA foreign_key_check")
            self.assertEqual([], check.all())
            enforced = connection.exec_driver_sql("PRAGMA foreign_keys")
            self.assertEqual(1, enforced.scalar())

    def test_existing_subscriptions_are_of_version_2(self) -> None:
        schema.upgrade(self.store, "a-project")
        columns = {
            "id": "s",
            "project_id": "a-project",
            "callback_uri": "http://x",
            "verbosity": "FULL",
            "all_projects": 0,
            "api_base": "http://y",
            "created_at": "2026-01-01 00:00:00",
        }
        names = ", ".join(columns)
        values = ", ".join(f":{name}" for name in columns)
        with self.store.engine.begin() as connection:
            # as a server of the earlier release does during the upgrade
            connection.execute(
                sa.text(
                    f"INSERT INTO lccn_subscriptions ({names})"  # noqa: S608
                    f" VALUES ({values})"
                ),
                columns,
            )
        with self.store.reader() as session:
            found = subscriptions.contact(session, "s")
        assert found is not None
        self.assertEqual(Api.LCM_V2, found.api)

    def test_an_upgrade_of_rows_without_a_project_changes_nothing(
        self,
    ) -> None:
        before = self.stored_values()
        error = self.assertRaises(errors.VnfmError, schema.upgrade, self.store)
        self.assertIn("1 in vnf_packages, 2 in vnf_instances", str(error))
        self.assertIn("db upgrade --project ID", str(error))
        self.assertEqual("0001", schema.version(self.store))
        self.assertEqual(before, self.stored_values())
