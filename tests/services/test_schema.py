"""The schema of each database server equals the models."""

import sqlalchemy as sa
import testtools
from alembic import autogenerate, migration

from tacker_cnf.db import models, schema
from tests.services.backends import MARIADB, POSTGRESQL, Database
from tests.services.deployment import Deployment


class TestSchemaOnPostgresql(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(Deployment(self, self.server))
        self.engine = self.deployment.database.engine

    def test_the_migrated_schema_equals_the_models(self) -> None:
        with self.engine.connect() as connection:
            context = migration.MigrationContext.configure(
                connection, opts={"compare_type": True}
            )
            differences = autogenerate.compare_metadata(
                context, models.Base.metadata
            )
            self.assertEqual([], differences)
            self.assertEqual(schema.HEAD, context.get_current_revision())

    def test_commands_create_the_keys_and_the_tables(self) -> None:
        new = self.useFixture(Database(self, self.server))
        conf = self.deployment.configure(
            "new.conf",
            DEFAULT={"state_path": self.deployment.folder / "new"},
            database={"connection": new.url},
        )
        for command, expected in {
            "keys create": "secrets.key: created.",
            "db upgrade": f"from version None to {schema.HEAD}.",
        }.items():
            output = self.deployment.manage(command, conf)
            self.assertIn(expected, output)
        tables = set(sa.inspect(new.engine).get_table_names())
        self.assertEqual(set(self.columns()), tables)

    def test_an_upgrade_of_the_latest_schema_changes_nothing(self) -> None:
        before = self.columns()
        self.deployment.database.execute(
            "INSERT INTO vnf_packages (id, onboarding_state,"
            " operational_state, user_defined_data, created_at) VALUES"
            " ('p', 'CREATED', 'DISABLED', '{}', :now)",
            now="2026-01-01 00:00:00",
        )
        again = self.deployment.manage("db upgrade")
        head = schema.HEAD
        self.assertIn(f"from version {head} to {head}", again)
        self.assertEqual(before, self.columns())
        count = "SELECT count(*) AS n FROM vnf_packages"
        self.assertEqual({"n": 1}, self.deployment.database.fetch_row(count))

    def test_the_version_is_printed(self) -> None:
        output = self.deployment.manage("db version")
        self.assertIn(f"version {schema.HEAD};", output)

    def columns(self) -> dict[str, list[str]]:
        found = sa.inspect(self.engine)
        return {
            table: [
                f"{column['name']} {column['type']} {column['nullable']}"
                for column in found.get_columns(table)
            ]
            for table in found.get_table_names()
        }


class TestSchemaOnMariadb(TestSchemaOnPostgresql):
    server = MARIADB
