"""Records the progress of one operation in the database."""

import datetime
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from oslo_log import log

from tacker_cnf import audit, errors, metrics
from tacker_cnf.audit import AuditTrail, Outcome
from tacker_cnf.conductor.claims import Claim
from tacker_cnf.conductor.run import Run, modifications, resulting_instance
from tacker_cnf.db import instances, op_occs, plans
from tacker_cnf.db.op_occs import ClaimedOperation, Result
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    Store,
    first_line,
    transaction,
)
from tacker_cnf.drivers.base import Checkpoint
from tacker_cnf.lcm import resource_changes, states
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.states import Event
from tacker_cnf.lcm.vnf_plan import VnfPlan
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.timeline import StepOutcome
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S

LOG = log.getLogger(__name__)


class OperationRecorder:
    """Records the steps, plans, checkpoints and logs of one claimed
    operation.
    """

    def __init__(
        self,
        store: Store,
        claimed_op: ClaimedOperation,
        claim: Claim,
        trail: AuditTrail,
    ) -> None:
        self._store = store
        self._claimed_op = claimed_op
        self._claim = claim
        self._recorded = claimed_op.recorded
        self._trail = trail
        self._state = claimed_op.op_occ.operation_state
        self._started = time.monotonic()
        #: the latest checkpoint of the driver, as JSON values
        self.checkpoint = claimed_op.checkpoint
        #: the log before the output of the current script; None: not read
        self._log: str | None = None

    def record_step(
        self,
        run: Run,
        event: Event,
        step: str | None,
        problem: ProblemDetails | None = None,
        found: Observed | None = None,
    ) -> bool:
        """Record the end of a step; return whether the operation continues.

        :param step: the next one, or the one that has failed
        :param found: what the driver found
        :raises ScriptFailed: the VNF cannot provide the VIMs of its script
            output; nothing is recorded
        :raises LeaseLost: another conductor may have claimed the operation
        """
        try:
            result = _result(run, event, step, problem, found)
            last_progress = self._claim.progress.line
            has_failed = event == Event.FAIL
            result = msgspec.structs.replace(
                result,
                progress=last_progress if has_failed else None,
                timeline=self._claim.progress.ended(
                    StepOutcome.FAILED if has_failed else StepOutcome.COMPLETED
                ),
            )
        except Exception as error:
            LOG.exception(
                "Result of step not built: operation=%s",
                self._claimed_op.op_occ.id,
            )
            self.fail(errors.problem_details(error))
            return False
        continues = self._claim.persist(lambda: self.record(event, result))
        self._claim.progress.end_step(result.timeline or ())
        return continues

    def fail(self, problem: ProblemDetails) -> None:
        """Record that the operation failed before its next step.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        result = Result(
            step=self._claimed_op.step,
            error=problem,
            timeline=self._claim.progress.ended(StepOutcome.FAILED) or None,
        )
        self._claim.persist(lambda: self.record(Event.FAIL, result))

    def record(self, event: Event, result: Result) -> bool:
        """Record an event; return whether the operation continues."""
        state = self._record(event, result)
        op_occ = self._claimed_op.op_occ
        LOG.info(
            "Event recorded: operation=%s state=%s event=%s",
            op_occ.id,
            state,
            event,
        )
        self._count(state)
        continues = state in states.ACTIVE
        if not continues:
            self._trail.record("operation", _end_of(self._claimed_op, state))
        return continues

    def _count(self, state: S) -> None:
        """Count an operation that has entered another state."""
        if state == self._state:
            return
        self._state = state
        connections = self._claimed_op.vim_connections.values()
        labels = (
            self._claimed_op.op_occ.operation,
            state,
            metrics.vim_label([c.vim_id for c in connections]),
        )
        metrics.OPERATIONS.inc(*labels)
        if state not in states.ACTIVE:
            seconds = time.monotonic() - self._started
            metrics.OPERATION_SECONDS.observe(seconds, *labels)

    @transaction
    def _record(self, event: Event, result: Result) -> S:
        now = datetime.datetime.now(datetime.UTC)
        number = self._recorded + 1
        with self._store.writer() as session:
            state = op_occs.record(
                session, self._claimed_op, number, event, result, now
            )
        self._recorded = number
        return state

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Save a checkpoint of the driver, before it acts.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        values = msgspec.to_builtins(checkpoint)
        self._claim.persist(lambda: self._save_checkpoint(values))
        self.checkpoint = values

    @transaction
    def _save_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        with self._store.writer() as session:
            op_occs.save_checkpoint(session, self._claimed_op, checkpoint)

    def save_plan(self, plan: VnfPlan, metadata: Mapping[str, Any]) -> None:
        """Save the plan of the driver, before it is executed.

        :param metadata: merged into that of instantiatedVnfInfo
        :raises LeaseLost: another conductor may have claimed the operation
        """
        self._claim.persist(lambda: self._save_plan(plan, metadata))

    @transaction
    def _save_plan(self, plan: VnfPlan, metadata: Mapping[str, Any]) -> None:
        with self._store.writer() as session:
            op_occs.save_plan(session, self._claimed_op, plan)
            if metadata:
                instances.merge_metadata(
                    session, plan.vnf_instance_id, metadata
                )

    def load_plan(self) -> VnfPlan | None:
        """Return the saved plan; None: there is none.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        return self._claim.persist(self._load_plan)

    @transaction
    def _load_plan(self) -> VnfPlan | None:
        with self._store.reader() as session:
            return plans.get(session, self._claimed_op.op_occ.id)

    def load_script_memory(self) -> dict[str, Any] | None:
        """Return the memory of the scripts of the VNF instance.

        The scripts define its keys.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        return self._claim.persist(self._load_script_memory)

    @transaction
    def _load_script_memory(self) -> dict[str, Any] | None:
        with self._store.reader() as session:
            return instances.get_script_memory(
                session, self._claimed_op.op_occ.vnf_instance_id
            )

    def remember(self, memory: dict[str, Any] | None) -> None:
        """Save the memory of the scripts, even if the script fails later.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        self._claim.persist(lambda: self._save_script_memory(memory))

    @transaction
    def _save_script_memory(self, memory: dict[str, Any] | None) -> None:
        with self._store.writer() as session:
            op_occs.save_script_memory(session, self._claimed_op, memory)

    def show_log(self, text: str) -> None:
        """Write the output of a running script; skip it if the database is
        unreachable.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        try:
            self._write_log(text)
        except DATABASE_DOWN as error:
            LOG.debug("Script output not written: error=%s", first_line(error))

    def save_log(self, text: str) -> None:
        """Write the output of a script, in place of what show_log() wrote.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        self._claim.persist(lambda: self._write_log(text))
        self._log = None

    @transaction
    def _write_log(self, text: str) -> None:
        with self._store.writer() as session:
            if self._log is None:
                self._log = op_occs.get_script_log(session, self._claimed_op)
            op_occs.write_script_log(
                session, self._claimed_op, self._log + text
            )


def _end_of(claimed_op: ClaimedOperation, state: S) -> audit.Event:
    """Build the event of the end of an attempt of an operation."""
    op_occ = claimed_op.op_occ
    is_requested_end = state == (
        S.ROLLED_BACK
        if op_occ.operation_state == S.ROLLING_BACK
        else S.COMPLETED
    )
    return audit.Event(
        action=f"update/{op_occ.operation.lower()}",
        outcome=Outcome.SUCCESS if is_requested_end else Outcome.FAILURE,
        initiator=audit.initiator(
            op_occ.request_id, op_occ.project_id, claimed_op.requested_by
        ),
        target={
            **audit.target("vnf_instances", op_occ.vnf_instance_id),
            "vnf_lcm_op_occ_id": op_occ.id,
        },
        reason={"reasonType": "operationState", "reasonCode": state},
    )


def _result(
    run: Run,
    event: Event,
    step: str | None,
    problem: ProblemDetails | None,
    found: Observed | None,
) -> Result:
    """Build the result of a step."""
    before = run.instance.instantiated_vnf_info
    after = resulting_instance(run) if event == Event.DONE else None
    modified = modifications(run, after)
    return Result(
        step=step,
        error=problem,
        grant_request=run.grant_request,
        grant=run.grant,
        resource_changes=resource_changes.between(before, found)
        if found
        else None,
        changed_info=modified.changed_info,
        changed_ext_connectivity=modified.changed_ext_connectivity,
        modifications_triggered_by_vnf_pkg_change=(
            modified.triggered_by_vnf_pkg_change
        ),
        script_changes=run.script_changes,
        vims=run.provided_vims,
        instance=after,
        plan=run.plan,
    )
