from pathlib import Path

import fixtures
import testtools
from prometheus_client.multiprocess import MultiProcessCollector

from tacker_cnf.metrics import SharedValues


class TestSharedValues(testtools.TestCase):
    def test_a_file_that_was_just_created(self) -> None:
        directory = Path(self.useFixture(fixtures.TempDir()).path)
        values = SharedValues(directory, MultiProcessCollector.merge)
        (directory / "counter_1.db").touch()
        self.assertEqual([], list(values.collect()))
