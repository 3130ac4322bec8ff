"""The pages of lifecycle operations, and of what an operator decides."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.lcm import states
from tacker_cnf.lcm.operations import registry
from tacker_cnf.lcm.states import Event
from tacker_cnf.lcm.vnf_plan import VnfPlan
from tacker_cnf.preconditions import NO_PRECONDITIONS
from tacker_cnf.services.operations import OperationService
from tacker_cnf.services.plans import PlanService
from tacker_cnf.services.vnf_instances import VnfInstanceService
from tacker_cnf.sol.vnf_lcm_op_occ import CancelMode, VnfLcmOpOcc
from tacker_cnf.web import forms, pages, timeline_chart
from tacker_cnf.web.forms import Form
from tacker_cnf.web.operation_forms import OPERATIONS

#: task -> what follows from it
DECISIONS: Final[Mapping[str, tuple[Event, str]]] = {
    "retry": (
        Event.RETRY,
        "The operation continues from what the VIM has now.",
    ),
    "rollback": (
        Event.ROLLBACK,
        "The VNF returns to the state before the operation.",
    ),
    "fail": (
        Event.GIVE_UP,
        (
            "The operation ends as FAILED. The VNF instance stays as it is, "
            "and other operations are possible again."
        ),
    ),
    "cancel": (
        Event.CANCEL,
        (
            "The operation stops, and fails where it is. You can retry it or "
            "roll it back then."
        ),
    ),
}


class VnfLcmOpOccPages:
    """One operation, and the tasks that continue or end it."""

    def __init__(
        self,
        operations: OperationService,
        plans: PlanService,
        instances: VnfInstanceService,
    ) -> None:
        self._operations = operations
        self._plans = plans
        self._instances = instances

    @pages.page("vnf_lcm_op_occs:show")
    def get(self, op_occ_id: str) -> None:
        """Show an operation."""
        op_occ, _ = self._operations.get(http.caller(), op_occ_id)
        allowed = registry.decisions(op_occ.operation, op_occ.operation_state)
        now = datetime.datetime.now(datetime.UTC)
        pages.show(
            "vnf_lcm_op_occ.html",
            op_occ=op_occ,
            instance_name=self._name_of(op_occ.vnf_instance_id),
            decisions=[
                task
                for task, (event, _) in DECISIONS.items()
                if event in allowed
            ],
            rows=timeline_chart.rows(op_occ.timeline, now),
            counted=timeline_chart.latest(op_occ.timeline),
            is_active=op_occ.operation_state in states.ACTIVE,
            plan=self._plan(op_occ),
            shows_log=pages.may(
                "vnf_lcm_op_occs:script_log", op_occ.project_id
            ),
        )

    def _name_of(self, instance_id: str) -> str:
        """Return the name of an instance that may have been deleted."""
        try:
            instance, _ = self._instances.get(
                pages.client_for("vnf_instances:show"), instance_id
            )
        except (errors.NotFound, errors.Forbidden):
            return instance_id
        return instance.vnf_instance_name or instance_id

    def _plan(self, op_occ: VnfLcmOpOcc) -> VnfPlan | None:
        """Return what was planned, and done; None: nothing yet."""
        if not pages.may("vnf_lcm_op_occs:plan", op_occ.project_id):
            return None
        try:
            return self._plans.get(
                pages.client_for("vnf_lcm_op_occs:plan"), op_occ.id
            )
        except errors.NotFound:
            return None


class Decision:
    """The confirmation of one task of an operation."""

    def __init__(
        self, task: str, operations: OperationService, plans: PlanService
    ) -> None:
        self._task = task
        self._event, self._text = DECISIONS[task]
        self._operations = operations
        self._plans = plans

    @pages.page()
    def get(self, op_occ_id: str) -> None:
        """Show what follows from the task."""
        self._authorize()
        op_occ, _ = self._operations.get(http.caller(), op_occ_id)
        registry.check_decision(
            op_occ.operation, op_occ.operation_state, self._event
        )
        plan, problem = self._plan(op_occ_id)
        pages.show(
            "decision.html",
            task=self._task,
            text=self._text,
            op_occ=op_occ,
            plan=plan,
            plan_problem=problem,
        )

    def _plan(self, op_occ_id: str) -> tuple[VnfPlan | None, str]:
        """Return the plan of a retry or a rollback, or why there is none."""
        if self._event not in {Event.RETRY, Event.ROLLBACK}:
            return None, ""
        try:
            return self._plans.plan_decision(
                http.caller(), op_occ_id, self._event
            ), ""
        except errors.VnfmError as error:
            return None, str(error)

    @pages.action()
    def post(self, op_occ_id: str, form: Form) -> None:
        """Decide."""
        self._authorize()
        decide: Mapping[str, Callable[..., Any]] = {
            "retry": self._operations.retry,
            "rollback": self._operations.rollback,
            "fail": self._operations.fail,
            "cancel": self._cancel(form),
        }
        decide[self._task](http.caller(), op_occ_id, NO_PRECONDITIONS)
        pages.redirect(f"{OPERATIONS}/{op_occ_id}")

    def _cancel(self, form: Form) -> Callable[..., None]:
        def cancel(client: Any, op_occ_id: str, preconditions: Any) -> None:
            mode = forms.build({"cancelMode": form.text("mode")}, CancelMode)
            self._operations.cancel(
                client, op_occ_id, mode.cancel_mode, preconditions
            )

        return cancel

    def _authorize(self) -> None:
        http.authorize_also(f"vnf_lcm_op_occs:{self._task}")
