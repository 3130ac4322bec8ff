"""Deletion of old operations and encryption with another key, on servers."""

from tacker_cnf.db.session import Store
from tests.services.backends import MARIADB, POSTGRESQL, Database
from tests.unit.db import (
    test_forgotten_parameters,
    test_reencryption,
    test_retention,
)
from tests.unit.db.test_op_occs import OpOccTest


class ServerTest(OpOccTest):
    server = POSTGRESQL

    def open(self) -> Store:
        store = Store(self.useFixture(Database(self, self.server)).url)
        self.addCleanup(store.close)
        return store


class TestPurge(ServerTest, test_retention.TestPurge):
    pass


class TestPurgeOnMariadb(TestPurge):
    server = MARIADB


class TestForgetParameters(
    ServerTest, test_forgotten_parameters.TestForgetParameters
):
    pass


class TestForgetParametersOnMariadb(TestForgetParameters):
    server = MARIADB


class TestReencrypt(ServerTest, test_reencryption.TestReencrypt):
    pass


class TestReencryptOnMariadb(TestReencrypt):
    server = MARIADB
