"""The fault matrix: each step fails, or its conductor dies around the commit;
the end state, who holds the instance, and the VIM have to be right.
"""

import threading
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.cmd import compose
from tacker_cnf.conductor.service import Conductor
from tacker_cnf.db.op_occs import Result, Work
from tacker_cnf.lcm.states import Event
from tests.fixtures.vnfm import FAKE_VIM, Vnfm

GRANTED = Event.GRANTED
DONE = Event.DONE


class Died(BaseException):
    """The conductor's process is no more."""


class MortalConductor(Conductor):
    """A conductor that can die around the commit of a step."""

    #: (event, whether its commit still happens)
    dies_at: tuple[Event, bool] | None = None
    dead = False

    def _record(
        self, work: Work, event: Event, result: Result, run: Any
    ) -> None:
        if self.dies_at is None or self.dies_at[0] != event:
            super()._record(work, event, result, run)
            return
        if self.dies_at[1]:
            super()._record(work, event, result, run)
        self.dead = True
        raise Died

    def run(self, op_occ_id: str) -> None:
        if not self.dead:
            super().run(op_occ_id)


class FaultCase(testtools.TestCase):
    """A service whose first conductor may die; a second one is at hand."""

    resume = False

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(
            Vnfm(conductor={"lease": 1.0, "resume_infra": self.resume})
        )
        self.vnfm.conductor.stop()
        self.mortal = self.conductor(MortalConductor)
        self.request = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}

    def conductor(self, kind: type[Conductor]) -> Any:
        parts = self.vnfm.parts
        made = kind(
            self.vnfm.conf,
            parts.store,
            parts.catalogue,
            parts.drivers,
            self.vnfm.nfvo,
        )
        made.start(parts.transport)
        self.addCleanup(made.stop)
        return made

    def busy(self, instance_id: str) -> bool:
        """Tell whether an operation holds the instance."""
        answer = self.vnfm.task(instance_id, "instantiate", self.request)
        if answer.status == 409:
            return "held by" in answer.detail
        self.vnfm.ended(answer.headers["Location"])
        return False

    def die(self, event: Event, *, committed: bool) -> Any:
        """Instantiate on a conductor that dies; give the end of it."""
        self.mortal.dies_at = (event, committed)
        instance_id = self.vnfm.create()
        answer = self.vnfm.task(instance_id, "instantiate", self.request)
        self.assertEqual(202, answer.status)
        while not self.mortal.dead:
            pass
        self.conductor(Conductor)
        return self.vnfm.ended(answer.headers["Location"])


class TestSteps(FaultCase):
    """A step raises."""

    def test_grant(self) -> None:
        self.vnfm.nfvo.fails_with = errors.GrantRefused("not today")
        instance_id = self.vnfm.create()
        end = self.vnfm.run(instance_id, "instantiate", self.request)
        self.assertEqual("ROLLED_BACK", end["operationState"])
        self.assertEqual(403, end["error"]["status"])
        self.assertEqual("not today", end["error"]["detail"])
        self.vnfm.nfvo.fails_with = None
        self.assertFalse(self.busy(instance_id))

    def test_infra(self) -> None:
        def fail(_task: Any) -> None:
            raise errors.InfraError("quota exceeded")

        self.vnfm.driver.before["apply"] = fail
        instance_id = self.vnfm.create()
        end = self.vnfm.run(instance_id, "instantiate", self.request)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual("quota exceeded", end["error"]["detail"])
        self.assertTrue(self.busy(instance_id))

    def test_a_bug(self) -> None:
        def fail(_task: Any) -> None:
            raise ZeroDivisionError("the inside of a bug")

        self.vnfm.driver.before["apply"] = fail
        instance_id = self.vnfm.create()
        end = self.vnfm.run(instance_id, "instantiate", self.request)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual(500, end["error"]["status"])
        self.assertNotIn("inside", str(end))


class TestDeath(FaultCase):
    """The conductor dies before or after the commit of a step."""

    def assert_lost(self, end: Any) -> None:
        self.assertEqual("FAILED_TEMP", end["operationState"])
        owner = self.mortal.claims.owner
        self.assertIn(f"Conductor {owner} was lost", end["error"]["detail"])
        self.assertTrue(self.busy(end["vnfInstanceId"]))
        again = self.vnfm.decide(end["id"], "retry")
        self.assertEqual("COMPLETED", again["operationState"])

    def assert_done(self, end: Any) -> None:
        self.assertEqual("COMPLETED", end["operationState"])
        instance = self.vnfm.instance(end["vnfInstanceId"])
        self.assertEqual("INSTANTIATED", instance["instantiationState"])

    def test_before_the_grant_is_kept_it_begins_again(self) -> None:
        self.assert_done(self.die(GRANTED, committed=False))
        self.assertEqual(2, len(self.vnfm.nfvo.requests))

    def test_after_the_grant_is_kept_somebody_has_to_decide(self) -> None:
        self.assert_lost(self.die(GRANTED, committed=True))
        self.assertEqual(1, len(self.vnfm.nfvo.requests))

    def test_before_the_end_is_kept_somebody_has_to_decide(self) -> None:
        self.assert_lost(self.die(DONE, committed=False))

    def test_after_the_end_is_kept_all_is_well(self) -> None:
        self.assert_done(self.die(DONE, committed=True))


class TestResume(FaultCase):
    resume = True

    def test_infra_goes_on_when_the_operator_allows_it(self) -> None:
        end = self.die(DONE, committed=False)
        self.assertEqual("COMPLETED", end["operationState"], end)


class TestClaims(FaultCase):
    def test_a_slow_owner_cannot_overrule_the_next(self) -> None:
        """The first conductor freezes while it works, and wakes up after
        another one has taken over.
        """
        blocked: list[Any] = []

        def freeze(task: Any) -> None:
            if not blocked:
                blocked.append(task)
                # nobody renews the lease of what is not held
                self.mortal.claims.let_go(op_occ_id)
                self.mortal.dead = True
                self.conductor(Conductor)
                self.vnfm.ended(location)

        self.vnfm.driver.before["apply"] = freeze
        instance_id = self.vnfm.create()
        answer = self.vnfm.task(instance_id, "instantiate", self.request)
        location = answer.headers["Location"]
        op_occ_id = location.rsplit("/", 1)[1]
        end = self.vnfm.ended(location)
        while op_occ_id in self.mortal._queued:
            pass
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual(end, self.vnfm.call("GET", location).json)

    def test_what_a_living_conductor_has_is_left_alone(self) -> None:
        self.conductor(Conductor)
        calls = []

        def slow(task: Any) -> None:
            calls.append(task)
            threading.Event().wait(2.5)  # more than two leases

        self.vnfm.driver.before["apply"] = slow
        instance_id = self.vnfm.create()
        end = self.vnfm.run(instance_id, "instantiate", self.request)
        self.assertEqual("COMPLETED", end["operationState"])
        self.assertEqual(1, len(calls))

    def test_a_lost_wake_up_only_delays(self) -> None:
        self.mortal.dead = True  # it takes the message, and does nothing
        instance_id = self.vnfm.create()
        answer = self.vnfm.task(instance_id, "instantiate", self.request)
        self.conductor(Conductor)
        end = self.vnfm.ended(answer.headers["Location"])
        self.assertEqual("COMPLETED", end["operationState"])


class TestCompose(testtools.TestCase):
    def test_a_missing_key_file_is_told(self) -> None:
        vnfm = self.useFixture(Vnfm())
        vnfm.conf.set_override("key_file", "/nonexistent/key", "secrets")
        error = self.assertRaises(
            errors.VnfmError, compose.parts, vnfm.conf, "fake://"
        )
        self.assertIn("tacker-cnf-manage keys create", str(error))
