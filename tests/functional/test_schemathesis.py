"""The service against its own OpenAPI document.

TACKER_CNF_FUZZ_EXAMPLES sets the number of examples, TACKER_CNF_FUZZ_SEED the
seed.
"""

import logging
from typing import Final

import fixtures
import testtools

from tests.fixtures.api_fuzzer import ApiFuzzer

#: loggers with lines for each request, more than the result of a test can have
OF_EACH_REQUEST: Final = (
    "tacker_cnf.http_server.access_log",
    "oslo.messaging.notification",
)


class Conformance(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        for name in OF_EACH_REQUEST:
            self.useFixture(fixtures.FakeLogger(name, logging.WARNING))
        self.fuzzer = self.useFixture(ApiFuzzer())

    def assert_conforms(self, phase: str) -> None:
        found = self.fuzzer.run_phase(phase)
        self.assertEqual("", "\n\n".join(found))


class TestCoverage(Conformance):
    def test_values_at_the_limits_of_the_schemas(self) -> None:
        self.assert_conforms("coverage")


class TestFuzzing(Conformance):
    def test_random_values(self) -> None:
        self.assert_conforms("fuzzing")


class TestSequences(Conformance):
    def test_sequences_of_requests(self) -> None:
        self.assert_conforms("stateful")
