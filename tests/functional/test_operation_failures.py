"""Failures of operations, and the claims of lost conductors."""

from typing import Any

import sqlalchemy as sa
import testtools

from tacker_cnf import errors
from tacker_cnf.cmd import compose
from tacker_cnf.db.models import VnfLcmOpOcc
from tacker_cnf.db.op_occs import list_unclaimed
from tests.fixtures import waiting
from tests.fixtures.crashing_conductor import (
    CrashingConductor,
    expire_leases,
    start_conductor,
)
from tests.fixtures.vnfm import FAKE_VIM, Vnfm


class FaultCase(testtools.TestCase):
    """A service whose conductor can crash."""

    resume = False

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(
            Vnfm(conductor={"resume_infra": self.resume})
        )
        self.vnfm.conductor.stop()
        self.conductor = start_conductor(self.vnfm, CrashingConductor)
        self.request = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}


class TestErrors(FaultCase):
    def instantiate_failing(self, error: Exception) -> Any:
        """Let the VIM fail; return the failed instantiation."""

        def fail(_task: Any) -> None:
            raise error

        self.vnfm.driver.before["apply"] = fail
        instance_id = self.vnfm.create()
        return self.vnfm.run(instance_id, "instantiate", self.request)

    def test_the_nfvo_rejects_the_grant(self) -> None:
        self.vnfm.nfvo.fails_with = errors.GrantRejected("not today")
        instance_id = self.vnfm.create()
        end = self.vnfm.run(instance_id, "instantiate", self.request)
        self.assertEqual("ROLLED_BACK", end["operationState"])
        self.assertEqual(403, end["error"]["status"])
        self.assertEqual("not today", end["error"]["detail"])

    def test_the_vim_fails(self) -> None:
        end = self.instantiate_failing(errors.InfraError("quota exceeded"))
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual(422, end["error"]["status"])
        self.assertEqual("quota exceeded", end["error"]["detail"])

    def test_a_driver_that_reports_invalid_progress(self) -> None:
        """The VIM was changed, and its present state is unknown."""
        self.vnfm.driver.execute = lambda *_: "nonsense"  # type: ignore[assignment,method-assign]
        instance_id = self.vnfm.create()
        end = self.vnfm.run(instance_id, "instantiate", self.request)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual(500, end["error"]["status"])

    def test_an_unexpected_exception(self) -> None:
        end = self.instantiate_failing(
            ZeroDivisionError("the inside of a bug")
        )
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual(500, end["error"]["status"])
        self.assertNotIn("inside", str(end))


class TestCrash(FaultCase):
    """The conductor crashes after the VIM was changed, before its commit."""

    def crash(self) -> Any:
        instance_id = self.vnfm.create()
        self.conductor.crash_at[instance_id] = (1, False)
        return self.vnfm.run(instance_id, "instantiate", self.request)

    def test_a_decision_is_needed(self) -> None:
        end = self.crash()
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual(
            f"Conductor {self.conductor.claims.owner} was lost while it "
            "ran step INFRA of this operation. Possible now: "
            "retry, rollback, fail.",
            end["error"]["detail"],
        )


class TestResume(TestCrash):
    resume = True

    def test_a_decision_is_needed(self) -> None:
        """No decision is needed where the operator configured resumption."""
        self.assertEqual("COMPLETED", self.crash()["operationState"])


class TestClaims(FaultCase):
    def test_a_slow_owner_cannot_overwrite_the_next(self) -> None:
        """The first conductor freezes during a step, and continues after
        another one has taken over.
        """
        blocked: list[Any] = []

        def freeze(task: Any) -> None:
            if not blocked:
                blocked.append(task)
                # a lease that is not held is not renewed
                self.conductor.claims.release(op_occ_id)
                self.close_work_queue()
                expire_leases(self.vnfm.parts.store, op_occ_id)
                start_conductor(self.vnfm)
                self.vnfm.wait_operation(location)

        self.vnfm.driver.before["apply"] = freeze
        instance_id = self.vnfm.create()
        response = self.vnfm.task(instance_id, "instantiate", self.request)
        location = response.headers["Location"]
        op_occ_id = location.rsplit("/", 1)[1]
        end = self.vnfm.wait_operation(location)
        waiting.until(
            lambda: op_occ_id not in self.conductor.queue,
            "the first one's end",
        )
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertEqual(end, self.vnfm.call("GET", location).json)

    def test_an_operation_of_a_running_conductor_is_not_claimed(self) -> None:
        conductors = [self.conductor, start_conductor(self.vnfm)]
        calls = []

        def slow(call: Any) -> None:
            task = call.task
            calls.append(call)
            before = self.lease_until()
            for conductor in conductors:
                conductor.claims.report()
            self.assertGreater(self.lease_until(), before)
            (other,) = (
                conductor
                for conductor in conductors
                if task.operation_id not in conductor.queue
            )
            other.sweep()
            other.queue.put(task.operation_id)
            waiting.until(
                lambda: task.operation_id not in other.queue,
                "the refused claim",
            )

        self.vnfm.driver.before["apply"] = slow
        instance_id = self.vnfm.create()
        end = self.vnfm.run(instance_id, "instantiate", self.request)
        self.assertEqual("COMPLETED", end["operationState"])
        self.assertEqual(1, len(calls))

    def test_a_lost_wake_up_only_delays(self) -> None:
        self.close_work_queue()  # the message is received and ignored
        instance_id = self.vnfm.create()
        response = self.vnfm.task(instance_id, "instantiate", self.request)
        start_conductor(self.vnfm)
        end = self.vnfm.wait_operation(response.headers["Location"])
        self.assertEqual("COMPLETED", end["operationState"])

    def test_the_sweep_need_not_leave_an_operation_to_the_message(
        self,
    ) -> None:
        self.close_work_queue()
        for timeout_s, is_found in ((3600.0, False), (0.0, True)):
            self.vnfm.app = compose.application(
                self.vnfm.parts, wakeup_timeout_s=timeout_s
            )
            instance_id = self.vnfm.create()
            response = self.vnfm.task(instance_id, "instantiate", self.request)
            op_occ_id = response.headers["Location"].rpartition("/")[2]
            with self.vnfm.parts.store.reader() as session:
                found = {one.id for one in list_unclaimed(session)}
            self.assertEqual(is_found, op_occ_id in found)

    def lease_until(self) -> float:
        """Return the time at which the lease of the operation expires."""
        with self.vnfm.parts.store.reader() as session:
            until = session.scalar(sa.select(VnfLcmOpOcc.lease_until))
        return float(until or 0.0)

    def close_work_queue(self) -> None:
        self.conductor.queue.close()


class TestCompose(testtools.TestCase):
    def test_a_missing_key_file_is_reported(self) -> None:
        vnfm = self.useFixture(Vnfm())
        vnfm.conf.set_override("key_file", "/nonexistent/key", "secrets")
        error = self.assertRaises(
            errors.VnfmError, compose.parts, vnfm.conf, "fake://"
        )
        self.assertIn("tacker-cnf-manage keys create", str(error))
