"""Filters in the SQL of each database find what Python finds."""

import random
from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg
from oslo_db import options as db_options

from tacker_cnf.db import keys, schema, session
from tacker_cnf.db.types import VAULT
from tests.services.servers import MARIADB, POSTGRESQL, Database
from tests.unit.api.test_query_agreement import TABLES, Agreement

ROUNDS = 300


class TestQueries(testtools.TestCase):
    def agree(self, server: str) -> None:
        key_file = Path(self.useFixture(fixtures.TempDir()).path) / "key"
        keys.create(key_file)
        VAULT.open(keys.load(key_file))
        conf = cfg.ConfigOpts()
        conf.register_opts(db_options.database_opts, "database")
        url = self.useFixture(Database(self, server)).url
        conf.set_override("connection", url, "database")
        store = session.of_conf(conf, limited=False)
        self.addCleanup(store.close)
        schema.upgrade(store)
        agreement = Agreement(store, random.Random(1))  # noqa: S311
        agreement.fill(60)
        for table, kind, names in TABLES:
            hits = agreement.compare(table, kind, names, ROUNDS)
            self.assertGreater(hits, ROUNDS)

    def test_postgresql(self) -> None:
        self.agree(POSTGRESQL)

    def test_mariadb(self) -> None:
        self.agree(MARIADB)
