import threading
from typing import Any

import testtools
from fixtures import MonkeyPatch

from tacker_cnf import errors
from tacker_cnf.services.readiness import RESULT_LIFETIME_S, Readiness
from tests.fixtures.clock import ManualClock


class TestReadiness(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.runs: list[str] = []
        self.broken: set[str] = set()

    def readiness(self, *chains: list[str]) -> Readiness:
        return Readiness(
            [{name: self.check(name) for name in names} for names in chains],
            self.clock,
        )

    def check(self, name: str) -> Any:
        def run() -> None:
            self.runs.append(name)
            if name in self.broken:
                raise OSError("10.0.0.1: s3cret")

        return run

    def failure(self, readiness: Readiness) -> str:
        return str(self.assertRaises(errors.Unavailable, readiness.check))

    def test_all_checks_work(self) -> None:
        readiness = self.readiness(["a", "b"], ["c"])
        readiness.check()
        self.assertEqual({"a", "b", "c"}, set(self.runs))

    def test_a_failure_has_the_name_of_the_check_only(self) -> None:
        self.broken = {"b", "c"}
        readiness = self.readiness(["a", "b"], ["c"])
        self.assertEqual("Not ready: b, c.", self.failure(readiness))

    def test_a_chain_ends_with_the_first_failure(self) -> None:
        self.broken = {"a", "b"}
        readiness = self.readiness(["a", "b"])
        self.assertEqual("Not ready: a.", self.failure(readiness))
        self.assertEqual(["a"], self.runs)

    def test_a_result_is_repeated_for_a_moment(self) -> None:
        readiness = self.readiness(["a"])
        for _ in range(100):
            readiness.check()
        self.assertEqual(["a"], self.runs)
        self.broken = {"a"}
        self.clock.advance(RESULT_LIFETIME_S)
        for _ in range(100):
            self.failure(readiness)
        self.assertEqual(["a", "a"], self.runs)

    def test_a_check_that_hangs_fails_and_runs_once(self) -> None:
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)
        runs = []

        def hang() -> None:
            runs.append(1)
            goes_on.wait()

        self.useFixture(
            MonkeyPatch("tacker_cnf.services.readiness.TIMEOUT_S", 0.05)
        )
        readiness = Readiness(
            [{"slow": hang}, {"a": self.check("a")}], self.clock
        )
        for _ in range(3):
            self.assertEqual("Not ready: slow.", self.failure(readiness))
            self.clock.advance(RESULT_LIFETIME_S)
        self.assertEqual(1, len(runs))
        self.assertEqual(3, len(self.runs))
