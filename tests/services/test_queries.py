"""Filters in the SQL of each database find what Python finds."""

import random

import testtools

from tacker_cnf.db import schema
from tacker_cnf.db.session import Store
from tests.services.servers import MARIADB, POSTGRESQL, Database
from tests.unit.api.test_query_agreement import TABLES, Agreement
from tests.unit.db.base import open_vault

ROUNDS = 300


class TestQueries(testtools.TestCase):
    def agree(self, server: str) -> None:
        open_vault(self)
        store = Store(self.useFixture(Database(self, server)).url)
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
