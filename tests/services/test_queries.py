"""Filters in the SQL of each database find what Python finds."""

import random

import testtools

from tests.services.backends import MARIADB, POSTGRESQL, open_store
from tests.unit.api.test_query_agreement import TABLES, FilterComparison

ROUNDS = 300


class TestQueries(testtools.TestCase):
    def assert_same_results(self, server: str) -> None:
        store = open_store(self, server)
        agreement = FilterComparison(store, random.Random(1))  # noqa: S311
        agreement.fill(60)
        for table, kind, names in TABLES:
            hits = agreement.compare(table, kind, names, ROUNDS)
            self.assertGreater(hits, ROUNDS)

    def test_queries_on_postgresql(self) -> None:
        self.assert_same_results(POSTGRESQL)

    def test_queries_on_mariadb(self) -> None:
        self.assert_same_results(MARIADB)
