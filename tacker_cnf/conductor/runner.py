"""Runs the steps of an operation: a start, a retry or a rollback."""

import time
import traceback
from typing import Final

import msgspec
from oslo_log import log

from tacker_cnf import errors, metrics, tracing
from tacker_cnf.conductor import steps
from tacker_cnf.conductor.claims import Claim
from tacker_cnf.conductor.management_scripts import ManagementScripts
from tacker_cnf.conductor.operation_recorder import OperationRecorder
from tacker_cnf.conductor.run import Run
from tacker_cnf.conductor.steps import Step, Steps
from tacker_cnf.lcm.states import Event
from tacker_cnf.sol.problem import ProblemDetails

LOG = log.getLogger(__name__)

#: log of a modification that changes the VNF instance only
NO_SCRIPT_MESSAGE: Final = (
    "The VNF package that the VNF instance had names no management script for "
    "a modification: nothing was changed on the VIM.\n"
)


class Runner:
    """Runs the steps of one operation, and records the end of each."""

    def __init__(
        self,
        operation_steps: Steps,
        scripts: ManagementScripts,
        recorder: OperationRecorder,
        claim: Claim,
    ) -> None:
        self._steps = operation_steps
        self._scripts = scripts
        self._recorder = recorder
        self._claim = claim

    def run(self, run: Run, resumes_at: str | None) -> None:
        """Run the steps; their errors are recorded.

        :param resumes_at: the step that a lost conductor was running
        :raises LeaseLost: another conductor may have claimed the operation
        """
        plan = self._steps.plan(run, resumes_at)
        if not plan:  # a modification without management scripts
            if run.change.current and run.next_package:
                self._recorder.save_log(NO_SCRIPT_MESSAGE)
            self._recorder.record_step(run, Event.DONE, None)
            return
        next_steps = [step.name for step in plan[1:]] + [None]
        for step, next_step in zip(plan, next_steps, strict=True):
            try:
                self._claim.progress.enter_step(step.name)
                self._claim.cancel_token.check()
                run = _do(step, run)
            except errors.LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001
                self._fail(run, step, error)
                return
            if not self._end(run, step, next_step):
                return
            # these are recorded
            run = msgspec.structs.replace(run, provided_vims={}, plan=None)

    def record_abandoned(
        self, run: Run, step: str | None, problem: ProblemDetails
    ) -> None:
        """Record that a step of a lost conductor failed.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        found = self._steps.observe(run)
        if found:
            run = self._steps.determine_outcomes(run, problem)
        self._recorder.record_step(run, Event.FAIL, step, problem, found)

    def _fail(self, run: Run, step: Step, error: Exception) -> None:
        """Record that a step failed."""
        masker = run.build_masker()
        expected = isinstance(error, errors.VnfmError)
        LOG.warning(
            "Step failed: operation=%s step=%s error=%s",
            run.op_occ.id,
            step.name,
            masker(str(error))
            if expected
            else masker("".join(traceback.format_exception(error))),
        )
        problem = masker.problem(error)
        vim_reachable = not isinstance(error, errors.VimUnreachable)
        can_observe = vim_reachable and step.name != steps.GRANT
        found = self._steps.observe(run) if can_observe else None
        if found:
            run = self._steps.determine_outcomes(run, problem)
        self._recorder.record_step(run, Event.FAIL, step.name, problem, found)

    def _end(self, run: Run, step: Step, next_step: str | None) -> bool:
        """Record that a step completed, or failed if the VNF cannot provide
        the VIMs of its script output; return whether the operation continues.
        """
        event = Event.STEPPED if next_step else Event.DONE
        if step.name == steps.GRANT:
            event = Event.GRANTED
        try:
            return self._recorder.record_step(
                run, event, next_step, found=run.result
            )
        except errors.ScriptFailed as error:
            without_vims = msgspec.structs.replace(run, provided_vims={})
            if not self._scripts.tolerates_failure(run, error):
                self._fail(without_vims, step, error)
                return False
        return self._recorder.record_step(
            without_vims, event, next_step, found=run.result
        )


def _do(step: Step, run: Run) -> Run:
    """Run a step; log and count its begin and its end."""
    op_occ_id, started = run.op_occ.id, time.monotonic()
    LOG.info("Step started: operation=%s step=%s", op_occ_id, step.name)
    outcome = "failed"
    try:
        with tracing.span(step.name):
            result = step.do(run)
        outcome = "completed"
    finally:
        seconds = time.monotonic() - started
        metrics.STEP_SECONDS.observe(seconds, step.name, outcome)
    LOG.info(
        "Step completed: operation=%s step=%s seconds=%.3f",
        op_occ_id,
        step.name,
        seconds,
    )
    return result
