"""The steps of an operation: each returns an updated Run."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor.claims import Claim
from tacker_cnf.conductor.management_scripts import ManagementScripts
from tacker_cnf.conductor.operation_recorder import OperationRecorder
from tacker_cnf.conductor.run import Run, infra_task
from tacker_cnf.conductor.vim_resolver import VimResolver
from tacker_cnf.drivers import exact_plan
from tacker_cnf.drivers.base import Plan, TaskContext
from tacker_cnf.lcm import grant_overrides, grant_plan, plan_outcome
from tacker_cnf.lcm.change import flavour_of
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.vnf_plan import ActionType, Composition, VnfPlan
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.runtime.cancellation import CancelToken, cancelled_after
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S

LOG = log.getLogger(__name__)

GRANT: Final = "GRANT"
PREAMBLE: Final = "PREAMBLE"
INFRA: Final = "INFRA"
RESTORE: Final = "RESTORE"
POSTAMBLE: Final = "POSTAMBLE"

#: seconds in which the VIM is read for the outcomes of a failed plan, and
#: after a cancellation
OUTCOME_TIMEOUT_S: Final = 5.0
#: seconds in which the VIM is read after a failure
OBSERVATION_TIMEOUT_S: Final = 60.0

#: the state in which a conductor claims an operation -> its steps
PLANS: Final[Mapping[S, Sequence[str]]] = {
    S.STARTING: (GRANT, PREAMBLE, INFRA, POSTAMBLE),
    S.PROCESSING: (PREAMBLE, INFRA, POSTAMBLE),
    S.ROLLING_BACK: (PREAMBLE, RESTORE, POSTAMBLE),
}


class Step(NamedTuple):
    """One step: its name and its function."""

    name: str
    do: Callable[[Run], Run]


class Steps:
    """The steps of one operation, and what they need besides its values.

    :param best_effort: sent to the NFVO: whether it may ignore placement
        constraints that it cannot meet
    """

    def __init__(
        self,
        nfvo: Nfvo,
        vim_resolver: VimResolver,
        scripts: ManagementScripts,
        recorder: OperationRecorder,
        claim: Claim,
        context: TaskContext,
        *,
        best_effort: bool,
    ) -> None:
        self._nfvo = nfvo
        self._vim_resolver = vim_resolver
        self._scripts = scripts
        self._recorder = recorder
        self._claim = claim
        self._context = context
        self._best_effort = best_effort

    def plan(self, run: Run, resumes_at: str | None) -> Sequence[Step]:
        """Return the steps that an operation needs.

        :param resumes_at: the step that a lost conductor was running; the
            steps before it are left out
        """
        functions: dict[str, Callable[[Run], Run]] = {GRANT: self._grant}
        if run.operation.changes_vim:
            functions |= dict.fromkeys((INFRA, RESTORE), self._change_infra)
        if self._scripts.has_script(run, "start"):
            functions[PREAMBLE] = lambda run: self._scripts.run(run, "start")
        if self._scripts.has_script(run, "end"):
            functions[POSTAMBLE] = lambda run: self._scripts.run(run, "end")
        steps = [
            Step(name, functions[name])
            for name in PLANS[run.op_occ.operation_state]
            if name in functions
        ]
        names = [step.name for step in steps]
        if resumes_at in names:
            return steps[names.index(resumes_at) :]
        return steps

    def observe(self, run: Run) -> Observed | None:
        """Read what a failed step left on the VIM; None: that failed, or was
        not complete in time.
        """
        is_cancelled = self._claim.cancel_token.reason is not None
        timeout = OUTCOME_TIMEOUT_S if is_cancelled else OBSERVATION_TIMEOUT_S
        late = errors.VimUnreachable(f"not read within {timeout:g} s")
        try:
            with cancelled_after(
                timeout, late, self._reading_token()
            ) as cancel_token:
                context = dataclasses.replace(
                    self._context, cancel_token=cancel_token
                )
                return run.vims.driver.observe(infra_task(run), context)
        except Exception as error:  # noqa: BLE001
            LOG.warning(
                "VIM not read after failure: operation=%s error=%r",
                run.op_occ.id,
                error,
            )
            return None

    def _reading_token(self) -> CancelToken:
        """Return a token by which a cancelled operation can still read."""
        token = self._claim.cancel_token
        return CancelToken(token.lease, token.clock)

    def determine_outcomes(self, run: Run, problem: ProblemDetails) -> Run:
        """Add to a failed operation its plan, with the outcomes as the VIM
        shows them; without a plan, or if the VIM cannot be read, add nothing.

        :raises LeaseLost: another conductor may have claimed the operation
        """
        plan = self._recorder.load_plan()
        if plan is None or plan_outcome.is_known(plan):
            return run
        try:
            remaining = self._plan_retry(run, is_rollback=plan.is_rollback)
        except Exception as error:  # noqa: BLE001
            LOG.warning(
                "Outcomes of plan not determined: operation=%s error=%r",
                run.op_occ.id,
                error,
            )
            return run
        return msgspec.structs.replace(
            run,
            plan=plan_outcome.interrupted(
                plan, remaining.actions, problem.detail
            ),
        )

    def _plan_retry(self, run: Run, *, is_rollback: bool) -> Plan:
        """Plan exactly what a retry would do.

        :raises InfraError: the VIM cannot be read
        """
        return exact_plan.make(
            run.vims.driver,
            infra_task(run, restore=is_rollback),
            OUTCOME_TIMEOUT_S,
            cancel_token=self._reading_token(),
            saved_checkpoint=self._recorder.checkpoint,
        )

    def _grant(self, run: Run) -> Run:
        """Request a grant from the NFVO.

        :raises GrantRejected: the NFVO rejected the request or part of it;
            the operation is rolled back
        :raises PeerFailed: the NFVO is unreachable, or its response is not
            valid
        :raises BadRequest: the grant is not valid for the VNF
        """
        request = self._grant_request(run)
        grant = self._nfvo.grant(
            request, self._context.cancel_token, self._context.deadline
        )
        grant_plan.check_granted(request, grant)
        run = msgspec.structs.replace(run, grant_request=request, grant=grant)
        if run.vims.vim_connections and not grant_overrides.has_overrides(
            grant
        ):
            return run
        return self._apply_overrides(run, grant)

    def _grant_request(self, run: Run) -> GrantRequest:
        change = run.change
        before, after = run.package, run.next_package or run.package
        return grant_plan.build(
            run.op_occ,
            run.request,
            run.instance,
            change.current,
            change.desired,
            flavour_of(before.vnfd, change.first_state.flavour_id),
            names=run.shown_names,
            new_flavour=flavour_of(after.vnfd, change.state.flavour_id),
            best_effort=self._best_effort,
        )

    def _apply_overrides(self, run: Run, grant: Grant) -> Run:
        """Apply the VIM connections and resources of the grant.

        :raises BadRequest: neither request nor grant has a VIM connection, or
            the grant is not valid for the VNF
        """
        requested = grant_overrides.vim_connections(
            run.operation, run.request, run.vims.vim_connections, grant
        )
        run = msgspec.structs.replace(
            run,
            vims=self._claim.persist(
                lambda: self._vim_resolver.resolve_granted(
                    run.instance, requested
                )
            ),
            change=grant_overrides.change(run.operation, run.change, grant),
        )
        run.vims.driver.plan(infra_task(run))
        return run

    def _change_infra(self, run: Run) -> Run:
        """Let the driver make the change, or restore the state before it.

        :raises InfraError: the VIM is unreachable, or rejects a request
        """
        task = infra_task(run, restore=run.is_rollback)
        plan = run.vims.driver.plan(task)
        _log_plan(plan)
        shown = self._shown_plan(run, plan)
        self._recorder.save_plan(shown, plan.metadata)
        for kind, count in _count_changes(plan).items():
            self._context.expect(kind, count, "")
        result = run.vims.driver.execute(plan, self._context)
        return msgspec.structs.replace(
            run, result=result, plan=plan_outcome.completed(shown)
        )

    def _shown_plan(self, run: Run, plan: Plan) -> VnfPlan:
        """Convert the plan of a driver to that of the operation."""
        return VnfPlan(
            vnf_instance_id=run.instance.id,
            operation=run.op_occ.operation,
            is_rollback=run.is_rollback,
            current=Composition.of_state(plan.task.change.current),
            desired=Composition.of_state(plan.task.change.desired),
            actions=plan.actions,
            warnings=plan.warnings,
            scripts=self._scripts.list_paths(run) | dict(plan.scripts),
        )


def _count_changes(plan: Plan) -> Mapping[str, int]:
    """Count the resources that a plan changes, by their kinds."""
    return Counter(
        action.kind
        for action in plan.actions
        if action.type != ActionType.UNCHANGED
    )


def _log_plan(plan: Plan) -> None:
    task = plan.task
    counts = Counter(action.type for action in plan.actions)
    LOG.info(
        "Change planned: operation=%s %s",
        task.operation_id,
        " ".join(f"{kind.lower()}={counts[kind]}" for kind in ActionType),
    )
    for action in plan.actions:
        LOG.debug(
            "Action planned: operation=%s type=%s kind=%s name=%s vdu=%s "
            "vnfc=%s reason=%s",
            task.operation_id,
            action.type,
            action.kind,
            action.name,
            action.vdu_id,
            action.vnfc_id,
            action.reason,
        )
    for warning in plan.warnings:
        LOG.warning(
            "Change has side effects: operation=%s vnf_instance_id=%s "
            "effect=%s",
            task.operation_id,
            task.instance.id,
            warning,
        )
