"""Cancel of operations: FORCEFUL, GRACEFUL, and what cannot be cancelled."""

import textwrap
import threading
from pathlib import Path
from typing import Any

import testtools

from tacker_cnf.drivers.fake import FakeCall
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.grant import Grant, GrantRequest
from tests.fixtures import waiting
from tests.fixtures.crashing_conductor import start_conductor
from tests.fixtures.processes import is_running
from tests.fixtures.vnfm import FAKE_VIM, Csar, Response, Vnfm
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)

OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
#: seconds, longer than any test
WAIT_TIMEOUT_S = 600.0


class CancelCase(testtools.TestCase):
    """An operation that waits until it is cancelled or released."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.waiting = threading.Event()
        self.released = threading.Event()
        self.addCleanup(self.released.set)

    def block(self, call: FakeCall) -> None:
        """Wait as a driver waits for its VIM: until the task is cancelled."""
        call.context.report_progress("3 of 8 pods are ready")
        self.waiting.set()
        call.context.cancel_token.wait(WAIT_TIMEOUT_S)

    def block_uncancelled(self, _call: FakeCall) -> None:
        """Wait without checking for a cancel."""
        self.waiting.set()
        self.released.wait(WAIT_TIMEOUT_S)

    def start_blocked(self, task: str = "instantiate", **request: Any) -> str:
        """Start an operation that blocks; return its id."""
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        instance_id = self.vnfm.create()
        response = self.vnfm.task(instance_id, task, body | request)
        self.assertEqual(202, response.status)
        self.assertTrue(self.waiting.wait(WAIT_TIMEOUT_S))
        return str(response.headers["Location"]).rsplit("/", 1)[1]

    def cancel(self, op_occ_id: str, mode: str = "FORCEFUL") -> Response:
        path = f"{OP_OCCS}/{op_occ_id}/cancel"
        return self.vnfm.call("POST", path, {"cancelMode": mode})

    def cancel_and_wait(self, op_occ_id: str, mode: str = "FORCEFUL") -> Any:
        """Cancel an operation, wait until it ends and return it."""
        response = self.cancel(op_occ_id, mode)
        self.assertEqual(202, response.status)
        self.assertEqual(b"", response.content)
        return self.vnfm.wait_operation(f"{OP_OCCS}/{op_occ_id}")

    def op_occ(self, op_occ_id: str) -> Any:
        return self.vnfm.call("GET", f"{OP_OCCS}/{op_occ_id}").json

    def assert_cancelled(self, end: Any, state: str = "FAILED_TEMP") -> None:
        self.assertEqual(state, end["operationState"], end)
        self.assertEqual(409, end["error"]["status"])
        self.assertIn("was cancelled", end["error"]["detail"])
        self.assertFalse(end["isCancelPending"])
        self.assertNotIn("cancelMode", end)
        self.assertNotIn("cancel", end["_links"])


class TestForceful(CancelCase):
    def test_a_wait_for_the_vim_is_cancelled_and_can_be_retried(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        op_occ_id = self.start_blocked()
        self.assertIn("cancel", self.op_occ(op_occ_id)["_links"])
        end = self.cancel_and_wait(op_occ_id)
        self.assert_cancelled(end)
        self.assertIn("FORCEFUL", end["error"]["detail"])
        self.assertEqual("INFRA: 3 of 8 pods are ready", end["progress"])
        self.vnfm.driver.before.clear()
        again = self.vnfm.decide(op_occ_id, "retry")
        self.assertEqual("COMPLETED", again["operationState"])
        self.assertNotIn("error", again)
        self.assertNotIn("progress", again)

    def test_a_cancelled_operation_can_be_rolled_back(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        op_occ_id = self.start_blocked()
        self.cancel_and_wait(op_occ_id)
        end = self.vnfm.decide(op_occ_id, "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"])
        self.assertEqual({}, self.vnfm.driver.vnfcs)

    def test_a_rollback_can_be_cancelled(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        self.vnfm.driver.before["destroy"] = self.block
        op_occ_id = self.start_blocked()
        self.cancel_and_wait(op_occ_id)
        self.waiting.clear()
        self.vnfm.call("POST", f"{OP_OCCS}/{op_occ_id}/rollback")
        self.assertTrue(self.waiting.wait(WAIT_TIMEOUT_S))
        self.assert_cancelled(self.cancel_and_wait(op_occ_id))

    def test_an_uninterruptible_step_is_cancelled_after_its_end(self) -> None:
        self.vnfm.driver.before["apply"] = self.block_uncancelled
        op_occ_id = self.start_blocked()
        self.assertEqual(202, self.cancel(op_occ_id).status)
        pending = self.op_occ(op_occ_id)
        self.assertTrue(pending["isCancelPending"])
        self.assertEqual("FORCEFUL", pending["cancelMode"])
        self.assertEqual("PROCESSING", pending["operationState"])
        self.released.set()
        self.assert_cancelled(
            self.vnfm.wait_operation(f"{OP_OCCS}/{op_occ_id}")
        )

    def test_progress_can_be_read_while_it_runs(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        op_occ_id = self.start_blocked()
        waiting.until(
            lambda: "3 of 8" in self.op_occ(op_occ_id).get("progress", ""),
            "the progress",
        )
        self.assertEqual(
            "INFRA: 3 of 8 pods are ready", self.op_occ(op_occ_id)["progress"]
        )
        self.cancel_and_wait(op_occ_id)

    def test_a_script_is_killed(self) -> None:
        script = """\
            import pathlib, subprocess, sys, time
            from tacker_cnf.mgmt_drivers.base import MgmtDriver

            class Driver(MgmtDriver):
                def instantiate_start(self, script_input):
                    child = subprocess.Popen(["sleep", "60"])
                    pathlib.Path({seen!r}).write_text(str(child.pid))
                    time.sleep(60)

            Driver.main()
        """
        seen = Path(self.vnfm.state_path) / "seen"
        files = {
            SCRIPT: textwrap.dedent(script).format(seen=str(seen)),
            FLAVOUR: flavour_with_scripts("instantiate_start"),
        }
        csar = self.useFixture(Csar(files=files))
        instance_id = self.vnfm.create(self.vnfm.onboard(csar))
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.task(instance_id, "instantiate", body)
        waiting.until(
            lambda: seen.exists() and seen.read_text(), "the child process"
        )
        op_occ_id = response.headers["Location"].rsplit("/", 1)[1]
        self.assert_cancelled(self.cancel_and_wait(op_occ_id))
        child = int(seen.read_text())
        waiting.until(lambda: not is_running(child), "the child's end")


class TestGraceful(CancelCase):
    def test_the_current_step_ends_first(self) -> None:
        self.vnfm.driver.before["apply"] = self.block_uncancelled
        op_occ_id = self.start_blocked()
        self.assertEqual(202, self.cancel(op_occ_id, "GRACEFUL").status)
        self.assertEqual("GRACEFUL", self.op_occ(op_occ_id)["cancelMode"])
        self.released.set()
        end = self.vnfm.wait_operation(f"{OP_OCCS}/{op_occ_id}")
        self.assert_cancelled(end)
        added = end["resourceChanges"]["affectedVnfcs"]
        self.assertEqual({"ADDED"}, {vnfc["changeType"] for vnfc in added})

    def test_a_wait_ends_at_once(self) -> None:
        def wait_cancelled(call: FakeCall) -> None:
            self.waiting.set()
            assert call.context.wait_idle
            call.context.wait_idle(threading.TIMEOUT_MAX)

        self.vnfm.driver.before["apply"] = wait_cancelled
        op_occ_id = self.start_blocked()
        self.cancel(op_occ_id, "GRACEFUL")
        self.assert_cancelled(
            self.vnfm.wait_operation(f"{OP_OCCS}/{op_occ_id}")
        )

    def test_a_graceful_cancel_can_become_forceful(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        op_occ_id = self.start_blocked()
        self.assertEqual(202, self.cancel(op_occ_id, "GRACEFUL").status)
        end = self.cancel_and_wait(op_occ_id)
        self.assert_cancelled(end)
        self.assertIn("(FORCEFUL)", end["error"]["detail"])

    def test_before_the_grant_it_is_rolled_back_at_once(self) -> None:
        ask = self.vnfm.nfvo.grant

        def blocking_grant(
            request: GrantRequest,
            cancel_token: CancelToken,
            deadline: Deadline,
        ) -> Grant:
            self.block_uncancelled(None)  # type: ignore[arg-type]
            return ask(request, cancel_token, deadline)

        self.vnfm.nfvo.grant = blocking_grant  # type: ignore[method-assign]
        op_occ_id = self.start_blocked()
        self.assertEqual("STARTING", self.op_occ(op_occ_id)["operationState"])
        self.cancel(op_occ_id, "GRACEFUL")
        self.released.set()
        end = self.vnfm.wait_operation(f"{OP_OCCS}/{op_occ_id}")
        self.assert_cancelled(end, "ROLLED_BACK")
        self.assertEqual({}, self.vnfm.driver.vnfcs)


class TestWithoutConductor(CancelCase):
    def test_an_unclaimed_operation_is_cancelled_by_the_first_conductor(
        self,
    ) -> None:
        self.vnfm.conductor.stop()
        instance_id = self.vnfm.create()
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.task(instance_id, "instantiate", body)
        op_occ_id = response.headers["Location"].rsplit("/", 1)[1]
        self.assertEqual(202, self.cancel(op_occ_id).status)
        start_conductor(self.vnfm)
        end = self.vnfm.wait_operation(f"{OP_OCCS}/{op_occ_id}")
        self.assert_cancelled(end, "ROLLED_BACK")
        self.assertEqual([], self.vnfm.nfvo.requests)

    def test_the_conductor_with_the_lease_receives_the_cancel(self) -> None:
        start_conductor(self.vnfm)
        self.vnfm.driver.before["apply"] = self.block
        self.assert_cancelled(self.cancel_and_wait(self.start_blocked()))


class TestLostMessage(CancelCase):
    def test_the_heartbeat_reads_the_cancel(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        op_occ_id = self.start_blocked()
        listener = self.vnfm.conductor._listener
        assert listener is not None
        listener.stop()
        self.assertEqual(202, self.cancel(op_occ_id).status)
        self.vnfm.conductor.claims.report()
        end = self.vnfm.wait_operation(f"{OP_OCCS}/{op_occ_id}")
        self.assert_cancelled(end)

    def test_a_conductor_without_its_lease_stops_as_well(self) -> None:
        ended = threading.Event()

        def block(call: FakeCall) -> None:
            try:
                self.block(call)
            finally:
                ended.set()

        self.vnfm.driver.before["apply"] = block
        op_occ_id = self.start_blocked()
        statement = "UPDATE vnf_lcm_op_occs SET owner = 'another', fence = 99"
        with self.vnfm.parts.store.engine.begin() as connection:
            connection.exec_driver_sql(statement)
        self.vnfm.conductor.claims.report()
        self.assertTrue(ended.wait(WAIT_TIMEOUT_S))
        self.assertEqual(
            "PROCESSING", self.op_occ(op_occ_id)["operationState"]
        )


class TestRefusals(CancelCase):
    def test_a_completed_operation_cannot_be_cancelled(self) -> None:
        self.vnfm.create_instantiated()
        op_occ = self.vnfm.call("GET", OP_OCCS).json[0]
        self.assertNotIn("cancel", op_occ["_links"])
        response = self.cancel(op_occ["id"])
        self.assertEqual(409, response.status)
        self.assertIn("the operation is COMPLETED, not", response.detail)

    def test_an_operation_in_failed_temp_cannot_be_cancelled(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        op_occ_id = self.start_blocked()
        self.cancel_and_wait(op_occ_id)
        response = self.cancel(op_occ_id)
        self.assertEqual(409, response.status)
        self.assertIn("FAILED_TEMP", response.detail)

    def test_an_unknown_operation(self) -> None:
        self.assertEqual(404, self.cancel("nothing").status)

    def test_the_cancel_mode_is_required(self) -> None:
        self.vnfm.driver.before["apply"] = self.block
        op_occ_id = self.start_blocked()
        path = f"{OP_OCCS}/{op_occ_id}/cancel"
        for body, message in (
            ({}, "cancelMode"),
            ({"cancelMode": "SOFT"}, "$.cancelMode"),
        ):
            response = self.vnfm.call("POST", path, body)
            self.assertEqual(400, response.status)
            self.assertIn(message, response.detail)
        self.assertFalse(self.op_occ(op_occ_id)["isCancelPending"])
        self.cancel_and_wait(op_occ_id)


class TestDeadline(CancelCase):
    def test_an_operation_can_set_its_own_timeout(self) -> None:
        self.vnfm.conf.set_override("scale_timeout", 7.0, "conductor")
        remaining: list[float] = []

        def record_deadline(call: FakeCall) -> None:
            remaining.append(call.context.deadline.remaining)

        self.vnfm.driver.before["apply"] = record_deadline
        instance_id = self.vnfm.create_instantiated()
        scale = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        self.vnfm.run(instance_id, "scale", scale)
        usual, own = remaining
        self.assertGreater(usual, 7.0)
        self.assertTrue(0.0 < own <= 7.0, own)
