"""The README lists the deliberate differences."""

from pathlib import Path

import testtools

from tests.functional import differences

_README = Path(__file__).parents[2] / "README.rst"


class TestReadme(testtools.TestCase):
    def test_same_list(self) -> None:
        text = _README.read_text()
        section = text.partition(".. differences-begin")[2]
        section = section.partition(".. differences-end")[0]
        self.assertEqual(differences.as_text().split(), section.split())
