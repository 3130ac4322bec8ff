"""The migrations lead to the tables that the models describe."""

import sqlalchemy as sa
import testtools
from alembic import autogenerate, config, migration, script

from tacker_cnf.db import models, schema
from tacker_cnf.db.session import Store


class TestMigrations(testtools.TestCase):
    def test_the_head_is_the_one_that_servers_ask_for(self) -> None:
        made = config.Config()
        where = schema.__file__.replace("schema.py", "migrations")
        made.set_main_option("script_location", where)
        scripts = script.ScriptDirectory.from_config(made)
        self.assertEqual(schema.HEAD, scripts.get_current_head())

    def test_they_give_what_the_models_say(self) -> None:
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
