"""The schema of each database server equals the models."""

import sqlalchemy as sa
import testtools
from alembic import autogenerate, command, migration

from tacker_cnf.db import models, schema
from tests.services.backends import MARIADB, POSTGRESQL, Database
from tests.services.deployment import Deployment

#: rows of a release without projects
OLD_ROWS = (
    (
        "INSERT INTO vnf_packages (id, onboarding_state, operational_state,"
        " user_defined_data, created_at, vnfd_id) VALUES ('p', 'ONBOARDED',"
        " 'ENABLED', '{}', '2026-01-01 00:00:00', 'd')"
    ),
    (
        "INSERT INTO vims (id, name, type, description, auth_url, auth_cred,"
        " vim_project, extra, created_at) VALUES ('v', 'v', 'fake', '', '', '{}',"
        " '{}', '{}', '2026-01-01 00:00:00')"
    ),
)


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
        for arguments, expected in {
            "keys create": "secrets.key: created.",
            "db upgrade": f"from version None to {schema.HEAD}.",
        }.items():
            output = self.deployment.manage(arguments, conf)
            self.assertIn(expected, output)
        tables = set(sa.inspect(new.engine).get_table_names())
        self.assertEqual(set(self.columns()), tables)

    def test_an_upgrade_of_the_latest_schema_changes_nothing(self) -> None:
        before = self.columns()
        self.deployment.database.execute(
            "INSERT INTO vnf_packages (id, onboarding_state,"
            " operational_state, user_defined_data, created_at, project_id,"
            " is_public) VALUES"
            " ('p', 'CREATED', 'DISABLED', '{}', :now, 'a-project', :no)",
            now="2026-01-01 00:00:00",
            no=False,
        )
        again = self.deployment.manage("db upgrade")
        head = schema.HEAD
        self.assertIn(f"from version {head} to {head}", again)
        self.assertEqual(before, self.columns())
        count = "SELECT count(*) AS n FROM vnf_packages"
        self.assertEqual({"n": 1}, self.deployment.database.fetch_row(count))

    def test_rows_without_a_project_go_to_the_named_one(self) -> None:
        old = self.useFixture(Database(self, self.server))
        conf = self.deployment.configure(
            "old.conf", database={"connection": old.url}
        )
        with old.engine.begin() as connection:
            command.upgrade(schema._config(connection), "0007")
            for statement in OLD_ROWS:
                connection.execute(sa.text(statement))
        status, refused = self.deployment.run(
            "tacker-cnf-manage", conf, "db", "upgrade"
        )
        self.assertEqual(1, status)
        self.assertIn("1 in vnf_packages, 1 in vims", refused)
        self.assertIn("--project ID", refused)
        self.deployment.manage("db upgrade --project a-project", conf)
        for table in ("vnf_packages", "vims"):
            query = f"SELECT project_id, is_public FROM {table}"  # noqa: S608
            found = old.fetch_row(query)
            self.assertEqual("a-project", found["project_id"])
            self.assertFalse(found["is_public"])

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
