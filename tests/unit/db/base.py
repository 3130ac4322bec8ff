"""What the tests of the store begin with: a database of their own."""

from pathlib import Path

import fixtures
import testtools

from tacker_cnf.db import keys, schema
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT


class StoreTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.key_file = self.folder / "secrets.key"
        keys.create(self.key_file)
        VAULT.open(keys.load(self.key_file))
        self.store = self.open()
        schema.upgrade(self.store)

    def open(self) -> Store:
        """Open the database once more, as another process would."""
        store = Store(f"sqlite:///{self.folder / 'test.sqlite'}")
        self.addCleanup(store.close)
        return store
