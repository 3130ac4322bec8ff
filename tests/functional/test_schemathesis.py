"""The service against the document that it gives of itself.

TACKER_CNF_FUZZ_EXAMPLES has more tried, TACKER_CNF_FUZZ_SEED something else.
"""

import fixtures
import testtools

from tests.fixtures.api_fuzzer import ApiFuzzer


class Conformance(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.fuzzer = self.useFixture(ApiFuzzer())

    def assert_right(self, phase: str) -> None:
        found = self.fuzzer.run_phase(phase)
        self.assertEqual("", "\n\n".join(found))


class TestBorders(Conformance):
    def test_what_is_at_the_borders_of_the_schemas(self) -> None:
        self.assert_right("coverage")


class TestChance(Conformance):
    def test_what_chance_finds(self) -> None:
        self.assert_right("fuzzing")


class TestSequences(Conformance):
    def test_what_follows_one_upon_another(self) -> None:
        self.assert_right("stateful")
